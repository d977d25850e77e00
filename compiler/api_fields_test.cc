// One source, built twice: against Drover's generated classes and against protobuf C++'s. Both must pass.
// Accessors of singular fields, oneofs, enums, and the constants and types inside a class.
#include <google/protobuf/arena.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

#include "compiler/api_testing.h"
#include "imported.pb.h"
#include "proto2.pb.h"
#include "proto3.pb.h"

namespace {

using drover_test::three::Everything;
namespace three = ::drover_test::three;
namespace two = ::drover_test::two;
using Inner = Everything::Inner;

TEST(ApiFields, ScalarsOfEveryKind) {
#define EXPECT_SCALAR(NAME, TYPE, VALUE)                            \
  do {                                                              \
    Everything m;                                                   \
    static_assert(std::is_same_v<decltype(m.NAME()), TYPE>);        \
    EXPECT_EQ(m.NAME(), TYPE());                                    \
    m.set_##NAME(VALUE);                                            \
    EXPECT_EQ(api::round_trip(m).NAME(), static_cast<TYPE>(VALUE)); \
    m.clear_##NAME();                                               \
    EXPECT_EQ(m.NAME(), TYPE());                                    \
    EXPECT_EQ(m.ByteSizeLong(), 0u);                                \
  } while (false)
  EXPECT_SCALAR(flag, bool, true);
  EXPECT_SCALAR(i32, int32_t, -5);
  EXPECT_SCALAR(s32, int32_t, std::numeric_limits<int32_t>::min());
  EXPECT_SCALAR(u32, uint32_t, 4294967295u);
  EXPECT_SCALAR(f32, uint32_t, 5);
  EXPECT_SCALAR(sf32, int32_t, -5);
  EXPECT_SCALAR(i64, int64_t, -5);
  EXPECT_SCALAR(s64, int64_t, std::numeric_limits<int64_t>::min());
  EXPECT_SCALAR(u64, uint64_t, std::numeric_limits<uint64_t>::max());
  EXPECT_SCALAR(f64, uint64_t, 5);
  EXPECT_SCALAR(sf64, int64_t, -5);
  EXPECT_SCALAR(real, float, 1.5f);
  EXPECT_SCALAR(wide, double, -1e300);
  EXPECT_SCALAR(color, three::Color, three::COLOR_DARK);
  EXPECT_SCALAR(shape, Everything::Shape, Everything::SQUARE);
  EXPECT_SCALAR(far_number, int32_t, 1);
  EXPECT_SCALAR(weekday, drover_test::imported::Weekday, drover_test::imported::MONDAY);
}

TEST(ApiFields, StringsAreSetInEveryWay) {
  Everything m;
  EXPECT_EQ(m.text(), "");
  EXPECT_TRUE(m.text().empty());
  m.set_text("literal");
  EXPECT_EQ(m.text(), "literal");
  const char* pointer = "pointer";
  m.set_text(pointer);
  EXPECT_EQ(m.text(), "pointer");
  m.set_text("with a size", 6);
  EXPECT_EQ(m.text(), "with a");
  std::string kept = "kept";
  m.set_text(kept);
  m.set_text(std::move(kept));
  EXPECT_EQ(m.text(), "kept");
  m.set_text(std::string(1000, 'x'));
  EXPECT_EQ(m.text().size(), 1000u);
  m.set_text(std::string(std::string_view("a view")));
  EXPECT_EQ(m.text(), "a view");
  m.set_blob("a\0b", 3);
  EXPECT_EQ(m.blob(), std::string("a\0b", 3));
  unsigned char raw[2] = {0xff, 0};
  m.set_blob(raw, 2);
  EXPECT_EQ(m.blob().size(), 2u);
  m.set_maybe_text(m.text());
  EXPECT_EQ(m.maybe_text(), m.text());
  Everything copy = api::round_trip(m);
  EXPECT_EQ(copy.text(), "a view");
  EXPECT_EQ(copy.blob(), m.blob());
  m.clear_text();
  EXPECT_EQ(m.text(), "");
}

TEST(ApiFields, StringsAreReadLikeStdString) {
  Everything m;
  m.set_text("hello world");
  std::string copied = m.text();
  std::string assigned;
  assigned = m.text();
  const std::string& bound = m.text();
  std::string_view viewed = m.text();
  EXPECT_EQ(copied, assigned);
  EXPECT_EQ(bound, viewed);
  EXPECT_EQ(m.text() + "!", "hello world!");
  EXPECT_EQ("> " + m.text(), "> hello world");
  EXPECT_EQ(copied + m.text(), m.text() + copied);
  copied += m.text();
  EXPECT_EQ(m.text().substr(6), "world");
  EXPECT_EQ(m.text().find("world"), 6u);
  EXPECT_EQ(m.text().find('x'), std::string::npos);
  EXPECT_EQ(m.text().compare("hello world"), 0);
  EXPECT_EQ(m.text()[0], 'h');
  EXPECT_EQ(m.text().at(1), 'e');
  EXPECT_EQ(m.text().front(), 'h');
  EXPECT_EQ(m.text().back(), 'd');
  EXPECT_STREQ(m.text().c_str(), "hello world");
  EXPECT_EQ(std::string(m.text().begin(), m.text().end()), "hello world");
  EXPECT_EQ(std::string(m.text().data(), m.text().length()), "hello world");
  EXPECT_TRUE(m.text() < "i" && m.text() != "x" && std::string("a") < m.text());
  std::ostringstream out;
  out << m.text();
  EXPECT_EQ(out.str(), m.text());
  auto take = [](const std::string& text) { return text.size(); };
  EXPECT_EQ(take(m.text()), 11u);
  EXPECT_EQ(std::hash<std::string>()(m.text()), std::hash<std::string>()("hello world"));
  m.set_text("12");
  EXPECT_EQ(std::stoi(m.text()), 12);
}

TEST(ApiFields, StringsAreChangedInPlace) {
  Everything m;
  m.mutable_text()->append("abc");
  *m.mutable_text() += "def";
  m.mutable_text()->push_back('g');
  EXPECT_EQ(m.text(), "abcdefg");
  m.mutable_text()->erase(0, 2);
  m.mutable_text()->insert(0, "AB");
  m.mutable_text()->replace(2, 1, "C!");
  EXPECT_EQ(m.text(), "ABC!defg");
  m.mutable_text()->resize(3);
  m.mutable_text()->pop_back();
  (*m.mutable_text())[0] = 'x';
  m.mutable_text()->front() = 'y';
  EXPECT_EQ(m.text(), "yB");
  m.mutable_text()->assign(3, 'z');
  m.mutable_text()->at(1) = 'y';
  EXPECT_EQ(m.text(), "zyz");
  m.mutable_text()->assign("cut off", 3);
  m.mutable_text()->reserve(100);
  EXPECT_GE(m.text().capacity(), 100u);
  EXPECT_EQ(m.text(), "cut");
  std::string other = "other";
  m.mutable_text()->swap(other);
  EXPECT_EQ(m.text(), "other");
  EXPECT_EQ(other, "cut");
  for (char& c : *m.mutable_text()) c = 'o';
  EXPECT_EQ(m.text(), "ooooo");
  m.mutable_text()->clear();
  EXPECT_EQ(m.text(), "");
}

TEST(ApiFields, StringsAreReleasedAndTakenOver) {
  Everything m;
  m.set_text("released");
  std::unique_ptr<std::string> text(m.release_text());
  EXPECT_EQ(*text, "released");
  EXPECT_EQ(m.text(), "");
  m.set_allocated_text(text.release());
  EXPECT_EQ(m.text(), "released");
  m.set_allocated_text(nullptr);
  EXPECT_EQ(m.text(), "");
  EXPECT_EQ(m.release_maybe_text(), nullptr);
  EXPECT_EQ(m.release_choice_text(), nullptr);
  m.set_choice_text("chosen");
  text.reset(m.release_choice_text());
  EXPECT_EQ(*text, "chosen");
  EXPECT_EQ(m.choice_case(), Everything::CHOICE_NOT_SET);
  m.set_allocated_choice_text(text.release());
  EXPECT_EQ(m.choice_text(), "chosen");
  m.set_allocated_choice_text(nullptr);
  EXPECT_FALSE(m.has_choice_text());
  two::Defaults d;
  EXPECT_EQ(d.release_text(), nullptr);
  d.set_text("set");
  text.reset(d.release_text());
  EXPECT_EQ(*text, "set");
  EXPECT_FALSE(d.has_text());
}

TEST(ApiFields, OptionalFieldsHavePresence) {
  Everything m;
  EXPECT_FALSE(m.has_maybe_flag() || m.has_maybe_i32() || m.has_maybe_text() || m.has_maybe_inner() ||
               m.has_maybe_color() || m.has_maybe_wide());
  m.set_maybe_i32(0);
  m.set_maybe_text("");
  m.set_maybe_color(three::COLOR_NONE);
  m.mutable_maybe_inner();
  Everything copy = api::round_trip(m);
  EXPECT_TRUE(copy.has_maybe_i32() && copy.has_maybe_text() && copy.has_maybe_inner() && copy.has_maybe_color());
  copy.clear_maybe_i32();
  copy.clear_maybe_text();
  copy.clear_maybe_inner();
  copy.clear_maybe_color();
  EXPECT_EQ(copy.ByteSizeLong(), 0u);
}

TEST(ApiFields, SubMessages) {
  Everything m;
  EXPECT_FALSE(m.has_inner());
  EXPECT_EQ(m.inner().id(), 0);
  EXPECT_EQ(&m.inner(), &Inner::default_instance());
  m.mutable_inner()->mutable_deepest()->set_blob("b");
  Inner* stays = m.mutable_inner();
  stays->set_id(1);
  EXPECT_EQ(m.inner().id(), 1);
  EXPECT_EQ(&m.inner(), stays);
  *m.mutable_inner() = Inner();
  EXPECT_TRUE(m.has_inner());
  m.mutable_inner()->set_id(5);
  std::unique_ptr<Inner> released(m.release_inner());
  EXPECT_EQ(released->id(), 5);
  EXPECT_FALSE(m.has_inner());
  EXPECT_EQ(m.release_inner(), nullptr);
  m.set_allocated_inner(released.release());
  EXPECT_EQ(m.inner().id(), 5);
  m.set_allocated_inner(nullptr);
  EXPECT_FALSE(m.has_inner());
  google::protobuf::Arena arena;
  auto* holder = google::protobuf::Arena::CreateMessage<Everything>(&arena);
  auto* part = google::protobuf::Arena::CreateMessage<Inner>(&arena);
  part->set_id(6);
  holder->unsafe_arena_set_allocated_inner(part);
  EXPECT_EQ(holder->inner().id(), 6);
  const Inner* stays_in_arena = &holder->inner();
  EXPECT_EQ(holder->unsafe_arena_release_inner(), stays_in_arena);
  EXPECT_EQ(stays_in_arena->id(), 6);
  EXPECT_FALSE(holder->has_inner());
  EXPECT_EQ(holder->unsafe_arena_release_inner(), nullptr);
  EXPECT_EQ(holder->unsafe_arena_release_choice_inner(), nullptr);
  holder->mutable_choice_inner()->set_id(7);
  EXPECT_EQ(holder->unsafe_arena_release_choice_inner()->id(), 7);
  EXPECT_EQ(holder->choice_case(), Everything::CHOICE_NOT_SET);
  // Outside an arena it is the caller's, as protobuf's is.
  m.mutable_inner()->set_id(8);
  std::unique_ptr<Inner> owned(m.unsafe_arena_release_inner());
  EXPECT_EQ(owned->id(), 8);
  EXPECT_FALSE(m.has_inner());
}

TEST(ApiFields, OneofsHoldOneMember) {
  Everything m;
  static_assert(std::is_enum_v<Everything::ChoiceCase>);
  EXPECT_EQ(m.choice_case(), Everything::CHOICE_NOT_SET);
  EXPECT_EQ(static_cast<int>(Everything::kChoiceText), 82);
  EXPECT_EQ(static_cast<int>(Everything::SMALL_CHOICE_NOT_SET), 0);
  m.set_choice_i32(1);
  EXPECT_TRUE(m.has_choice_i32());
  m.set_choice_text("text");
  EXPECT_FALSE(m.has_choice_i32());
  EXPECT_EQ(m.choice_i32(), 0);
  m.set_choice_text("t", 1);
  m.mutable_choice_text()->append("!");
  EXPECT_EQ(m.choice_text(), "t!");
  m.mutable_choice_inner()->set_id(2);
  EXPECT_EQ(m.choice_text(), "");
  EXPECT_EQ(api::round_trip(m).choice_inner().id(), 2);
  m.set_choice_color(three::COLOR_RED);
  EXPECT_EQ(&m.choice_inner(), &Inner::default_instance());
  EXPECT_EQ(m.choice_color(), three::COLOR_RED);
  m.clear_choice_text();  // not the one that is set
  EXPECT_EQ(m.choice_case(), Everything::kChoiceColor);
  m.clear_choice_color();
  EXPECT_EQ(m.choice_case(), Everything::CHOICE_NOT_SET);
  m.set_choice_wide(1.5);
  m.clear_choice();
  EXPECT_FALSE(m.has_choice_wide());
  m.set_yes(true);
  switch (m.Small_choice_case()) {
    case Everything::kYes:
      m.clear_Small_choice();
      break;
    case Everything::kMaybe:
    case Everything::SMALL_CHOICE_NOT_SET:
      ADD_FAILURE();
  }
  EXPECT_FALSE(m.has_yes());
}

TEST(ApiFields, EnumsHaveTheirHelpers) {
  EXPECT_EQ(three::Color_Name(three::COLOR_RED), "COLOR_RED");
  EXPECT_EQ(three::Color_Name(-5), "COLOR_DARK");
  EXPECT_EQ(three::Color_Name(2), "");
  three::Color color;
  EXPECT_TRUE(three::Color_Parse("COLOR_CRIMSON", &color));
  EXPECT_EQ(color, three::COLOR_CRIMSON);
  EXPECT_TRUE(three::Color_Parse(std::string("COLOR_LAST"), &color));
  EXPECT_FALSE(three::Color_Parse("NONE", &color));
  EXPECT_TRUE(three::Color_IsValid(1000));
  EXPECT_FALSE(three::Color_IsValid(999));
  static_assert(three::Color_MIN == three::COLOR_DARK && three::Color_MAX == three::COLOR_LAST);
  static_assert(three::Color_ARRAYSIZE == 1001);
  static_assert(std::is_same_v<Everything::Shape, three::Everything_Shape>);
  static_assert(Everything::SQUARE == three::Everything_Shape_SQUARE);
  static_assert(Everything::Shape_MIN == Everything::ROUND && Everything::Shape_MAX == Everything::SQUARE);
  static_assert(Everything::Shape_ARRAYSIZE == 5);
  // A nested enum may have values of these names.
  static_assert(three::Range::MIN == 0 && three::Range::MAX == 3 && three::Range::ARRAYSIZE == 1);
  static_assert(three::Range_Bound_MAX == 3 && three::Range_Bound_Bound_MAX == 3);
  static_assert(three::Range::Bound_MIN == three::Range::MIN && three::Range::Bound_ARRAYSIZE == 4);
  EXPECT_EQ(Everything::Shape_Name(Everything::SQUARE), "SQUARE");
  Everything::Shape shape;
  EXPECT_TRUE(Everything::Shape_Parse("ROUND", &shape));
  EXPECT_TRUE(Everything::Shape_IsValid(4));
  EXPECT_FALSE(Everything::Shape_IsValid(3));
  switch (color) {
    case three::COLOR_NONE:
    case three::COLOR_RED:
    case three::COLOR_DARK:
      ADD_FAILURE();
      break;
    case three::COLOR_LAST:
      break;
    default:
      ADD_FAILURE();
  }
}

TEST(ApiFields, NestedTypesAndConstants) {
  static_assert(std::is_same_v<Everything::Inner::Deepest, three::Everything_Inner_Deepest>);
  static_assert(Everything::kI32FieldNumber == 2 && Everything::kFarNumberFieldNumber == 536870911);
  static_assert(Everything::kMaybeWideFieldNumber == 36 && Everything::kByI32FieldNumber == 61);
  static_assert(two::Around::kSingleFieldNumber == 6);
  static_assert(std::is_same_v<two::Around::Single, two::Around_Single>);
}

TEST(ApiFields, DefaultsAndGroups) {
  two::Defaults m;
  EXPECT_EQ(m.i32(), -42);
  EXPECT_EQ(m.u64(), std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(std::isinf(m.infinite()) && std::isnan(m.not_a_number()));
  EXPECT_TRUE(m.flag());
  EXPECT_EQ(m.text(), "say \"hi\"\n\001?");
  EXPECT_EQ(m.level(), two::HIGH);
  EXPECT_EQ(m.first_level(), two::LOW);
  EXPECT_EQ(m.one_text(), "five");
  m.mutable_text()->append("!");
  EXPECT_EQ(m.text(), "say \"hi\"\n\001?!");
  m.clear_text();
  EXPECT_EQ(m.text(), "say \"hi\"\n\001?");
  m.set_flag(false);
  EXPECT_FALSE(api::round_trip(m).flag());
  two::Around around;
  around.mutable_single()->set_x(1);
  around.add_many()->set_y("y");
  EXPECT_EQ(api::round_trip(around).many(0).y(), "y");
  std::unique_ptr<two::Around::Single> single(around.release_single());
  EXPECT_EQ(single->x(), 1);
  around.set_allocated_single(single.release());
  EXPECT_TRUE(around.has_single());
}

TEST(ApiFields, NamesThatClash) {
  three::Keywords m;
  m.set_class_(1);
  m.add_int_(2);
  m.set_union_(true);
  m.set_type(three::Keywords::NULL_);
  m.mutable_string()->set_string("s");
  EXPECT_EQ(m.operator_case(), three::Keywords::kUnion);
  EXPECT_EQ(three::Keywords::kFieldWith2Numbers3FourFieldNumber, 14);
  EXPECT_EQ(api::round_trip(m).string().string(), "s");
}

}  // namespace
