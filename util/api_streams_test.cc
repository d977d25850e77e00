// One source, built twice: against Drover and against protobuf C++. Both must pass.
// google/protobuf/io: streams, coded streams, and messages read from and written to them.
#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "proto2.pb.h"
#include "proto3.pb.h"

namespace {

namespace io = google::protobuf::io;
using drover_test::three::Everything;
using drover_test::two::Needs;

std::string all_of(io::ZeroCopyInputStream* in) {
  std::string out;
  const void* data;
  int size;
  while (in->Next(&data, &size)) out.append(static_cast<const char*>(data), static_cast<size_t>(size));
  return out;
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[c & 15];
  }
  return out;
}

Everything large() {
  Everything m;
  for (int i = 0; i < 500; ++i) m.add_texts("text " + std::to_string(i) + std::string(static_cast<size_t>(i), 'x'));
  m.mutable_inner()->set_note("inside");
  return m;
}

TEST(Streams, OfArraysGiveBlocksAndTakeThemBack) {
  const std::string text = "0123456789";
  io::ArrayInputStream in(text.data(), 10, 4);
  const void* data;
  int size;
  ASSERT_TRUE(in.Next(&data, &size));
  EXPECT_EQ(std::string(static_cast<const char*>(data), static_cast<size_t>(size)), "0123");
  in.BackUp(2);
  EXPECT_EQ(in.ByteCount(), 2);
  EXPECT_TRUE(in.Skip(3));
  EXPECT_EQ(all_of(&in), "56789");
  EXPECT_EQ(in.ByteCount(), 10);
  EXPECT_FALSE(in.Skip(1));
  EXPECT_FALSE(in.Next(&data, &size));

  char room[7];
  io::ArrayOutputStream out(room, 7, 4);
  void* to;
  ASSERT_TRUE(out.Next(&to, &size));
  EXPECT_EQ(size, 4);
  out.BackUp(1);
  ASSERT_TRUE(out.Next(&to, &size));
  EXPECT_EQ(size, 4);
  EXPECT_FALSE(out.Next(&to, &size));
  EXPECT_EQ(out.ByteCount(), 7);
}

TEST(Streams, OfAStringAppend) {
  std::string out = "head ";
  {
    io::StringOutputStream stream(&out);
    io::CodedOutputStream coded(&stream);
    for (int i = 0; i < 1000; ++i) coded.WriteString("word ");
  }
  ASSERT_EQ(out.size(), 5 + 5000u);
  EXPECT_EQ(out.substr(4990), "word word word ");
}

TEST(Streams, OfFilesReadWhatWasWritten) {
  std::FILE* file = std::tmpfile();
  const int fd = fileno(file);
  {
    io::FileOutputStream out(fd, 100);
    ASSERT_TRUE(large().SerializeToZeroCopyStream(&out));
    EXPECT_TRUE(out.Flush());
    EXPECT_EQ(out.ByteCount(), static_cast<int64_t>(large().ByteSizeLong()));
    EXPECT_EQ(out.GetErrno(), 0);
  }
  lseek(fd, 0, SEEK_SET);
  {
    io::FileInputStream in(fd, 77);
    Everything read;
    ASSERT_TRUE(read.ParseFromZeroCopyStream(&in));
    EXPECT_EQ(read.SerializeAsString(), large().SerializeAsString());
  }
  lseek(fd, 0, SEEK_SET);
  io::FileInputStream skipping(fd);
  EXPECT_TRUE(skipping.Skip(10));
  EXPECT_EQ(all_of(&skipping), large().SerializeAsString().substr(10));
  std::fclose(file);
  io::FileInputStream closed(-1);
  const void* data;
  int size;
  EXPECT_FALSE(closed.Next(&data, &size));
  EXPECT_EQ(closed.GetErrno(), EBADF);
}

TEST(Streams, OfIostreams) {
  std::stringstream stream;
  {
    io::OstreamOutputStream out(&stream, 64);
    ASSERT_TRUE(large().SerializeToZeroCopyStream(&out));
  }
  io::IstreamInputStream in(&stream, 64);
  Everything read;
  ASSERT_TRUE(read.ParseFromZeroCopyStream(&in));
  EXPECT_EQ(read.texts_size(), 500);
}

class Counting : public io::CopyingInputStream {
 public:
  int Read(void* buffer, int size) override {
    if (left_ == 0) return 0;
    size = std::min(size, left_);
    std::fill_n(static_cast<char*>(buffer), size, 'c');
    left_ -= size;
    return size;
  }

 private:
  int left_ = 300;
};

TEST(Streams, OfAProgramsOwnSource) {
  auto* source = new Counting;
  io::CopyingInputStreamAdaptor in(source, 128);
  in.SetOwnsCopyingStream(true);
  const void* data;
  int size;
  ASSERT_TRUE(in.Next(&data, &size));
  EXPECT_EQ(size, 128);
  in.BackUp(28);
  EXPECT_EQ(in.ByteCount(), 100);
  EXPECT_TRUE(in.Skip(50));
  EXPECT_EQ(all_of(&in), std::string(150, 'c'));
  EXPECT_FALSE(in.Skip(1));
}

class Refusing : public io::CopyingOutputStream {
 public:
  bool Write(const void*, int) override {
    ++calls;
    return false;
  }
  int calls = 0;
};

TEST(Streams, OfASinkThatRefusesSayThatTheyCannotFlush) {
  Refusing sink;
  {
    io::CopyingOutputStreamAdaptor out(&sink, 64);
    EXPECT_TRUE(out.Flush()) << "with nothing written";
    void* data;
    int size;
    ASSERT_TRUE(out.Next(&data, &size));
    std::fill_n(static_cast<char*>(data), size, 'x');
    out.BackUp(size - 4);
    EXPECT_FALSE(out.Flush());
    EXPECT_FALSE(out.Flush());
  }
  EXPECT_EQ(sink.calls, 1);
}

TEST(Streams, OfFilesAreFlushedAndClosed) {
  std::FILE* file = std::tmpfile();
  const int fd = dup(fileno(file));
  io::FileOutputStream out(fd);
  ASSERT_TRUE(large().SerializeToZeroCopyStream(&out));
  EXPECT_TRUE(out.Close());
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
  lseek(fileno(file), 0, SEEK_SET);
  io::FileInputStream in(fileno(file));
  EXPECT_EQ(all_of(&in), large().SerializeAsString());
  std::fclose(file);

  io::FileOutputStream bad(-1);
  void* data;
  int size;
  ASSERT_TRUE(bad.Next(&data, &size));
  bad.BackUp(size);
  EXPECT_FALSE(bad.Close());
  EXPECT_EQ(bad.GetErrno(), EBADF);
}

TEST(Streams, AreJoinedAndLimited) {
  const std::string a = "first", b = "second";
  io::ArrayInputStream one(a.data(), 5), two(b.data(), 6);
  io::ZeroCopyInputStream* both[] = {&one, &two};
  io::ConcatenatingInputStream joined(both, 2);
  EXPECT_TRUE(joined.Skip(3));
  {
    io::LimitingInputStream limited(&joined, 4);
    EXPECT_EQ(all_of(&limited), "stse");
    EXPECT_EQ(limited.ByteCount(), 4);
  }
  EXPECT_EQ(joined.ByteCount(), 7);
  EXPECT_EQ(all_of(&joined), "cond");
}

TEST(CodedStreams, ReadWhatTheyWrote) {
  std::string bytes;
  {
    io::StringOutputStream stream(&bytes);
    io::CodedOutputStream out(&stream);
    out.WriteVarint32(300);
    out.WriteVarint64(~uint64_t{0});
    out.WriteVarint32SignExtended(-2);
    out.WriteLittleEndian32(0x01020304);
    out.WriteLittleEndian64(0x0102030405060708);
    out.WriteTag(0x5a);
    out.WriteString("text");
    EXPECT_EQ(out.ByteCount(), 2 + 10 + 10 + 4 + 8 + 1 + 4);
    EXPECT_FALSE(out.HadError());
  }
  EXPECT_EQ(hex(bytes),
            "ac02"
            "ffffffffffffffffff01"
            "feffffffffffffffff01"
            "04030201"
            "0807060504030201"
            "5a"
            "74657874");
  for (int block : {1, 3, 1000}) {
    io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), block);
    io::CodedInputStream in(&stream);
    uint32_t small = 0;
    uint64_t wide = 0;
    std::string text;
    EXPECT_TRUE(in.ReadVarint32(&small));
    EXPECT_EQ(small, 300u);
    EXPECT_TRUE(in.ReadVarint64(&wide));
    EXPECT_EQ(wide, ~uint64_t{0});
    EXPECT_TRUE(in.ReadVarint32(&small));
    EXPECT_EQ(small, 0xfffffffeu);
    EXPECT_TRUE(in.ReadLittleEndian32(&small));
    EXPECT_EQ(small, 0x01020304u);
    EXPECT_TRUE(in.ReadLittleEndian64(&wide));
    EXPECT_EQ(wide, 0x0102030405060708u);
    EXPECT_EQ(in.ReadTag(), 0x5au);
    EXPECT_TRUE(in.LastTagWas(0x5a));
    EXPECT_TRUE(in.ReadString(&text, 4));
    EXPECT_EQ(text, "text");
    EXPECT_EQ(in.CurrentPosition(), static_cast<int>(bytes.size()));
    EXPECT_EQ(in.ReadTag(), 0u);
    EXPECT_TRUE(in.ConsumedEntireMessage());
  }
}

TEST(CodedStreams, SizesOfVarints) {
  for (uint64_t value :
       {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{16383}, uint64_t{16384}, uint64_t{1} << 35, ~uint64_t{0}}) {
    uint8_t room[10];
    EXPECT_EQ(io::CodedOutputStream::VarintSize64(value),
              static_cast<size_t>(io::CodedOutputStream::WriteVarint64ToArray(value, room) - room));
  }
  EXPECT_EQ(io::CodedOutputStream::VarintSize32SignExtended(-1), 10u);
  EXPECT_EQ(io::CodedOutputStream::VarintSize32(1u << 31), 5u);
}

TEST(CodedStreams, KeepLimits) {
  const std::string bytes = "abcdefghij";
  io::ArrayInputStream stream(bytes.data(), 10, 4);
  io::CodedInputStream in(&stream);
  EXPECT_EQ(in.BytesUntilLimit(), -1);
  auto outer = in.PushLimit(8);
  auto inner = in.PushLimit(3);
  in.PopLimit(in.PushLimit(100));  // behind the others: without effect
  EXPECT_EQ(in.BytesUntilLimit(), 3);
  std::string text;
  EXPECT_FALSE(in.ReadString(&text, 4));
  in.PopLimit(inner);
  EXPECT_EQ(in.BytesUntilLimit(), 5);
  EXPECT_TRUE(in.ReadString(&text, 5));
  EXPECT_EQ(text, "defgh");
  EXPECT_FALSE(in.Skip(1));
  EXPECT_TRUE(in.ExpectAtEnd());
  in.PopLimit(outer);
  EXPECT_TRUE(in.ReadString(&text, 2));
  EXPECT_EQ(text, "ij");
  EXPECT_FALSE(in.ReadString(&text, 1));
}

TEST(CodedStreams, ExpectTagsInTheFirstBuffer) {
  const std::string bytes = "\x08\x05\xfa\x01\x18";
  io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  io::CodedInputStream in(&stream);
  EXPECT_FALSE(in.ExpectTag(0x10));
  EXPECT_TRUE(in.ExpectTag(0x08));
  uint32_t value = 0;
  EXPECT_TRUE(in.ReadVarint32(&value));
  EXPECT_EQ(value, 5u);
  EXPECT_FALSE(in.ExpectTag(0x7a));
  EXPECT_TRUE(in.ExpectTag(0xfa));
  EXPECT_EQ(in.CurrentPosition(), 4);
  EXPECT_FALSE(in.ExpectTag(0x198)) << "which is cut off";
  EXPECT_FALSE(in.ExpectAtEnd());
}

TEST(CodedStreams, ReadTagsWithACutoff) {
  const std::string bytes = "\x08\x10\xfa\x01";
  io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  io::CodedInputStream in(&stream);
  EXPECT_EQ(in.ReadTagWithCutoff(0x08), std::make_pair(uint32_t{0x08}, true));
  EXPECT_TRUE(in.LastTagWas(0x08));
  EXPECT_EQ(in.ReadTagWithCutoffNoLastTag(0x08), std::make_pair(uint32_t{0x10}, false));
  EXPECT_TRUE(in.LastTagWas(0x08));
  EXPECT_EQ(in.ReadTagWithCutoff(0x3fff), std::make_pair(uint32_t{0xfa}, true));
  EXPECT_EQ(in.ReadTagWithCutoff(0x3fff).first, 0u);
  EXPECT_TRUE(in.ConsumedEntireMessage());
}

TEST(CodedStreams, KeepALimitOfAllBytes) {
  const std::string bytes = "\x08\x10\x18\x20\x28\x30";
  io::ArrayInputStream stream(bytes.data(), 6, 4);
  io::CodedInputStream in(&stream);
  EXPECT_EQ(in.BytesUntilTotalBytesLimit(), -1);
  EXPECT_EQ(in.ReadTag(), 0x08u);
  in.SetTotalBytesLimit(3);
  EXPECT_EQ(in.BytesUntilTotalBytesLimit(), 2);
  EXPECT_TRUE(in.Skip(2));
  EXPECT_EQ(in.BytesUntilTotalBytesLimit(), 0);
  EXPECT_EQ(in.ReadTag(), 0u);
  EXPECT_FALSE(in.ConsumedEntireMessage()) << "the message is cut off";
  in.SetTotalBytesLimit(1);  // behind the position: nothing more
  EXPECT_EQ(in.BytesUntilTotalBytesLimit(), 0);
  in.SetTotalBytesLimit(5);
  EXPECT_EQ(in.ReadTag(), 0x20u);
  std::string text;
  EXPECT_FALSE(in.ReadString(&text, 2));
}

TEST(CodedStreams, KeepABudgetOfNesting) {
  const std::string bytes = "abcdef";
  io::ArrayInputStream stream(bytes.data(), 6);
  io::CodedInputStream in(&stream);
  EXPECT_EQ(in.RecursionBudget(), io::CodedInputStream::GetDefaultRecursionLimit());
  in.SetRecursionLimit(2);
  EXPECT_TRUE(in.IncrementRecursionDepth());
  const auto pushed = in.IncrementRecursionDepthAndPushLimit(3);
  EXPECT_EQ(pushed.second, 0);
  EXPECT_EQ(in.BytesUntilLimit(), 3);
  EXPECT_FALSE(in.IncrementRecursionDepth());
  in.DecrementRecursionDepth();
  EXPECT_TRUE(in.Skip(3));
  EXPECT_EQ(in.ReadTag(), 0u);
  EXPECT_TRUE(in.DecrementRecursionDepthAndPopLimit(pushed.first));
  EXPECT_EQ(in.RecursionBudget(), 1);
  in.DecrementRecursionDepth();
  in.DecrementRecursionDepth();
  EXPECT_EQ(in.RecursionBudget(), 2) << "no more than the limit";
}

TEST(CodedStreams, ReadALengthAsALimit) {
  const std::string bytes = "\x02\x08\x05\x03\x08\x06\x10";
  io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), 2);
  io::CodedInputStream in(&stream);
  auto limit = in.ReadLengthAndPushLimit();
  EXPECT_EQ(in.BytesUntilLimit(), 2);
  EXPECT_EQ(in.ReadTag(), 0x08u);
  EXPECT_TRUE(in.Skip(1));
  EXPECT_EQ(in.ReadTag(), 0u);
  EXPECT_TRUE(in.CheckEntireMessageConsumedAndPopLimit(limit));
  EXPECT_EQ(in.BytesUntilLimit(), -1);
  limit = in.ReadLengthAndPushLimit();
  EXPECT_EQ(in.ReadTag(), 0x08u);
  EXPECT_TRUE(in.Skip(1));
  EXPECT_FALSE(in.CheckEntireMessageConsumedAndPopLimit(limit)) << "a tag is left";
  EXPECT_EQ(in.ReadTag(), 0x10u);
}

TEST(CodedStreams, RefuseWhatIsMalformed) {
  const std::string endless(11, '\xff');
  io::ArrayInputStream stream(endless.data(), 11);
  io::CodedInputStream in(&stream);
  uint64_t wide;
  EXPECT_FALSE(in.ReadVarint64(&wide));
  const uint8_t cut[] = {0x80};
  io::CodedInputStream short_one(cut, 1);
  uint32_t small;
  EXPECT_FALSE(short_one.ReadVarint32(&small));
  const uint8_t large_size[] = {0xff, 0xff, 0xff, 0xff, 0x0f};
  io::CodedInputStream sized(large_size, 5);
  int size;
  EXPECT_FALSE(sized.ReadVarintSizeAsInt(&size));
  std::string text;
  io::CodedInputStream few(cut, 1);
  EXPECT_FALSE(few.ReadString(&text, 1 << 30)) << "which must not allocate what is not there";
  EXPECT_LT(text.capacity(), 1u << 20);
  EXPECT_FALSE(few.ReadString(&text, -1));
}

TEST(CodedStreams, ErrorsOfTheSinkStay) {
  char room[3];
  io::ArrayOutputStream stream(room, 3);
  io::CodedOutputStream out(&stream);
  out.WriteString("fits not");
  EXPECT_TRUE(out.HadError());
  out.WriteVarint32(1);
  EXPECT_TRUE(out.HadError());
  io::ArrayOutputStream full(room, 3);
  EXPECT_FALSE(large().SerializeToZeroCopyStream(&full));
}

TEST(CodedStreams, GiveBackWhatWasNotRead) {
  const std::string bytes = "abcdefghij";
  io::ArrayInputStream stream(bytes.data(), 10);
  {
    io::CodedInputStream in(&stream);
    EXPECT_TRUE(in.Skip(3));
  }
  EXPECT_EQ(stream.ByteCount(), 3);
  EXPECT_EQ(all_of(&stream), "defghij");
}

TEST(Messages, ComeFromAndGoToCodedStreams) {
  const std::string wire = large().SerializeAsString();
  std::string out;
  {
    io::StringOutputStream stream(&out);
    io::CodedOutputStream coded(&stream);
    coded.WriteVarint32(static_cast<uint32_t>(wire.size()));
    ASSERT_TRUE(large().SerializeToCodedStream(&coded));
    coded.WriteString("rest");
  }
  for (int block : {5, 100, 1 << 20}) {
    io::ArrayInputStream stream(out.data(), static_cast<int>(out.size()), block);
    io::CodedInputStream in(&stream);
    uint32_t size;
    ASSERT_TRUE(in.ReadVarint32(&size));
    auto limit = in.PushLimit(static_cast<int>(size));
    Everything read;
    ASSERT_TRUE(read.ParseFromCodedStream(&in));
    EXPECT_TRUE(in.ConsumedEntireMessage());
    EXPECT_EQ(in.BytesUntilLimit(), 0);
    in.PopLimit(limit);
    std::string rest;
    EXPECT_TRUE(in.ReadString(&rest, 4));
    EXPECT_EQ(rest, "rest");
    EXPECT_EQ(read.SerializeAsString(), wire);
  }
}

// Serializes on its own while it is written to, into buffers of the same thread.
class Serializing : public io::CopyingOutputStream {
 public:
  bool Write(const void* buffer, int size) override {
    if (large().SerializeAsString() != large_) return false;
    std::ostringstream text;
    if (!large().SerializeToOstream(&text)) return false;
    written.append(static_cast<const char*>(buffer), static_cast<size_t>(size));
    return true;
  }
  std::string written;

 private:
  const std::string large_ = large().SerializeAsString();
};

TEST(Messages, GoToASinkThatSerializesOthers) {
  Everything m;
  for (int i = 0; i < 50; ++i) m.add_texts("element " + std::to_string(i));
  m.set_blob(std::string(5000, 'b'));
  Serializing sink;
  {
    io::CopyingOutputStreamAdaptor out(&sink, 100);
    ASSERT_TRUE(m.SerializeToZeroCopyStream(&out));
  }
  EXPECT_TRUE(sink.written == m.SerializeAsString());
}

TEST(Messages, OfABoundedStreamNeedAllOfIt) {
  const std::string wire = large().SerializeAsString();
  const int size = static_cast<int>(wire.size());
  io::ArrayInputStream in(wire.data(), size, 33);
  Everything read;
  ASSERT_TRUE(read.ParseFromBoundedZeroCopyStream(&in, size));
  EXPECT_EQ(read.SerializeAsString(), wire);
  io::ArrayInputStream too_short(wire.data(), size, 33);
  EXPECT_FALSE(read.ParseFromBoundedZeroCopyStream(&too_short, size + 1));
  io::ArrayInputStream nothing(wire.data(), 0);
  EXPECT_TRUE(read.ParseFromZeroCopyStream(&nothing));
  EXPECT_EQ(read.ByteSizeLong(), 0u);
}

TEST(Messages, ThatLackRequiredFieldsAreRefused) {
  const std::string wire = "\x08\x05";
  Needs needs;
  io::ArrayInputStream whole(wire.data(), 2);
  EXPECT_FALSE(needs.ParseFromZeroCopyStream(&whole));
  io::ArrayInputStream partial(wire.data(), 2);
  EXPECT_TRUE(needs.ParsePartialFromZeroCopyStream(&partial));
  EXPECT_EQ(needs.id(), 5);
}

}  // namespace
