// Accessor by accessor beside protobuf C++: each field of an arbitrary message reads the same through Drover's class,
// and a message that is built through Drover's setters is the same message to protobuf.
//
// Each type's fields are listed once, as X(shape, name); a shape says how such a field is compared and how it is set:
//   Plain     a scalar, string or enum without presence      Optional    one with presence, or a member of a oneof
//   Sub       a sub-message, anywhere                        Oneof       which member is set
//   Repeated  of scalars, strings or enums                   Subs        of sub-messages
//   Map       to scalars, strings or enums                   MapOfSubs   to sub-messages
//   MinusZero an Optional whose default is -0.0: protobuf C++ 3.21 generates `-0` for it, which is +0.0 when unset
#include <google/protobuf/any.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <set>
#include <string>
#include <type_traits>

#include "beside/google/protobuf/any.pb.h"
#include "beside/google/protobuf/timestamp.pb.h"
#include "beside/google/protobuf/wrappers.pb.h"
#include "beside/proto2.pb.h"
#include "beside/proto3.pb.h"
#include "compiler/peer_testing.h"
#include "proto2.pb.h"
#include "proto3.pb.h"

namespace drover {
namespace {

using testing::Maps;

// clang-format off
#define EVERYTHING(X) \
  X(Plain, flag) X(Plain, i32) X(Plain, s32) X(Plain, u32) X(Plain, f32) X(Plain, sf32) X(Plain, i64) X(Plain, s64) \
  X(Plain, u64) X(Plain, f64) X(Plain, sf64) X(Plain, real) X(Plain, wide) X(Plain, text) X(Plain, blob) \
  X(Plain, color) X(Plain, shape) X(Sub, inner) X(Sub, self) X(Sub, point) X(Sub, label) X(Plain, weekday) \
  X(Optional, maybe_flag) X(Optional, maybe_i32) X(Optional, maybe_text) X(Sub, maybe_inner) \
  X(Optional, maybe_color) X(Optional, maybe_wide) \
  X(Repeated, flags) X(Repeated, i32s) X(Repeated, s64s) X(Repeated, f32s) X(Repeated, wides) X(Repeated, texts) \
  X(Repeated, blobs) X(Repeated, colors) X(Subs, inners) X(Repeated, reals) X(Repeated, u64s) \
  X(Map, by_i32) X(Map, by_i64) X(Map, by_u32) X(MapOfSubs, by_u64) X(Map, by_s32) X(Map, by_s64) X(Map, by_f32) \
  X(Map, by_f64) X(Map, by_sf32) X(MapOfSubs, by_sf64) X(Map, by_flag) X(MapOfSubs, by_text) X(Map, counts) \
  X(Oneof, choice) X(Optional, choice_i32) X(Optional, choice_text) X(Sub, choice_inner) X(Optional, choice_flag) \
  X(Optional, choice_color) X(Optional, choice_blob) X(Optional, choice_wide) \
  X(Oneof, Small_choice) X(Optional, yes) X(Optional, maybe) \
  X(Sub, at) X(Sub, any) X(Sub, wrapped) X(Plain, far_number)
#define KEYWORDS(X) \
  X(Plain, class_) X(Plain, namespace_) X(Repeated, int_) X(Sub, template_) X(Oneof, operator) X(Optional, union_) \
  X(Optional, new_) X(Plain, has_bits) X(Plain, oneof_case) X(Plain, value) X(Plain, size) X(Plain, camelcase) \
  X(Plain, x) X(Plain, field_with_2_numbers3four) X(Map, delete_) X(Plain, type) X(Sub, string) X(Optional, index) \
  X(Plain, arena) X(Plain, copy)
#define DEFAULTS(X) \
  X(Optional, i32) X(Optional, i64) X(Optional, u32) X(Optional, u64) X(Optional, real) X(Optional, infinite) \
  X(Optional, wide) X(Optional, not_a_number) X(Optional, flag) X(Optional, text) X(Optional, blob) \
  X(Optional, level) X(Optional, first_level) X(Optional, plain) X(Optional, off) X(Optional, least) X(Oneof, one) \
  X(Optional, one_i32) X(Optional, one_text) X(Optional, one_level) X(Sub, onegroup) X(MinusZero, minus_zero)
#define AROUND(X) \
  X(MapOfSubs, needs) X(Subs, more) X(Repeated, packed) X(Repeated, unpacked) X(Repeated, levels) X(Sub, single) \
  X(Subs, many)

// All types, those that others hold first.
#define TYPES(T) \
  T(drover_test::imported::Point::Label, LABEL) T(drover_test::imported::Point, POINT) \
  T(google::protobuf::Timestamp, TIMESTAMP) T(google::protobuf::Any, ANY) \
  T(google::protobuf::StringValue, STRING_VALUE) T(drover_test::three::Everything::Inner::Deepest, DEEPEST) \
  T(drover_test::three::Everything::Inner, INNER) T(drover_test::three::Everything, EVERYTHING) \
  T(drover_test::three::Empty, EMPTY) T(drover_test::three::Keywords::String, STRING) \
  T(drover_test::three::Keywords, KEYWORDS) T(drover_test::two::Defaults::OneGroup, ONE_GROUP) \
  T(drover_test::two::Defaults, DEFAULTS) T(drover_test::two::Needs, NEEDS) \
  T(drover_test::two::Around::Single, SINGLE) T(drover_test::two::Around::Many, MANY) \
  T(drover_test::two::Around, AROUND) T(drover_test::two::FarAway, FAR_AWAY)
#define LABEL(X) X(Plain, text)
#define POINT(X) X(Plain, x) X(Plain, y) X(Sub, label)
#define TIMESTAMP(X) X(Plain, seconds) X(Plain, nanos)
#define ANY(X) X(Plain, type_url) X(Plain, value)
#define STRING_VALUE(X) X(Plain, value)
#define DEEPEST(X) X(Plain, blob)
#define INNER(X) X(Plain, id) X(Plain, note) X(Sub, parent) X(Sub, deepest) X(Subs, children)
#define EMPTY(X)
#define STRING(X) X(Plain, string)
#define ONE_GROUP(X) X(Optional, a)
#define NEEDS(X) X(Optional, id) X(Optional, name) X(Sub, next)
#define SINGLE(X) X(Optional, x)
#define MANY(X) X(Optional, y)
#define FAR_AWAY(X) X(Sub, point) X(Optional, sparse) X(Optional, sparser)
// clang-format on

#define DECLARE(TYPE, FIELDS)                                      \
  void check_same(const ::beside::TYPE& ours, const ::TYPE& peer); \
  void build(const ::TYPE& peer, ::beside::TYPE* ours);
TYPES(DECLARE)

// ---- one value

// Reals are the same if their bits are.
template <typename Ours, typename Peer>
bool same(const Ours& ours, const Peer& peer) {
  if constexpr (std::is_enum_v<Ours>) {
    return static_cast<int>(ours) == static_cast<int>(peer);
  } else if constexpr (std::is_floating_point_v<Ours>) {
    using Bits = std::conditional_t<sizeof(Ours) == 4, uint32_t, uint64_t>;
    static_assert(std::is_same_v<Ours, Peer>);
    return std::bit_cast<Bits>(ours) == std::bit_cast<Bits>(peer);
  } else {
    static_assert(std::is_same_v<Ours, Peer> || std::is_same_v<Ours, String>);
    return ours == peer;
  }
}

// What a setter for a `To` takes: protobuf's enums become Drover's, all else stays.
template <typename To, typename From>
decltype(auto) as(const From& from) {
  if constexpr (std::is_enum_v<From>) {
    return static_cast<std::remove_cvref_t<To>>(from);
  } else {
    return (from);
  }
}

// Every entry of protobuf's map is found in ours, and iteration over ours meets no other.
template <typename Ours, typename Peer, typename Check>
void check_same_map(const Ours& ours, const Peer& peer, Check check_value) {
  for (const auto& [key, value] : peer) {
    auto found = ours.find(key);
    RC_ASSERT((found != ours.end()));
    RC_ASSERT(same(found->first, key));
    check_value(found->second, value);
  }
  size_t met = 0;
  for (const auto& entry : ours) {
    (void)entry;
    ++met;
  }
  RC_ASSERT(met == peer.size());
}

std::string unknown_fields(const google::protobuf::Message& message) {
  std::string wire;
  message.GetReflection()->GetUnknownFields(message).SerializeToString(&wire);
  return wire;
}

// ---- one field of each shape

#define COMPARE_Plain(NAME) RC_ASSERT(same(ours.NAME(), peer.NAME()));
#define COMPARE_Optional(NAME)                       \
  RC_ASSERT(ours.has_##NAME() == peer.has_##NAME()); \
  RC_ASSERT(same(ours.NAME(), peer.NAME()));
#define COMPARE_MinusZero(NAME)                      \
  RC_ASSERT(ours.has_##NAME() == peer.has_##NAME()); \
  RC_ASSERT(same(ours.NAME(), peer.has_##NAME() ? peer.NAME() : -0.0));
#define COMPARE_Sub(NAME)                            \
  RC_ASSERT(ours.has_##NAME() == peer.has_##NAME()); \
  if (peer.has_##NAME()) {                           \
    check_same(ours.NAME(), peer.NAME());            \
  } else {                                           \
    RC_ASSERT(ours.NAME().ByteSizeLong() == 0u);     \
  }
#define COMPARE_Oneof(NAME) RC_ASSERT(static_cast<int>(ours.NAME##_case()) == static_cast<int>(peer.NAME##_case()));
#define COMPARE_Repeated(NAME)                         \
  RC_ASSERT(ours.NAME##_size() == peer.NAME##_size()); \
  for (int i = 0; i < peer.NAME##_size(); ++i) {       \
    RC_ASSERT(same(ours.NAME(i), peer.NAME(i)));       \
  }
#define COMPARE_Subs(NAME)                             \
  RC_ASSERT(ours.NAME##_size() == peer.NAME##_size()); \
  for (int i = 0; i < peer.NAME##_size(); ++i) check_same(ours.NAME(i), peer.NAME(i));
#define COMPARE_Map(NAME)                              \
  RC_ASSERT(ours.NAME##_size() == peer.NAME##_size()); \
  check_same_map(ours.NAME(), peer.NAME(), [](const auto& a, const auto& b) { RC_ASSERT(same(a, b)); });
#define COMPARE_MapOfSubs(NAME)                        \
  RC_ASSERT(ours.NAME##_size() == peer.NAME##_size()); \
  check_same_map(ours.NAME(), peer.NAME(), [](const auto& a, const auto& b) { check_same(a, b); });

#define BUILD_Plain(NAME) ours->set_##NAME(as<decltype(ours->NAME())>(peer.NAME()));
#define BUILD_Optional(NAME) \
  if (peer.has_##NAME()) ours->set_##NAME(as<decltype(ours->NAME())>(peer.NAME()));
#define BUILD_MinusZero(NAME) BUILD_Optional(NAME)
#define BUILD_Sub(NAME) \
  if (peer.has_##NAME()) build(peer.NAME(), ours->mutable_##NAME());
#define BUILD_Oneof(NAME)
#define BUILD_Repeated(NAME) \
  for (int i = 0; i < peer.NAME##_size(); ++i) ours->add_##NAME(as<decltype(ours->NAME(0))>(peer.NAME(i)));
#define BUILD_Subs(NAME) \
  for (const auto& each : peer.NAME()) build(each, ours->add_##NAME());
#define BUILD_Map(NAME)                          \
  for (const auto& [key, value] : peer.NAME()) { \
    auto& slot = (*ours->mutable_##NAME())[key]; \
    slot = as<decltype(slot)>(value);            \
  }
#define BUILD_MapOfSubs(NAME) \
  for (const auto& [key, value] : peer.NAME()) build(value, &(*ours->mutable_##NAME())[key]);

#define COMPARE(SHAPE, NAME) COMPARE_##SHAPE(NAME)
#define BUILD(SHAPE, NAME) BUILD_##SHAPE(NAME)
#define DEFINE(TYPE, FIELDS)                                        \
  void check_same(const ::beside::TYPE& ours, const ::TYPE& peer) { \
    FIELDS(COMPARE)                                                 \
    RC_ASSERT(ours.unknown_fields() == unknown_fields(peer));       \
  }                                                                 \
  void build([[maybe_unused]] const ::TYPE& peer, [[maybe_unused]] ::beside::TYPE* ours) { FIELDS(BUILD) }
TYPES(DEFINE)

// ---- the properties

template <typename Ours, typename Peer>
void read_alike() {
  auto peer = testing::any_message<Peer>(Maps::kSome);
  testing::clear_extensions(&peer);
  Ours ours;
  RC_ASSERT(ours.ParsePartialFromString(peer.SerializePartialAsString()));
  check_same(ours, peer);
  check_same(Ours(ours), peer);
}

// Setters know no unknown fields, so these are left out.
template <typename Ours, typename Peer>
void build_alike(Maps maps) {
  auto peer = testing::any_message<Peer>(maps);
  peer.DiscardUnknownFields();
  testing::clear_extensions(&peer);
  Ours ours;
  build(peer, &ours);
  check_same(ours, peer);
  RC_ASSERT(ours.ByteSizeLong() == peer.ByteSizeLong());
  std::string wire = ours.SerializePartialAsString();
  if (maps == Maps::kNone) RC_ASSERT(wire == peer.SerializePartialAsString());
  Peer back;
  RC_ASSERT(back.ParsePartialFromString(wire));
  RC_ASSERT(testing::difference(peer, back) == "");
}

RC_GTEST_PROP(BesideProtobuf, Proto3FieldsReadTheSame, ()) {
  read_alike<beside::drover_test::three::Everything, drover_test::three::Everything>();
}
RC_GTEST_PROP(BesideProtobuf, Proto3KeywordFieldsReadTheSame, ()) {
  read_alike<beside::drover_test::three::Keywords, drover_test::three::Keywords>();
}
RC_GTEST_PROP(BesideProtobuf, Proto2FieldsReadTheSame, ()) {
  read_alike<beside::drover_test::two::Defaults, drover_test::two::Defaults>();
  read_alike<beside::drover_test::two::FarAway, drover_test::two::FarAway>();
}
RC_GTEST_PROP(BesideProtobuf, Proto2GroupsAndMapsReadTheSame, ()) {
  read_alike<beside::drover_test::two::Around, drover_test::two::Around>();
}
RC_GTEST_PROP(BesideProtobuf, Proto3MessagesAreBuiltTheSame, ()) {
  build_alike<beside::drover_test::three::Everything, drover_test::three::Everything>(Maps::kNone);
}
RC_GTEST_PROP(BesideProtobuf, Proto3MessagesWithMapsAreBuiltTheSame, ()) {
  build_alike<beside::drover_test::three::Everything, drover_test::three::Everything>(Maps::kSome);
}
RC_GTEST_PROP(BesideProtobuf, Proto3KeywordsAreBuiltTheSame, ()) {
  build_alike<beside::drover_test::three::Keywords, drover_test::three::Keywords>(Maps::kSome);
}
RC_GTEST_PROP(BesideProtobuf, Proto2MessagesAreBuiltTheSame, ()) {
  build_alike<beside::drover_test::two::Defaults, drover_test::two::Defaults>(Maps::kNone);
  build_alike<beside::drover_test::two::FarAway, drover_test::two::FarAway>(Maps::kNone);
}
RC_GTEST_PROP(BesideProtobuf, Proto2GroupsAreBuiltTheSame, ()) {
  build_alike<beside::drover_test::two::Around, drover_test::two::Around>(Maps::kNone);
}
RC_GTEST_PROP(BesideProtobuf, Proto2GroupsAndMapsAreBuiltTheSame, ()) {
  build_alike<beside::drover_test::two::Around, drover_test::two::Around>(Maps::kSome);
}

// A field that is added to a .proto has to be added here.
TEST(BesideProtobuf, NoFieldIsLeftOut) {
  auto expect_all = [](const google::protobuf::Descriptor* type, const std::set<std::string>& listed) {
    for (int i = 0; i < type->field_count(); ++i) {
      const std::string& name = type->field(i)->lowercase_name();
      EXPECT_TRUE(listed.contains(name) || listed.contains(name + "_")) << type->field(i)->full_name();
    }
    for (int i = 0; i < type->real_oneof_decl_count(); ++i) {
      EXPECT_TRUE(listed.contains(type->oneof_decl(i)->name())) << type->oneof_decl(i)->full_name();
    }
  };
#define LISTED(SHAPE, NAME) #NAME,
#define EXPECT_ALL(TYPE, FIELDS) expect_all(::TYPE::descriptor(), {FIELDS(LISTED)});
  TYPES(EXPECT_ALL)
}

}  // namespace
}  // namespace drover
