// One source, built twice: against Drover's generated classes and against protobuf C++'s. Both must pass.
// What a whole message can do.
#include <google/protobuf/arena.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/api_testing.h"
#include "proto2.pb.h"
#include "proto3.pb.h"

namespace {

using drover_test::three::Everything;
namespace two = ::drover_test::two;

Everything filled() {
  Everything m;
  m.set_i32(5);
  m.set_text("text that is long enough to be stored elsewhere");
  m.mutable_inner()->set_id(6);
  m.add_i32s(7);
  m.add_texts("eight");
  m.add_inners()->set_note("nine");
  m.set_choice_text("ten");
  m.set_maybe_i32(0);
  (*m.mutable_counts())["eleven"] = 11;
  return m;
}
bool is_filled(const Everything& m) { return m.SerializeAsString() == filled().SerializeAsString(); }

TEST(ApiMessage, IsMadeCopiedAndMoved) {
  Everything made = filled();
  Everything copied(made);
  EXPECT_TRUE(is_filled(copied));
  Everything assigned;
  assigned = made;
  EXPECT_TRUE(is_filled(assigned));
  Everything moved(std::move(copied));
  EXPECT_TRUE(is_filled(moved));
  assigned.Clear();
  assigned = std::move(moved);
  EXPECT_TRUE(is_filled(assigned));
  Everything from;
  from.CopyFrom(made);
  EXPECT_TRUE(is_filled(from));
  from.CopyFrom(Everything());
  EXPECT_EQ(from.ByteSizeLong(), 0u);
  Everything& self = assigned;
  assigned = self;
  EXPECT_TRUE(is_filled(assigned));
  std::vector<Everything> many(3, made);
  many.erase(many.begin());
  many.insert(many.begin(), Everything());
  EXPECT_TRUE(is_filled(many[1]) && is_filled(many[2]));
}

TEST(ApiMessage, MergesAndSwaps) {
  Everything a = filled(), b;
  b.set_i32(50);
  b.mutable_inner()->set_note("b");
  b.add_i32s(70);
  b.set_choice_i32(1);
  a.MergeFrom(b);
  EXPECT_EQ(a.i32(), 50);
  EXPECT_EQ(a.inner().id(), 6);
  EXPECT_EQ(a.inner().note(), "b");
  EXPECT_EQ(a.i32s_size(), 2);
  EXPECT_EQ(a.choice_case(), Everything::kChoiceI32);
  a.CheckTypeAndMergeFrom(b);
  EXPECT_EQ(a.i32s_size(), 3);
  Everything c = filled();
  c.Swap(&b);
  EXPECT_TRUE(is_filled(b));
  EXPECT_EQ(c.i32(), 50);
  swap(b, c);
  EXPECT_TRUE(is_filled(c));
  std::swap(b, c);
  EXPECT_TRUE(is_filled(b));
  google::protobuf::Arena arena;
  auto* d = google::protobuf::Arena::CreateMessage<Everything>(&arena);
  auto* e = google::protobuf::Arena::CreateMessage<Everything>(&arena);
  d->CopyFrom(b);
  d->UnsafeArenaSwap(e);
  EXPECT_TRUE(is_filled(*e));
  e->Swap(&c);
  EXPECT_TRUE(is_filled(c));
}

TEST(ApiMessage, IsNamedAndMadeAnew) {
  Everything m = filled();
  EXPECT_EQ(m.GetTypeName(), "drover_test.three.Everything");
  std::unique_ptr<Everything> made(m.New());
  EXPECT_EQ(made->ByteSizeLong(), 0u);
  google::protobuf::Arena arena;
  Everything* in_arena = m.New(&arena);
  EXPECT_EQ(in_arena->GetArena(), &arena);
  EXPECT_EQ(m.GetArena(), nullptr);
  EXPECT_EQ(made->GetArena(), nullptr);
  EXPECT_EQ(in_arena->mutable_inner()->GetArena(), &arena);
  EXPECT_EQ(&Everything::default_instance(), &Everything::default_instance());
  EXPECT_EQ(&m.self().self(), &Everything::default_instance());
  EXPECT_EQ(Everything::default_instance().ByteSizeLong(), 0u);
}

TEST(ApiMessage, IsClearedAndMeasured) {
  Everything m = filled();
  std::string wire = m.SerializeAsString();
  EXPECT_EQ(m.ByteSizeLong(), wire.size());
  EXPECT_EQ(m.GetCachedSize(), static_cast<int>(wire.size()));
  EXPECT_GE(m.SpaceUsedLong(), sizeof(m));
  m.Clear();
  EXPECT_EQ(m.ByteSizeLong(), 0u);
  EXPECT_EQ(m.SerializeAsString(), "");
}

TEST(ApiMessage, SerializesInEveryWay) {
  const Everything m = filled();
  std::string wire;
  ASSERT_TRUE(m.SerializeToString(&wire));
  EXPECT_EQ(m.SerializeAsString(), wire);
  EXPECT_EQ(m.SerializePartialAsString(), wire);
  std::string out = "kept";
  EXPECT_TRUE(m.AppendToString(&out));
  EXPECT_EQ(out, "kept" + wire);
  EXPECT_TRUE(m.AppendPartialToString(&out));
  EXPECT_TRUE(m.SerializePartialToString(&out));
  EXPECT_EQ(out, wire);
  std::string array(wire.size(), '\0');
  EXPECT_TRUE(m.SerializeToArray(array.data(), static_cast<int>(array.size())));
  EXPECT_EQ(array, wire);
  EXPECT_FALSE(m.SerializeToArray(array.data(), static_cast<int>(array.size()) - 1));
  EXPECT_TRUE(m.SerializePartialToArray(array.data(), static_cast<int>(array.size())));
  array.assign(wire.size(), '\0');
  auto* first = reinterpret_cast<uint8_t*>(array.data());
  EXPECT_EQ(m.ByteSizeLong(), wire.size());
  EXPECT_EQ(m.SerializeWithCachedSizesToArray(first), first + wire.size());
  EXPECT_EQ(array, wire);
  std::ostringstream stream;
  EXPECT_TRUE(m.SerializeToOstream(&stream));
  EXPECT_EQ(stream.str(), wire);
  EXPECT_TRUE(m.SerializePartialToOstream(&stream));
  EXPECT_EQ(stream.str(), wire + wire);
}

TEST(ApiMessage, ParsesInEveryWay) {
  const std::string wire = filled().SerializeAsString();
  const int size = static_cast<int>(wire.size());
  Everything m;
  m.set_u32(1);  // gone once parsed
  EXPECT_TRUE(m.ParseFromString(wire));
  EXPECT_TRUE(is_filled(m));
  EXPECT_TRUE(m.ParseFromArray(wire.data(), size) && is_filled(m));
  EXPECT_TRUE(m.ParsePartialFromString(wire) && is_filled(m));
  EXPECT_TRUE(m.ParsePartialFromArray(wire.data(), size) && is_filled(m));
  std::istringstream stream(wire), partial(wire);
  EXPECT_TRUE(m.ParseFromIstream(&stream) && is_filled(m));
  EXPECT_TRUE(m.ParsePartialFromIstream(&partial) && is_filled(m));
  EXPECT_TRUE(m.MergeFromString(wire));
  EXPECT_EQ(m.i32s_size(), 2);
  EXPECT_FALSE(m.ParseFromString("\x08"));
  EXPECT_FALSE(m.ParseFromArray(wire.data(), size - 1));
  EXPECT_TRUE(m.ParseFromArray(nullptr, 0));
  EXPECT_EQ(m.ByteSizeLong(), 0u);
}

TEST(ApiMessage, GoesThroughFileDescriptors) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  int fd = fileno(file);
  EXPECT_TRUE(filled().SerializeToFileDescriptor(fd));
  ASSERT_EQ(lseek(fd, 0, SEEK_SET), 0);
  Everything m;
  EXPECT_TRUE(m.ParseFromFileDescriptor(fd));
  EXPECT_TRUE(is_filled(m));
  ASSERT_EQ(lseek(fd, 0, SEEK_SET), 0);
  EXPECT_TRUE(filled().SerializePartialToFileDescriptor(fd));
  ASSERT_EQ(lseek(fd, 0, SEEK_SET), 0);
  EXPECT_TRUE(m.ParsePartialFromFileDescriptor(fd));
  EXPECT_TRUE(is_filled(m));
  std::fclose(file);
}

TEST(ApiMessage, KnowsItsMissingRequiredFields) {
  two::Needs m;
  EXPECT_FALSE(m.IsInitialized());
  EXPECT_EQ(m.InitializationErrorString(), "id, name");
  std::vector<std::string> missing;
  m.FindInitializationErrors(&missing);
  EXPECT_EQ(missing, (std::vector<std::string>{"id", "name"}));
  m.set_id(1);
  m.set_name("n");
  m.mutable_next()->set_id(2);
  EXPECT_EQ(m.InitializationErrorString(), "next.name");
  EXPECT_TRUE(m.ParsePartialFromString(m.SerializePartialAsString()));
  EXPECT_FALSE(m.IsInitialized());
  EXPECT_FALSE(m.ParseFromString(m.SerializePartialAsString()));
  m.set_id(1);
  m.set_name("n");
  m.clear_next();
  EXPECT_TRUE(m.IsInitialized());
  EXPECT_EQ(m.InitializationErrorString(), "");
  m.CheckInitialized();
  two::Around around;
  around.add_more()->mutable_single();
  EXPECT_EQ(around.InitializationErrorString(), "more[0].single.x");
}

TEST(ApiMessage, IsPrinted) {
  Everything m = filled();
  m.set_real(1.5f);
  m.set_flag(true);
  m.set_color(drover_test::three::COLOR_DARK);
  m.set_blob("\xff\n\"");
  EXPECT_EQ(m.DebugString(),
            "flag: true\ni32: 5\nreal: 1.5\ntext: \"text that is long enough to be stored elsewhere\"\n"
            "blob: \"\\377\\n\\\"\"\ncolor: COLOR_DARK\ninner {\n  id: 6\n}\nmaybe_i32: 0\ni32s: 7\ntexts: \"eight\"\n"
            "inners {\n  note: \"nine\"\n}\ncounts {\n  key: \"eleven\"\n  value: 11\n}\nchoice_text: \"ten\"\n");
  Everything small;
  small.mutable_inner()->set_note("\xc3\xa9");
  EXPECT_EQ(small.ShortDebugString(), "inner { note: \"\\303\\251\" }");
  EXPECT_EQ(small.Utf8DebugString(), "inner {\n  note: \"\xc3\xa9\"\n}\n");
  Everything held;
  held.mutable_any()->PackFrom(small.inner());
  EXPECT_EQ(held.ShortDebugString(),
            "any { [type.googleapis.com/drover_test.three.Everything.Inner] { note: \"\\303\\251\" } }");
}

TEST(ApiMessage, IsPrintedAndComparedByProtobufsHelpers) {
  std::string text;
  EXPECT_TRUE(google::protobuf::TextFormat::PrintToString(filled(), &text));
  EXPECT_EQ(text, filled().DebugString());
  Everything other = filled();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(filled(), other));
  other.set_maybe_i32(1);
  EXPECT_FALSE(google::protobuf::util::MessageDifferencer::Equals(filled(), other));
}

TEST(ApiMessage, MapsArePrintedByKey) {
  Everything m;
  for (int key : {3, -1, 2}) (*m.mutable_by_i32())[key] = key;
  (*m.mutable_by_flag())[true] = "t";
  (*m.mutable_by_flag())[false] = "f";
  for (const char* key : {"b", "a", "ab"}) (*m.mutable_counts())[key] = 1;
  EXPECT_EQ(m.ShortDebugString(),
            "by_i32 { key: -1 value: -1 } by_i32 { key: 2 value: 2 } by_i32 { key: 3 value: 3 } "
            "by_flag { key: false value: \"f\" } by_flag { key: true value: \"t\" } "
            "counts { key: \"a\" value: 1 } counts { key: \"ab\" value: 1 } counts { key: \"b\" value: 1 }");
}

TEST(ApiMessage, UnknownFieldsArePrintedByNumber) {
  drover_test::three::Empty m;
  ASSERT_TRUE(m.ParseFromString(api::bytes("0805 1501000000 190200000000000000 2203616263 2a020801 330809 34 3a00")));
  EXPECT_EQ(m.DebugString(),
            "1: 5\n2: 0x00000001\n3: 0x0000000000000002\n4: \"abc\"\n5 {\n  1: 1\n}\n6 {\n  1: 9\n}\n7: \"\"\n");
  m.DiscardUnknownFields();
  EXPECT_EQ(m.ByteSizeLong(), 0u);
}

TEST(ApiMessage, LivesInArenas) {
  google::protobuf::Arena arena;
  auto* m = google::protobuf::Arena::CreateMessage<Everything>(&arena);
  *m = filled();
  EXPECT_TRUE(is_filled(*m));
  EXPECT_GT(arena.SpaceUsed(), sizeof(Everything));
  EXPECT_GE(arena.SpaceAllocated(), arena.SpaceUsed());
  int* numbers = google::protobuf::Arena::CreateArray<int>(&arena, 10);
  numbers[9] = 1;
  struct Plain {
    int a;
    double b;
  };
  auto* plain = google::protobuf::Arena::Create<Plain>(&arena, Plain{1, 2.5});
  EXPECT_EQ(plain->b, 2.5);
  EXPECT_GT(arena.Reset(), 0u);
  std::unique_ptr<Everything> heap(google::protobuf::Arena::CreateMessage<Everything>(nullptr));
  EXPECT_EQ(heap->GetArena(), nullptr);
  alignas(8) static char block[4096];
  google::protobuf::ArenaOptions options;
  options.initial_block = block;
  options.initial_block_size = sizeof(block);
  google::protobuf::Arena in_block(options);
  auto* there = reinterpret_cast<char*>(google::protobuf::Arena::CreateMessage<two::Needs>(&in_block));
  EXPECT_TRUE(there >= block && there < block + sizeof(block));
}

TEST(ApiMessage, TheLibraryNeedsNoStart) {
  GOOGLE_PROTOBUF_VERIFY_VERSION;
  google::protobuf::int64 wide = 1;
  google::protobuf::uint32 narrow = 1;
  EXPECT_EQ(wide, static_cast<google::protobuf::int64>(narrow));
}

}  // namespace
