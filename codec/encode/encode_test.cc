// Encoding by example: order, references, limits, arrays. Equality with protobuf C++ is in differential_test.cc.
#include "codec/encode/encode.h"
#include "testing/every_schema.h"
#include "testing/hex.h"
#include "testing/test_object.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

using testing::every_schema;
using testing::from_hex;
using testing::TestObject;

TEST(Encode, FieldsGoOutByNumberWhateverOrderTheyCameIn) {
  TestObject object(every_schema().type("t.Every"));
  ASSERT_TRUE(object.decode(from_hex("f8ffffff0f 07  ca06 01 05  4a 01 61  28 01")).ok());
  EXPECT_EQ(object.encode(), from_hex("28 01  4a 01 61  c806 05  f8ffffff0f 07"));
}

TEST(Encode, LongStringsAreReferredToAndShortOnesCopied) {
  TestObject object(every_schema().type("t.Every"));
  std::string big(5000, 'x');
  std::string wire = from_hex("28 01 4a 8827") + big + from_hex("62 02 6162");
  ASSERT_TRUE(object.decode(wire, {.alias = true}).ok());
  Encoded encoded;
  ASSERT_TRUE(encode(object.type(), object.get(), {}, &encoded).ok());
  ASSERT_EQ(encoded.pieces().size(), 3u);
  EXPECT_EQ(encoded.pieces()[1].data, wire.data() + 5);
  EXPECT_EQ(encoded.pieces()[1].size, big.size());
  EXPECT_EQ(object.encode(), wire);
}

TEST(Encode, ManySmallPartsFillManyBuffersWhichAreReused) {
  TestObject object(every_schema().type("t.Every"));
  std::string wire;
  for (int i = 0; i < 3000; ++i) wire += from_hex("ea06 0a 61626364656667686970");
  ASSERT_TRUE(object.decode(wire).ok());
  Encoded encoded;
  ASSERT_TRUE(encode(object.type(), object.get(), {}, &encoded).ok());
  EXPECT_GT(encoded.pieces().size(), 1u);
  size_t kept = encoded.buffer_bytes();
  const char* where = encoded.pieces().back().data;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(encode(object.type(), object.get(), {}, &encoded).ok());
    EXPECT_EQ(encoded.buffer_bytes(), kept);
    EXPECT_EQ(encoded.pieces().back().data, where);
  }
  EXPECT_EQ(object.encode(), wire);
}

TEST(Encode, TheOutputIsLimited) {
  TestObject object(every_schema().type("t.Every"));
  std::string wire = from_hex("4a 14") + std::string(20, 'x');
  ASSERT_TRUE(object.decode(wire).ok());
  for (size_t threshold : {size_t{1}, size_t{1000}}) {
    EXPECT_EQ(object.encode({.max_bytes = 22, .reference_threshold = threshold}), wire);
    EXPECT_EQ(object.encode({.max_bytes = 21, .reference_threshold = threshold}), "error: too_large in t.Every");
  }
}

TEST(Encode, NestingIsLimited) {
  TestObject object(every_schema().type("t.Every"));
  ASSERT_TRUE(object.decode(from_hex("5a 04 5a 02 28 01")).ok());
  EXPECT_EQ(object.encode({.depth_limit = 2}), from_hex("5a 04 5a 02 28 01"));
  EXPECT_EQ(object.encode({.depth_limit = 1}), "error: depth_limit in field 11 of t.Every");
}

TEST(Encode, MissingRequiredFieldsAreAnErrorWhenAsked) {
  TestObject object(every_schema().type("t.Required"));
  ASSERT_TRUE(object.decode(from_hex("08 01 12 02 08 02 1a 00")).ok());
  EXPECT_EQ(object.encode(), from_hex("08 01 12 02 08 02 1a 00"));
  EXPECT_EQ(object.encode({.check_required = true}), "error: missing_required in field 1 of t.Required");
  EXPECT_FALSE(message::is_initialized(object.type(), *object.get()));
  std::vector<std::string> paths;
  message::find_missing(object.type(), *object.get(), &paths);
  EXPECT_EQ(paths, std::vector<std::string>{"c[0].a"});
}

TEST(Encode, AnArrayOfTheRightSizeIsFilledAndASmallerOneRefused) {
  TestObject object(every_schema().type("t.Every"));
  std::string wire = from_hex("28 01 4a 03 616263 ca3e 08 0102030405060708");
  ASSERT_TRUE(object.decode(wire).ok());
  for (size_t room = 0; room < wire.size() + 5; ++room) {
    std::string out(room, '?');
    size_t written = 0;
    Encoded scratch;
    EncodeError error = encode_to_array(object.type(), object.get(), {}, &scratch, out.data(), room, &written);
    if (room < wire.size()) {
      EXPECT_EQ(error, EncodeError::kNoRoom);
    } else {
      EXPECT_EQ(error, EncodeError::kOk);
      EXPECT_EQ(out.substr(0, written), wire);
    }
  }
}

TEST(Encode, NegativeZeroIsAValueWhereZeroIsNone) {
  TestObject object(testing::implicit_schema().type("t3.Implicit"));
  std::string wire = from_hex("09 0000000000000080 15 00000080");
  ASSERT_TRUE(object.decode(wire + from_hex("28 00 4a 00 40 00")).ok());
  EXPECT_EQ(object.encode(), wire);
}

}  // namespace
}  // namespace drover
