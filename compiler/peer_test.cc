// Generated classes against protobuf C++'s for the same .proto, in one program: arbitrary messages, made through
// protobuf's reflection, must come out of Drover's classes with the same bytes, as the same message.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "beside/proto2.pb.h"
#include "beside/proto3.pb.h"
#include "beside/wide.pb.h"
#include "compiler/peer_testing.h"
#include "proto2.pb.h"
#include "proto3.pb.h"
#include "wide.pb.h"

namespace drover {
namespace {

namespace three = ::drover_test::three;
namespace two = ::drover_test::two;
namespace wide = ::drover_test::wide;
using testing::difference;
using testing::Maps;

// Parses what protobuf wrote; the result says the same in every way that needs no accessor.
template <typename Ours, typename Peer>
void check_round_trip(const Peer& peer, Maps maps) {
  std::string wire = peer.SerializePartialAsString();
  Ours ours;
  RC_ASSERT(ours.ParsePartialFromString(wire));
  RC_ASSERT(ours.IsInitialized() == peer.IsInitialized());
  std::string again = ours.SerializePartialAsString();
  RC_ASSERT(ours.ByteSizeLong() == again.size());
  RC_ASSERT(again.size() == wire.size());
  if (maps == Maps::kNone) RC_ASSERT(again == wire);
  Peer back;
  RC_ASSERT(back.ParsePartialFromString(again));
  RC_ASSERT(difference(peer, back) == "");
  RC_ASSERT(Ours(ours).SerializePartialAsString() == again);
  RC_ASSERT(ours.DebugString() == peer.DebugString());
  RC_ASSERT(ours.ShortDebugString() == peer.ShortDebugString());
  RC_ASSERT(ours.Utf8DebugString() == peer.Utf8DebugString());
  RC_ASSERT(ours.InitializationErrorString() == peer.InitializationErrorString());
}

template <typename Ours, typename Peer>
void round_trip(Maps maps) {
  check_round_trip<Ours>(testing::any_message<Peer>(maps), maps);
}

RC_GTEST_PROP(BesideProtobuf, Proto3MessagesHaveTheSameBytes, ()) {
  round_trip<beside::drover_test::three::Everything, three::Everything>(Maps::kNone);
}
RC_GTEST_PROP(BesideProtobuf, Proto3MessagesWithMapsPassThroughUnchanged, ()) {
  round_trip<beside::drover_test::three::Everything, three::Everything>(Maps::kSome);
}
RC_GTEST_PROP(BesideProtobuf, Proto3KeywordsHaveTheSameBytes, ()) {
  round_trip<beside::drover_test::three::Keywords, three::Keywords>(Maps::kNone);
}
RC_GTEST_PROP(BesideProtobuf, Proto3KeywordsWithMapsPassThroughUnchanged, ()) {
  round_trip<beside::drover_test::three::Keywords, three::Keywords>(Maps::kSome);
}
RC_GTEST_PROP(BesideProtobuf, Proto3SmallMessagesHaveTheSameBytes, ()) {
  round_trip<beside::drover_test::three::Empty, three::Empty>(Maps::kNone);
  round_trip<beside::drover_test::three::OneByte, three::OneByte>(Maps::kNone);
  round_trip<beside::drover_test::three::Nothing8, three::Nothing8>(Maps::kNone);
  round_trip<beside::drover_test::three::struct_, three::struct_>(Maps::kNone);
}
RC_GTEST_PROP(BesideProtobuf, Proto2DefaultsHaveTheSameBytes, ()) {
  round_trip<beside::drover_test::two::Defaults, two::Defaults>(Maps::kNone);
}
RC_GTEST_PROP(BesideProtobuf, Proto2RequiredFieldsHaveTheSameBytes, ()) {
  round_trip<beside::drover_test::two::Needs, two::Needs>(Maps::kNone);
}
RC_GTEST_PROP(BesideProtobuf, Proto2SparseNumbersHaveTheSameBytes, ()) {
  round_trip<beside::drover_test::two::FarAway, two::FarAway>(Maps::kNone);
}
RC_GTEST_PROP(BesideProtobuf, MoreThan64HasBitsHaveTheSameBytes, ()) {
  round_trip<beside::drover_test::wide::Wide, wide::Wide>(Maps::kNone);
}
RC_GTEST_PROP(BesideProtobuf, HundredsOfSparseNumbersHaveTheSameBytes, ()) {
  round_trip<beside::drover_test::wide::Sparse, wide::Sparse>(Maps::kNone);
}
RC_GTEST_PROP(BesideProtobuf, EnumsOfTheOtherSyntaxPassThroughUnchanged, ()) {
  round_trip<beside::drover_test::wide::Mixed, wide::Mixed>(Maps::kSome);
}
RC_GTEST_PROP(BesideProtobuf, Proto2GroupsHaveTheSameBytes, ()) {
  round_trip<beside::drover_test::two::Around, two::Around>(Maps::kNone);
}
RC_GTEST_PROP(BesideProtobuf, Proto2GroupsWithMapsPassThroughUnchanged, ()) {
  round_trip<beside::drover_test::two::Around, two::Around>(Maps::kSome);
}
// protobuf C++ logs each proto2 string that is not UTF-8 where assertions are on.
auto* const quiet = google::protobuf::SetLogHandler(nullptr);

}  // namespace
}  // namespace drover
