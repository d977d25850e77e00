// Raw edits: new objects, presence, sub-objects, elements and unknown bytes, and what they leave when memory ends.
#include "message/edit.h"

#include <cstring>
#include <vector>

#include "message/message_testing.h"

namespace drover::raw {
namespace {

using schema::FieldEntry;
using testing::every_schema;
using testing::from_hex;

class EditTest : public ::testing::Test {
 protected:
  const FieldEntry& field(uint32_t number) const { return *type.find_field(number); }
  Message* message() { return reinterpret_cast<Message*>(object); }
  std::string text() { return message::debug_text(type, *message(), {.one_line = true}); }
  void set_int(uint32_t number, int32_t value) {
    mark_present(object, field(number));
    store(object + field(number).offset, value);
  }
  void set_string(char* at, std::string_view value) { reinterpret_cast<String*>(at)->assign_in(&arena, value); }

  schema::MessageType type = every_schema().type("t.Every");
  Arena arena;
  char* object = new_object(type, &arena);
};

TEST_F(EditTest, MakesEmptyObjectsThatAllocateFromTheirArena) {
  EXPECT_EQ(text(), "");
  EXPECT_EQ(message()->drover_owner_word(), reinterpret_cast<OwnerWord>(&arena));
  Arena none(Arena::FixedMemory{nullptr, 0});
  EXPECT_EQ(new_object(type, &none), nullptr);
}

TEST_F(EditTest, MarksFieldsPresent) {
  set_int(5, 7);
  EXPECT_EQ(text(), "f5: 7");
  mark_present(object, field(13));
  EXPECT_EQ(text(), "f5: 7 f13: 0");
}

TEST_F(EditTest, AMemberOfAOneofTakesOverAnEmptySlot) {
  mark_present(object, field(2002));
  set_string(object + field(2002).offset, "text");
  EXPECT_EQ(text(), "o2: \"text\"");
  mark_present(object, field(2002));
  EXPECT_EQ(text(), "o2: \"text\"") << "the member that is set keeps its value";
  mark_present(object, field(2001));
  EXPECT_EQ(text(), "o1: 0");
  mark_present(object, field(2005));
  EXPECT_EQ(text(), "o5: \"\"");
}

TEST_F(EditTest, ASubObjectIsMadeOnceAndEmptiedWhenItsFieldWasCleared) {
  char* sub = mutable_sub_object(type, object, field(11), &arena);
  mark_present(sub, field(5));
  store(sub + field(5).offset, 3);
  EXPECT_EQ(mutable_sub_object(type, object, field(11), &arena), sub);
  EXPECT_EQ(text(), "f11 { f5: 3 }");
  message::clear_field(type, message(), field(11));
  EXPECT_EQ(text(), "");
  mutable_sub_object(type, object, field(11), &arena);
  EXPECT_EQ(text(), "f11 { }");
}

TEST_F(EditTest, ASubObjectInAOneofReplacesTheOtherMember) {
  set_int(2001, 9);
  mutable_sub_object(type, object, field(2003), &arena);
  EXPECT_EQ(text(), "o3 { }");
}

TEST_F(EditTest, AppendsElementsOfEveryStorage) {
  for (int32_t i = 0; i < 40; ++i) {
    *append_element(type, object, field(108), &arena) = static_cast<char>(i % 2);
    store(append_element(type, object, field(105), &arena), i);
    store(append_element(type, object, field(118), &arena), int64_t{-i});
    set_string(append_element(type, object, field(109), &arena), std::string(static_cast<size_t>(i), 'x'));
    char* sub = append_element(type, object, field(111), &arena);
    mark_present(sub, field(5));
    store(sub + field(5).offset, i);
  }
  auto peer = every_schema().peer("t.Every");
  auto* every = static_cast<t::Every*>(peer.get());
  for (int32_t i = 0; i < 40; ++i) {
    every->add_r8(i % 2 != 0);
    every->add_r5(i);
    every->add_r18(-i);
    every->add_r9(std::string(static_cast<size_t>(i), 'x'));
    every->add_r11()->set_f5(i);
  }
  EXPECT_EQ(text(), every->ShortDebugString());
}

TEST_F(EditTest, TakesBackTheLastElementAndAppendsAgain) {
  for (uint32_t number : {105u, 109u, 111u}) {
    for (int i = 0; i < 5; ++i) append_element(type, object, field(number), &arena);
    for (int i = 0; i < 3; ++i) drop_last_element(object, field(number));
  }
  EXPECT_EQ(text(), "r5: 0 r5: 0 r9: \"\" r9: \"\" r11 { } r11 { }");
  store(append_element(type, object, field(105), &arena), 8);
  set_string(append_element(type, object, field(109), &arena), "new");
  EXPECT_EQ(text(), "r5: 0 r5: 0 r5: 8 r9: \"\" r9: \"\" r9: \"new\" r11 { } r11 { }");
}

TEST_F(EditTest, ALinearCopysArraysTakeElementsBackToo) {
  for (int32_t i = 0; i < 5; ++i) store(append_element(type, object, field(105), &arena), i);
  Arena copy_arena;
  char* copy = message::deep_copy_into(type, *message(), &copy_arena)->drover_bytes();
  drop_last_element(copy, field(105));
  store(append_element(type, copy, field(105), &copy_arena), 9);
  object = copy;
  EXPECT_EQ(text(), "r5: 0 r5: 1 r5: 2 r5: 3 r5: 9");
}

TEST_F(EditTest, AppendsUnknownBytesBehindEachOther) {
  std::string all;
  for (int i = 0; i < 100; ++i) {
    const std::string record = from_hex("c0 3e") + static_cast<char>(i);
    ASSERT_TRUE(append_unknown(object, record, &arena));
    all += record;
    ASSERT_EQ(message()->drover_unknown(), all);
  }
}

TEST_F(EditTest, ChangesNothingWhenMemoryEnds) {
  std::vector<uint64_t> memory(type.entry().object_size / 8 + 200);
  Arena small(Arena::FixedMemory{memory.data(), memory.size() * 8});
  object = new_object(type, &small);
  ASSERT_NE(object, nullptr);
  int32_t count = 0;
  for (char* at; (at = append_element(type, object, field(105), &small)) != nullptr; ++count) store(at, count);
  while (append_unknown(object, from_hex("c0 3e 01"), &small)) {
  }
  const std::string before = text();
  ASSERT_GT(count, 8);
  EXPECT_EQ(append_element(type, object, field(105), &small), nullptr);
  EXPECT_EQ(mutable_sub_object(type, object, field(11), &small), nullptr);
  EXPECT_EQ(mutable_sub_object(type, object, field(2003), &small), nullptr);
  EXPECT_EQ(append_element(type, object, field(111), &small), nullptr);
  EXPECT_FALSE(append_unknown(object, std::string(4000, '\0'), &small));
  EXPECT_EQ(text(), before);
}

}  // namespace
}  // namespace drover::raw
