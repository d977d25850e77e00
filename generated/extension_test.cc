// Typed extensions on a class written by hand as protoc-gen-drover would write it. The compiler's tests have extensions
// of every kind beside protobuf C++'s (compiler/api_extensions_test.cc, compiler/peer_extensions_test.cc).
#include "generated/extension.h"

#include <gtest/gtest.h>

#include "testing/test_schema.h"

namespace drover {
namespace {

const testing::TestSchema& test_schema() {
  static const testing::TestSchema schema(R"(syntax = "proto2"; package t;
      enum Closed { ZERO = 0; ONE = 1; }
      message Base { optional int32 own = 1; extensions 100 to 200; }
      extend Base {
        optional int32 number = 100 [default = -7]; repeated sint32 numbers = 101 [packed = true];
        optional string text = 102 [default = "none"]; repeated string texts = 103; optional Base base = 104;
      })");
  return schema;
}

class Base final : public ExtendableOf<Base> {
 public:
  static const schema::MessageType& drover_type() {
    static const schema::MessageType type = test_schema().type("t.Base");
    return type;
  }
  Base() { drover_construct(nullptr); }
  explicit Base(Arena* arena) { drover_construct(arena); }
  Base(const Base& other) : Base() { CopyFrom(other); }
  Base(Base&& other) noexcept : Base() { drover_move_from(other); }
  Base& operator=(const Base& other) { return CopyFrom(other), *this; }
  Base& operator=(Base&& other) noexcept { return drover_move_from(other), *this; }

  void set_own(int32_t value) { has_ |= 1, own_ = value; }
  int32_t own() const { return own_; }

 private:
  uint32_t has_;
  int32_t own_;
};

template <typename V, bool kRepeated>
ExtensionIdentifier<Base, V, kRepeated> extension(int number) {
  const schema::MessageType type = test_schema().type("[t.Base:" + std::to_string(number) + "]");
  return {type.image, type.index, number};
}
const auto number = extension<int32_t, false>(100);
const auto numbers = extension<int32_t, true>(101);
const auto text = extension<std::string, false>(102);
const auto texts = extension<std::string, true>(103);
const auto base = extension<Base, false>(104);

TEST(Extension, IsItsDefaultUntilItIsSet) {
  Base message;
  EXPECT_FALSE(message.HasExtension(number));
  EXPECT_EQ(message.GetExtension(number), -7);
  EXPECT_EQ(message.GetExtension(text), "none");
  message.SetExtension(number, 5);
  message.SetExtension(text, "some");
  EXPECT_TRUE(message.HasExtension(number));
  EXPECT_EQ(message.GetExtension(number), 5);
  EXPECT_EQ(message.GetExtension(text), "some");
  message.ClearExtension(number);
  EXPECT_EQ(message.GetExtension(number), -7);
  EXPECT_TRUE(message.HasExtension(text));
}

TEST(Extension, RepeatedOnesAreAddedSetAndCounted) {
  Base message;
  for (int i = 0; i < 5; ++i) {
    message.AddExtension(numbers, -i);
    message.AddExtension(texts, std::to_string(i));
  }
  message.SetExtension(numbers, 2, 22);
  message.SetExtension(texts, 2, "two");
  message.MutableRepeatedExtension(numbers)->RemoveLast();
  EXPECT_EQ(message.ExtensionSize(numbers), 4);
  EXPECT_EQ(message.ExtensionSize(texts), 5);
  EXPECT_EQ(message.GetExtension(numbers, 2), 22);
  EXPECT_EQ(message.GetExtension(texts, 2), "two");
  int sum = 0;
  for (int value : message.GetRepeatedExtension(numbers)) sum += value;
  EXPECT_EQ(sum, 0 - 1 + 22 - 3);
}

TEST(Extension, MessagesAreWrittenBackWhenTheExpressionEnds) {
  Base message;
  message.MutableExtension(base)->set_own(3);
  message.MutableExtension(base)->SetExtension(number, 4);
  EXPECT_EQ(message.GetExtension(base).own(), 3);
  EXPECT_EQ(message.GetExtension(base).GetExtension(number), 4);
  Base read;
  EXPECT_TRUE(message.ReadExtension(base, &read));
  EXPECT_EQ(read.own(), 3);
  message.ClearExtension(base);
  EXPECT_FALSE(message.ReadExtension(base, &read));
}

TEST(Extension, StandsOnTheWireByNumberAmongTheUnknownFields) {
  Base message;
  message.SetExtension(text, "b");
  message.SetExtension(number, 1);
  message.set_own(1);
  EXPECT_EQ(message.SerializeAsString(), std::string("\x08\x01\xa0\x06\x01\xb2\x06\x01") + "b");
  Base parsed;
  ASSERT_TRUE(parsed.ParseFromString(message.SerializeAsString()));
  EXPECT_EQ(parsed.GetExtension(text), "b");
  EXPECT_TRUE(parsed == message);
}

}  // namespace
}  // namespace drover
