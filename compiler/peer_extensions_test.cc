// Extensions beside protobuf C++: each reads the same through Drover's accessors as through protobuf's, and a message
// that is built through Drover's is the same message to protobuf, byte for byte.
//
// The extensions are listed once, as X(shape, identifier); a shape says how one is compared and set.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <string>
#include <type_traits>

#include "beside/extensions.pb.h"
#include "compiler/peer_testing.h"
#include "extensions.pb.h"

namespace drover {
namespace {

namespace ext = ::drover_test::ext;
using testing::Maps;

// clang-format off
#define BASE(X) \
  X(Scalar, one_bool) X(Scalar, one_int32) X(Scalar, one_sint32) X(Scalar, one_uint32) X(Scalar, one_fixed32) \
  X(Scalar, one_sfixed32) X(Scalar, one_int64) X(Scalar, one_sint64) X(Scalar, one_uint64) X(Scalar, one_fixed64) \
  X(Scalar, one_sfixed64) X(Scalar, one_float) X(Scalar, one_double) X(Scalar, one_string) X(Scalar, one_bytes) \
  X(Scalar, one_enum) X(Scalar, one_open_enum) X(Message, one_message) X(Message, onegroup) X(Message, one_strict) \
  X(Many, many_bool) X(Many, many_int32) X(Many, many_sint64) X(Many, many_fixed32) X(Many, many_double) \
  X(Many, many_string) X(Many, many_bytes) X(Many, many_enum) X(Messages, many_message) X(Messages, manygroup) \
  X(Many, packed_int32) X(Many, packed_float) X(Many, packed_enum) X(Many, packed_bool) X(Scalar, class_) \
  X(Message, imported_message) X(Scalar, Scope::nested_int32) X(Many, Scope::nested_strings) \
  X(Message, Scope::nested_scope) X(Scalar, far)
#define SET(X) X(Message, First::message_set_extension) X(Message, second) X(Message, strict_in_set)
// clang-format on

template <typename Ours, typename Peer>
bool same(const Ours& ours, const Peer& peer) {
  if constexpr (std::is_enum_v<Ours>) {
    return static_cast<int>(ours) == static_cast<int>(peer);
  } else if constexpr (std::is_floating_point_v<Ours>) {
    using Bits = std::conditional_t<sizeof(Ours) == 4, uint32_t, uint64_t>;
    return std::bit_cast<Bits>(ours) == std::bit_cast<Bits>(peer);
  } else {
    return ours == peer;
  }
}
template <typename Id, typename From>
auto as(const Id&, const From& from) {
  if constexpr (std::is_enum_v<From>) {
    return static_cast<typename Id::Value>(from);
  } else {
    return from;
  }
}
// Messages are compared by their bytes, and made from them.
template <typename Ours, typename Peer>
bool same_message(const Ours& ours, const Peer& peer) {
  return ours.SerializePartialAsString() == peer.SerializePartialAsString();
}
template <typename Ours, typename Peer>
Ours made_from(const Ours&, const Peer& peer) {
  Ours made;
  RC_ASSERT(made.ParsePartialFromString(peer.SerializePartialAsString()));
  return made;
}

#define OURS(NAME) ::beside::drover_test::ext::NAME
#define PEER(NAME) ::drover_test::ext::NAME

#define COMPARE_Scalar(NAME)                                                 \
  RC_ASSERT(ours.HasExtension(OURS(NAME)) == peer.HasExtension(PEER(NAME))); \
  RC_ASSERT(same(ours.GetExtension(OURS(NAME)), peer.GetExtension(PEER(NAME))));
#define COMPARE_Message(NAME)                                                \
  RC_ASSERT(ours.HasExtension(OURS(NAME)) == peer.HasExtension(PEER(NAME))); \
  RC_ASSERT(same_message(ours.GetExtension(OURS(NAME)), peer.GetExtension(PEER(NAME))));
#define COMPARE_Many(NAME)                                                     \
  RC_ASSERT(ours.ExtensionSize(OURS(NAME)) == peer.ExtensionSize(PEER(NAME))); \
  for (int i = 0; i < peer.ExtensionSize(PEER(NAME)); ++i)                     \
    RC_ASSERT(same(ours.GetExtension(OURS(NAME), i), peer.GetExtension(PEER(NAME), i)));
#define COMPARE_Messages(NAME)                                                 \
  RC_ASSERT(ours.ExtensionSize(OURS(NAME)) == peer.ExtensionSize(PEER(NAME))); \
  for (int i = 0; i < peer.ExtensionSize(PEER(NAME)); ++i)                     \
    RC_ASSERT(same_message(ours.GetExtension(OURS(NAME), i), peer.GetExtension(PEER(NAME), i)));

#define BUILD_Scalar(NAME) \
  if (peer.HasExtension(PEER(NAME))) ours->SetExtension(OURS(NAME), as(OURS(NAME), peer.GetExtension(PEER(NAME))));
#define BUILD_Message(NAME)          \
  if (peer.HasExtension(PEER(NAME))) \
    ours->SetExtension(OURS(NAME), made_from(ours->GetExtension(OURS(NAME)), peer.GetExtension(PEER(NAME))));
#define BUILD_Many(NAME)                                   \
  for (int i = 0; i < peer.ExtensionSize(PEER(NAME)); ++i) \
    ours->AddExtension(OURS(NAME), as(OURS(NAME), peer.GetExtension(PEER(NAME), i)));
#define BUILD_Messages(NAME)                               \
  for (int i = 0; i < peer.ExtensionSize(PEER(NAME)); ++i) \
    ours->AddExtension(OURS(NAME),                         \
                       made_from(std::decay_t<decltype(OURS(NAME))>::Value(), peer.GetExtension(PEER(NAME), i)));

#define COMPARE(SHAPE, NAME) COMPARE_##SHAPE(NAME)
#define BUILD(SHAPE, NAME) BUILD_##SHAPE(NAME)

void check_same(const OURS(Base) & ours, const PEER(Base) & peer) { BASE(COMPARE) }
void check_same(const OURS(Set) & ours, const PEER(Set) & peer) { SET(COMPARE) }
void build(const PEER(Base) & peer, OURS(Base) * ours) {
  if (peer.has_first()) ours->set_first(peer.first());
  if (peer.has_last()) ours->set_last(peer.last());
  BASE(BUILD)
}
void build(const PEER(Set) & peer, OURS(Set) * ours) { SET(BUILD) }

// protobuf C++ writes extensions by number among the fields, and knows which are unknown; Drover keeps the bytes as
// they came. They say the same.
template <typename Ours, typename Peer>
void read_alike() {
  auto peer = testing::any_message<Peer>(Maps::kNone);
  std::string wire = peer.SerializePartialAsString();
  Ours ours;
  RC_ASSERT(ours.ParsePartialFromString(wire));
  check_same(ours, peer);
  RC_ASSERT(ours.DebugString() == peer.DebugString());
  RC_ASSERT(ours.ShortDebugString() == peer.ShortDebugString());
  RC_ASSERT(ours.IsInitialized() == peer.IsInitialized());
  RC_ASSERT(ours.InitializationErrorString() == peer.InitializationErrorString());
  RC_ASSERT(ours.ByteSizeLong() == wire.size());
  Peer back;
  RC_ASSERT(back.ParsePartialFromString(ours.SerializePartialAsString()));
  RC_ASSERT(testing::difference(peer, back) == "");
}

template <typename Ours, typename Peer>
void build_alike() {
  auto peer = testing::any_message<Peer>(Maps::kNone);
  peer.DiscardUnknownFields();
  Ours ours;
  build(peer, &ours);
  check_same(ours, peer);
  Peer back;
  RC_ASSERT(back.ParsePartialFromString(ours.SerializePartialAsString()));
  RC_ASSERT(testing::difference(peer, back) == "");
  RC_ASSERT(ours.DebugString() == peer.DebugString());
}

RC_GTEST_PROP(ExtensionsBesideProtobuf, ReadTheSame, ()) { read_alike<OURS(Base), PEER(Base)>(); }
RC_GTEST_PROP(ExtensionsBesideProtobuf, InMessageSetsReadTheSame, ()) { read_alike<OURS(Set), PEER(Set)>(); }
RC_GTEST_PROP(ExtensionsBesideProtobuf, AreBuiltTheSame, ()) { build_alike<OURS(Base), PEER(Base)>(); }
RC_GTEST_PROP(ExtensionsBesideProtobuf, InMessageSetsAreBuiltTheSame, ()) { build_alike<OURS(Set), PEER(Set)>(); }

// Extensions alone, above all fields: then the bytes are the same, too.
RC_GTEST_PROP(ExtensionsBesideProtobuf, HaveTheSameBytes, ()) {
  auto peer = testing::any_message<PEER(Base)>(Maps::kNone);
  peer.DiscardUnknownFields();
  peer.clear_last();
  OURS(Base) ours;
  build(peer, &ours);
  RC_ASSERT(ours.SerializePartialAsString() == peer.SerializePartialAsString());
}

// An extension that is added to the .proto has to be added here.
TEST(ExtensionsBesideProtobuf, NoneIsLeftOut) {
  auto count = [](const google::protobuf::Descriptor* type) {
    std::vector<const google::protobuf::FieldDescriptor*> all;
    type->file()->pool()->FindAllExtensions(type, &all);
    return all.size();
  };
#define ONE(SHAPE, NAME) +1
  EXPECT_EQ(count(PEER(Base)::descriptor()), size_t{BASE(ONE)});
  EXPECT_EQ(count(PEER(Set)::descriptor()), size_t{SET(ONE)});
}

auto* const quiet = google::protobuf::SetLogHandler(nullptr);

}  // namespace
}  // namespace drover
