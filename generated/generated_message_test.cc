// MessageOf on a class written by hand as protoc-gen-drover would write it.
#include "generated/generated_message.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "testing/test_schema.h"

namespace drover {
namespace {

class Sample final : public MessageOf<Sample> {
 public:
  static const schema::MessageType& drover_type() {
    static const testing::TestSchema schema(R"(syntax = "proto2"; message Sample {
        optional int32 a = 1; optional string s = 2; optional Sample sub = 3; repeated string names = 4;
        map<int32, string> texts = 5; })");
    static const schema::MessageType type = schema.type("Sample");
    return type;
  }
  Sample() { drover_construct(nullptr); }
  explicit Sample(Arena* arena) { drover_construct(arena); }
  Sample(const Sample& other) : Sample() { CopyFrom(other); }
  Sample(Sample&& other) noexcept : Sample() { drover_move_from(other); }
  Sample& operator=(const Sample& other) {
    CopyFrom(other);
    return *this;
  }
  Sample& operator=(Sample&& other) noexcept {
    drover_move_from(other);
    return *this;
  }

  void set_a(int32_t value) { has_ |= 1, a_ = value; }
  int32_t a() const { return a_; }
  String* mutable_s() { return has_ |= 2, s_.with_owner(drover_owner()); }
  const String& s() const { return s_; }
  Sample* mutable_sub() {
    if (!sub_) sub_.set(arena_of(drover_owner())->create<Sample>());
    return sub_.get();
  }
  const Sample& sub() const { return sub_ ? *sub_ : default_instance(); }
  RepeatedPtrField<String>* mutable_names() { return names_.note_owner(drover_owner()), &names_; }
  const RepeatedPtrField<String>& names() const { return names_; }
  Map<int32_t, String>* mutable_texts() { return texts_.note_owner(drover_owner()), &texts_; }
  const Map<int32_t, String>& texts() const { return texts_; }

  static bool laid_out_as_the_image_says() {
    auto offset = [](uint32_t number) { return drover_type().find_field(number)->offset; };
    return sizeof(Sample) == drover_type().entry().object_size && offsetof(Sample, a_) == offset(1) &&
           offsetof(Sample, s_) == offset(2) && offsetof(Sample, sub_) == offset(3) &&
           offsetof(Sample, names_) == offset(4) && offsetof(Sample, texts_) == offset(5);
  }

 private:
  uint32_t has_;
  String s_;
  OffsetPtr<Sample> sub_;
  RepeatedPtrField<String> names_;
  Map<int32_t, String> texts_;
  int32_t a_;
};

void fill(Sample* sample) {
  sample->set_a(7);
  *sample->mutable_s() = "a string that is long enough to be stored";
  sample->mutable_sub()->set_a(-1);
  *sample->mutable_sub()->mutable_sub()->mutable_s() = "inner";
  for (int i = 0; i < 20; ++i) sample->mutable_names()->Add("name " + std::to_string(i));
  for (int i = 0; i < 20; ++i) (*sample->mutable_texts())[i] = "text " + std::to_string(i);
}

TEST(GeneratedMessage, TheClassIsTheLayout) { EXPECT_TRUE(Sample::laid_out_as_the_image_says()); }

TEST(GeneratedMessage, WhatIsSerializedIsParsed) {
  Sample sample;
  fill(&sample);
  std::string wire = sample.SerializeAsString();
  EXPECT_EQ(sample.ByteSizeLong(), wire.size());
  Sample parsed;
  ASSERT_TRUE(parsed.ParseFromString(wire));
  EXPECT_TRUE(parsed.MessageEquals(sample));
  EXPECT_EQ(parsed.DebugString(), sample.DebugString());
  EXPECT_EQ(parsed.names()[19], "name 19");
  EXPECT_EQ(parsed.texts().at(19), "text 19");
  std::string array(wire.size(), '\0');
  EXPECT_TRUE(sample.SerializeToArray(array.data(), static_cast<int>(array.size())));
  EXPECT_EQ(array, wire);
  EXPECT_FALSE(sample.SerializeToArray(array.data(), static_cast<int>(array.size()) - 1));
  std::stringstream stream;
  EXPECT_TRUE(sample.SerializeToOstream(&stream));
  EXPECT_TRUE(parsed.ParseFromIstream(&stream));
  EXPECT_TRUE(parsed.MessageEquals(sample));
  EXPECT_FALSE(parsed.ParseFromString(wire.substr(0, wire.size() - 1)));
}

TEST(GeneratedMessage, CopiesAreDeepAndMovesTakeOver) {
  Sample sample;
  fill(&sample);
  Sample copy(sample);
  copy.mutable_sub()->set_a(5);
  EXPECT_EQ(sample.sub().a(), -1);
  const char* bytes = std::as_const(sample).s().data();
  Sample moved(std::move(sample));
  EXPECT_EQ(moved.s().data(), bytes);
  EXPECT_EQ(moved.sub().sub().s(), "inner");
  moved.mutable_names()->Add("another");
  EXPECT_EQ(moved.names().size(), 21);
}

TEST(GeneratedMessage, AFieldIsMadeOfIteratorsOverMessages) {
  using Samples = RepeatedPtrField<Sample>;
  using Moving = std::move_iterator<Sample*>;
  static_assert(std::is_constructible_v<Samples, const Sample*, const Sample*>);
  static_assert(std::is_constructible_v<Samples, Moving, Moving>);
  static_assert(std::is_constructible_v<Samples, Samples::const_iterator, Samples::const_iterator>);
  static_assert(!std::is_constructible_v<Samples, const char*, const char*>);
  static_assert(std::is_nothrow_move_constructible_v<Samples> && std::is_nothrow_move_assignable_v<Samples>);
  std::vector<Sample> all(2);
  fill(&all[1]);
  Samples samples(all.begin(), all.end());
  samples.Add(samples.begin(), samples.begin());
  EXPECT_EQ(samples.size(), 2);
  EXPECT_TRUE(samples[1].MessageEquals(all[1]));
}

// After a copy, no String of a field knows where its owner word is.
TEST(GeneratedMessage, StringsOfACopyAreChangedThroughEveryIterator) {
  Sample sample;
  for (int i = 0; i < 3; ++i) sample.mutable_names()->Add("");
  Sample copy(sample);
  auto* names = copy.mutable_names();
  *names->rbegin() = "last";
  *(names->end() - 2) = "middle";
  **names->pointer_begin() = "first";
  Sample longer(sample);
  names = longer.mutable_names();
  names->Add("fourth");
  *(names->end() - 2) = "third";
  **(names->pointer_end() - 3) = "second";
  for (const Sample* changed : {&copy, &longer}) {
    for (const String& name : changed->names()) EXPECT_EQ(name.meta() & String::kStandalone, 0u);
  }
  for (int i = 0; i < 20; ++i) copy.mutable_names()->Add("more");
  EXPECT_EQ(copy.names()[0], "first");
  EXPECT_EQ(copy.names()[1], "middle");
  EXPECT_EQ(copy.names()[2], "last");
  EXPECT_EQ(longer.names()[1], "second");
  EXPECT_EQ(longer.names()[2], "third");
  *copy.mutable_names()->begin() += " of all";
  EXPECT_EQ(copy.names()[0], "first of all");
}

TEST(GeneratedMessage, SwapWorksWithinAndAcrossArenas) {
  Arena arena;
  auto* a = Arena::CreateMessage<Sample>(&arena);
  auto* b = Arena::CreateMessage<Sample>(&arena);
  Sample outside;
  fill(a);
  std::string text = a->DebugString();
  a->Swap(b);
  EXPECT_EQ(a->DebugString(), "");
  EXPECT_EQ(b->DebugString(), text);
  b->Swap(&outside);
  EXPECT_EQ(b->DebugString(), "");
  EXPECT_EQ(outside.DebugString(), text);
  outside.mutable_sub()->mutable_sub()->set_a(3);
  *outside.mutable_names()->Mutable(3) = "changed to something longer than before";
}

TEST(GeneratedMessage, ClearingAndFillingAgainDoesNotGrow) {
  Sample sample, other;
  fill(&other);
  for (int i = 0; i < 10; ++i) sample.Clear(), fill(&sample);
  size_t before = arena_of(sample.drover_owner())->space_allocated();
  for (int i = 0; i < 200; ++i) sample.Clear(), fill(&sample);
  EXPECT_EQ(arena_of(sample.drover_owner())->space_allocated(), before);
  EXPECT_TRUE(sample.MessageEquals(other));
}

TEST(GeneratedMessage, ALinearCopyIsOneRunAndEqual) {
  Sample sample;
  fill(&sample);
  std::vector<uint64_t> memory(message::linearized_size(Sample::drover_type(), sample) / 8);
  Arena arena(heap_block_source(), memory.data(), memory.size() * 8);
  auto* copy = static_cast<Sample*>(message::deep_copy_into(Sample::drover_type(), sample, &arena));
  EXPECT_TRUE(arena.only_initial_block());
  EXPECT_TRUE(copy->MessageEquals(sample));
  EXPECT_EQ(static_cast<void*>(copy), memory.data());
}

TEST(GeneratedMessage, DebugTextReadsAsProtobufs) {
  Sample sample;
  sample.set_a(7);
  *sample.mutable_s() = "quote \" and \xc3\xa4";
  sample.mutable_sub();
  EXPECT_EQ(sample.DebugString(), "a: 7\ns: \"quote \\\" and \\303\\244\"\nsub {\n}\n");
  EXPECT_EQ(sample.ShortDebugString(), "a: 7 s: \"quote \\\" and \\303\\244\" sub { }");
  EXPECT_EQ(sample.Utf8DebugString(), "a: 7\ns: \"quote \\\" and \xc3\xa4\"\nsub {\n}\n");
}

}  // namespace
}  // namespace drover
