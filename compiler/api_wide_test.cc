// One source, built twice: against Drover's generated classes and against protobuf C++'s. Both must pass.
// Enums that meet numbers they do not know, many has-bits, and far field numbers.
#include <gtest/gtest.h>

#include <string>

#include "compiler/api_testing.h"
#include "wide.pb.h"

namespace {

namespace three = ::drover_test::three;
namespace wide = ::drover_test::wide;
using api::bytes;

TEST(ApiClosedEnums, UnknownNumbersInMapsAreUnknownFields) {
  // closed_by_text: {"a": 7}, {"b": 99}; closed_by_number: {-1: 98}, {1: 3}
  std::string known = bytes("2a05 0a0161 1007 3204 0802 1003");
  std::string unknown = bytes("2a05 0a0162 1063 3204 0801 1062");
  wide::Mixed m;
  ASSERT_TRUE(m.ParseFromString(known + unknown));
  EXPECT_EQ(m.closed_by_text().size(), 1u);
  EXPECT_EQ(m.closed_by_text().at("a"), wide::HIGH);
  EXPECT_FALSE(m.closed_by_text().contains("b"));
  EXPECT_EQ(m.closed_by_number().at(1), wide::LOW);
  EXPECT_FALSE(m.closed_by_number().contains(-1));
  EXPECT_EQ(m.SerializeAsString(), known + unknown);
  EXPECT_EQ(m.ByteSizeLong(), known.size() + unknown.size());
  m.DiscardUnknownFields();
  EXPECT_EQ(m.SerializeAsString(), known);
}

TEST(ApiClosedEnums, UnknownNumbersInAMapTakeNoKnownOnesPlace) {
  wide::Mixed m;  // {"a": 7}, then {"a": 99}
  ASSERT_TRUE(m.ParseFromString(bytes("2a05 0a0161 1007 2a05 0a0161 1063")));
  EXPECT_EQ(m.closed_by_text().at("a"), wide::HIGH);
}

TEST(ApiClosedEnums, UnknownNumbersInFieldsAreUnknownFields) {
  wide::Mixed m;  // closed, closeds, packed_closeds, chosen_closed after chosen_text
  ASSERT_TRUE(m.ParseFromString(bytes("5063 5803 5863 5807 6203 036307 4a0174 4063")));
  EXPECT_FALSE(m.has_closed());
  EXPECT_EQ(m.closed(), wide::NONE);
  ASSERT_EQ(m.closeds_size(), 2);
  EXPECT_EQ(m.closeds(1), wide::HIGH);
  ASSERT_EQ(m.packed_closeds_size(), 2);
  EXPECT_EQ(m.packed_closeds(1), wide::HIGH);
  EXPECT_EQ(m.chosen_text(), "t");  // the oneof stays with what it held
  std::string left = m.SerializeAsString();
  for (const char* field : {"5063", "5863", "6063", "4063"}) {
    EXPECT_NE(left.find(bytes(field)), std::string::npos) << field;
  }
}

// protobuf C++ 3.21 goes by the file that declares the field: an enum of a proto3 file is closed in a proto2 message.
TEST(ApiClosedEnums, AnOpenEnumIsClosedInAProto2Message) {
  wide::Mixed m;
  ASSERT_TRUE(m.ParseFromString(bytes("0863 1001 1063 1a02 6301 3863")));
  EXPECT_FALSE(m.has_open());
  ASSERT_EQ(m.opens_size(), 1);
  EXPECT_EQ(m.opens(0), three::COLOR_RED);
  ASSERT_EQ(m.packed_opens_size(), 1);
  EXPECT_FALSE(m.has_chosen_open());
  wide::Mixed map;
  ASSERT_TRUE(map.ParseFromString(bytes("2204 0801 1063 2204 0802 1001")));
  EXPECT_FALSE(map.open_by_number().contains(1));
  EXPECT_EQ(map.open_by_number().at(2), three::COLOR_RED);
}

TEST(ApiWide, HasBitsBeyondTheFirstWords) {
  wide::Wide m;
  EXPECT_FALSE(m.has_f1() || m.has_f31() || m.has_f33() || m.has_f64() || m.has_f65() || m.has_f129() || m.has_f149());
  m.set_f149(1);
  m.set_f129(0);
  m.set_f65(0);
  m.set_f64(1);
  m.set_f31(0);
  m.set_f112("text");
  m.mutable_f150()->set_f149(2);
  wide::Wide copy = api::round_trip(m);
  EXPECT_TRUE(copy.has_f149() && copy.has_f129() && copy.has_f65() && copy.has_f64() && copy.has_f31());
  EXPECT_FALSE(copy.has_f1() || copy.has_f33() || copy.has_f148() || copy.has_f128() || copy.has_f63());
  EXPECT_EQ(copy.f112(), "text");
  EXPECT_EQ(copy.f150().f149(), 2u);
  copy.clear_f129();
  copy.clear_f64();
  EXPECT_FALSE(copy.has_f129() || copy.has_f64());
  EXPECT_TRUE(copy.has_f149() && copy.has_f65() && copy.has_f112());
  copy.Clear();
  EXPECT_EQ(copy.ByteSizeLong(), 0u);
}

TEST(ApiWide, NumbersUpToTheLargest) {
  static_assert(wide::Sparse::kS300FieldNumber == 536870911);
  wide::Sparse m;
  m.set_s1(1);
  m.set_s2("two");
  m.add_s3(-3);
  m.mutable_s6()->set_chosen_text("six");
  m.add_s299(7);
  m.add_s299(8);
  m.add_s300("the last");
  wide::Sparse copy = api::round_trip(m);
  EXPECT_EQ(copy.s1(), 1);
  EXPECT_EQ(copy.s6().chosen_text(), "six");
  ASSERT_EQ(copy.s299_size(), 2);
  EXPECT_EQ(copy.s299(1), 8);
  EXPECT_EQ(copy.s300(0), "the last");
}

}  // namespace
