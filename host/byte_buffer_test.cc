// Slice, ByteBuffer and what turns messages into them, as users of gRPC C++ write it.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host_test.grpc.pb.h"

namespace {

using drover::hosttest::Request;
using drover::hosttest::Testing;
using grpc::ByteBuffer;
using grpc::Slice;

std::string text(const Slice& slice) { return std::string(slice.begin(), slice.end()); }
std::string text(const ByteBuffer& buffer) {
  Slice slice;
  return buffer.DumpToSingleSlice(&slice).ok() ? text(slice) : "(not valid)";
}
ByteBuffer buffer(const std::string& content) {
  Slice slice(content);
  return ByteBuffer(&slice, 1);
}

TEST(Slice, IsMadeOfCopiesAndSharesItsParts) {
  std::string source = "abcdef";
  Slice copied(source), empty, sized(4);
  source[0] = 'x';
  EXPECT_EQ(text(copied), "abcdef");
  EXPECT_EQ(empty.size(), 0u);
  EXPECT_EQ(sized.size(), 4u);
  Slice part = copied.sub(2, 5);
  EXPECT_EQ(part.begin(), copied.begin() + 2);
  copied = Slice("other", 5);
  EXPECT_EQ(text(part), "cde") << "a part keeps the bytes alive";
  Slice moved = std::move(part);
  EXPECT_EQ(text(moved), "cde");
  EXPECT_EQ(part.size(), 0u);
  static const char kStatic[] = "static";
  Slice fixed(kStatic, 6, Slice::STATIC_SLICE);
  EXPECT_EQ(reinterpret_cast<const char*>(fixed.begin()), kStatic);
}

TEST(Slice, CallsItsDestroyOnceWhenTheLastOwnerHasGone) {
  int destroyed = 0;
  std::string bytes = "bytes";
  {
    Slice one(bytes.data(), bytes.size(), [](void* count) { ++*static_cast<int*>(count); }, &destroyed);
    Slice two = one, part = one.sub(1, 3);
    one = Slice();
    two = Slice();
    EXPECT_EQ(destroyed, 0);
    EXPECT_EQ(text(part), "yt");
  }
  EXPECT_EQ(destroyed, 1);
  static size_t length = 0;
  {
    Slice sized(bytes.data(), bytes.size(), [](void*, size_t size) { length = size; });
  }
  EXPECT_EQ(length, 5u);
}

TEST(Slice, HasItsFormInC) {
  Slice slice("abc", 3);
  grpc_slice raw = slice.c_slice();
  EXPECT_EQ(grpc::StringFromCopiedSlice(raw), "abc");
  EXPECT_EQ(grpc::StringRefFromSlice(&raw), "abc");
  EXPECT_EQ(GRPC_SLICE_LENGTH(raw), 3u);
  EXPECT_EQ(GRPC_SLICE_START_PTR(raw), slice.begin());
  Slice stolen(raw, Slice::STEAL_REF);
  std::string kept = "kept";
  Slice referring(grpc::SliceReferencingString(kept), Slice::STEAL_REF);
  EXPECT_EQ(reinterpret_cast<const char*>(referring.begin()), kept.data());
  EXPECT_TRUE(grpc_slice_eq(stolen.c_slice(), raw) != 0);
  grpc_slice_unref(raw);
  EXPECT_LT(grpc_slice_str_cmp(raw, "abd"), 0);
}

TEST(ByteBuffer, IsMadeOfSlicesAndDumped) {
  const Slice slices[] = {Slice("one "), Slice(), Slice("two")};
  ByteBuffer both(slices, 3);
  EXPECT_TRUE(both.Valid());
  EXPECT_EQ(both.Length(), 7u);
  EXPECT_EQ(text(both), "one two");
  std::vector<Slice> dumped = {Slice("old")};
  ASSERT_TRUE(both.Dump(&dumped).ok());
  std::string all;
  for (const Slice& slice : dumped) all += text(slice);
  EXPECT_EQ(all, "one two");
  Slice single;
  ASSERT_TRUE(both.TrySingleSlice(&single).ok());
  both.Clear();
  EXPECT_FALSE(both.Valid());
  EXPECT_EQ(text(single), "one two") << "slices do not depend on the buffer";
}

TEST(ByteBuffer, WithoutAMessageIsNotValid) {
  ByteBuffer none;
  EXPECT_FALSE(none.Valid());
  EXPECT_EQ(none.Length(), 0u);
  std::vector<Slice> slices;
  Slice slice;
  EXPECT_EQ(none.Dump(&slices).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(none.TrySingleSlice(&slice).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  ByteBuffer empty(nullptr, 0);
  EXPECT_TRUE(empty.Valid()) << "a message of no bytes";
  EXPECT_TRUE(empty.Dump(&slices).ok());
}

TEST(ByteBuffer, IsCopiedMovedAndSwapped) {
  ByteBuffer a = buffer("a"), b = buffer(std::string(5000, 'b')), none;
  ByteBuffer copy = a;
  a.Swap(&b);
  EXPECT_EQ(text(b), "a");
  EXPECT_EQ(text(a).size(), 5000u);
  EXPECT_EQ(text(copy), "a");
  copy = a;
  EXPECT_EQ(text(copy), text(a));
  copy = none;
  EXPECT_FALSE(copy.Valid());
  ByteBuffer moved = std::move(a);
  EXPECT_EQ(text(moved).size(), 5000u);
  ByteBuffer& same = moved;
  moved = same;
  EXPECT_EQ(text(moved).size(), 5000u);
  moved.Duplicate();
  EXPECT_EQ(moved.Length(), 5000u);
}

TEST(ByteBuffer, HoldsAMessageOfAnyTypeAndGivesItBack) {
  Request request;
  request.set_text("hello");
  request.set_maybe(7);
  ByteBuffer wire;
  bool own = false;
  ASSERT_TRUE(grpc::SerializationTraits<Request>::Serialize(request, &wire, &own).ok());
  EXPECT_EQ(text(wire), request.SerializeAsString());
  Request again;
  ASSERT_TRUE(grpc::SerializationTraits<Request>::Deserialize(&wire, &again).ok());
  EXPECT_EQ(again.text(), "hello");
  EXPECT_FALSE(wire.Valid());
  EXPECT_EQ(grpc::SerializationTraits<Request>::Deserialize(&wire, &again).error_code(), grpc::StatusCode::INTERNAL);
  ASSERT_TRUE((grpc::GenericSerialize<grpc::ProtoBufferWriter, Request>(request, &wire, &own)).ok());
  ASSERT_TRUE((grpc::GenericDeserialize<grpc::ProtoBufferReader, Request>(&wire, &again)).ok());
  ByteBuffer garbage = buffer("\x0a\xff");
  EXPECT_EQ(grpc::SerializationTraits<Request>::Deserialize(&garbage, &again).error_code(), grpc::StatusCode::INTERNAL);
  ByteBuffer one = buffer("as it is"), other;
  ASSERT_TRUE(grpc::SerializationTraits<ByteBuffer>::Serialize(one, &other, &own).ok());
  EXPECT_EQ(text(other), "as it is");
}

TEST(ByteBuffer, IsReadAndWrittenInPieces) {
  ByteBuffer wire;
  {
    grpc::ProtoBufferWriter writer(&wire, grpc::kProtoBufferWriterMaxBufferLength, 10);
    void* data = nullptr;
    int size = 0;
    ASSERT_TRUE(writer.Next(&data, &size));
    ASSERT_GE(size, 4);
    std::memcpy(data, "1234", 4);
    writer.BackUp(size - 4);
    EXPECT_EQ(writer.ByteCount(), 4);
  }
  EXPECT_EQ(text(wire), "1234");
  grpc::ProtoBufferReader reader(&wire);
  EXPECT_TRUE(reader.Skip(1));
  const void* data = nullptr;
  int size = 0;
  ASSERT_TRUE(reader.Next(&data, &size));
  EXPECT_EQ(std::string(static_cast<const char*>(data), static_cast<size_t>(size)), "234");
  reader.BackUp(1);
  EXPECT_EQ(reader.ByteCount(), 3);
  EXPECT_FALSE(reader.Skip(2));
  EXPECT_FALSE(reader.Next(&data, &size));
  EXPECT_TRUE(reader.status().ok());
}

// Each method served another way.
class Mixed final : public Testing::WithRawMethod_Echo<Testing::WithRawCallbackMethod_Talk<
                        Testing::WithGenericMethod_Other<Testing::WithSplitStreamingMethod_Spread<Testing::Service>>>> {
  grpc::Status StreamedSpread(grpc::ServerContext*,
                              grpc::ServerSplitStreamer<Request, drover::hosttest::Reply>*) override {
    return grpc::Status::OK;
  }
};

TEST(ServiceApi, KnowsRawGenericAndStreamedMethods) {
  using Kind = grpc::internal::Method::Kind;
  Mixed mixed;
  const auto& methods = mixed.drover_methods();
  EXPECT_TRUE(methods[0].raw && methods[0].kind == Kind::kAsync && !methods[0].streams());
  EXPECT_EQ(methods[0].message_size, sizeof(ByteBuffer));
  EXPECT_EQ(methods[1].kind, Kind::kGeneric);
  EXPECT_TRUE(!methods[2].raw && methods[2].kind == Kind::kSync);
  EXPECT_TRUE(!methods[3].raw && methods[3].reply_streams && !methods[3].request_streams);
  EXPECT_TRUE(methods[4].raw && methods[4].kind == Kind::kCallback && methods[4].request_streams);
}

TEST(BuilderApi, TakesOneGenericService) {
  grpc::AsyncGenericService first;
  grpc::CallbackGenericService second;
  grpc::ServerBuilder builder;
  auto queue = builder.AddCompletionQueue();
  builder.RegisterAsyncGenericService(&first).RegisterCallbackGenericService(&second);
  EXPECT_EQ(builder.BuildAndStart(), nullptr) << "no port";
  queue->Shutdown();
}

}  // namespace
