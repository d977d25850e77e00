// What hostile and broken senders do to links: malformed, spoofed, replayed and random datagrams are counted by reason,
// change nothing, and are answered by no more bytes than they had.
#include <gtest/gtest.h>

#include "engine/datagram/peer_testing.h"

namespace drover::engine {
namespace {

using testing::address_of;
using testing::TestNetwork;
using testing::TestPeer;

constexpr int64_t kMs = 1'000'000;

// A link from `a` to `b`, and an attacker who sees what he has recorded and nothing else.
class PeerHostile : public ::testing::Test {
 protected:
  PeerHostile() : a(network, 1), b(network, 2) {
    network.recorder = [this](const TestNetwork::Datagram& datagram) { recorded.push_back(datagram); };
    link = a.open(b);
    for (uint32_t i = 0; i < 50; ++i) a.push(*link, i);
    network.run_for(10 * kMs);
    EXPECT_EQ(b.taken, 50u);
    link->uses = 1;
    b.links.at(0)->uses = 1;
  }
  // The first recorded datagram of that kind and way.
  TestNetwork::Datagram first(LinkKind kind, const UdpAddress& to) const {
    for (const auto& each : recorded) {
      LinkDatagram datagram;
      if (each.to == to && check_link_datagram(each.bytes, &datagram) == LinkRefusal::kOk &&
          datagram.fields.kind == kind) {
        return each;
      }
    }
    ADD_FAILURE() << "none of kind " << link_kind_name(kind);
    return {};
  }
  TestNetwork::Datagram slots() const { return first(LinkKind::kSlots, b.listening()); }
  static void put(TestNetwork::Datagram& datagram, size_t offset, uint32_t value, size_t size) {
    std::memcpy(datagram.bytes.data() + offset - kFramePayloadAt, &value, size);
  }
  // Delivers it to b; the reason that was counted, or none.
  std::string refusal(const TestNetwork::Datagram& datagram) {
    std::array<uint64_t, static_cast<size_t>(LinkRefusal::kNoRoom) + 1> before;
    for (size_t why = 0; why < before.size(); ++why) before[why] = b.table->refused(LinkRefusal(why));
    const uint64_t bytes = b.sent_bytes, taken = b.taken;
    network.deliver(datagram);
    EXPECT_LE(b.sent_bytes - bytes, datagram.bytes.size()) << "the answer is larger";
    EXPECT_EQ(b.taken, taken);
    std::string reasons;
    for (size_t why = 0; why < before.size(); ++why) {
      if (b.table->refused(LinkRefusal(why)) != before[why]) reasons += link_refusal_name(LinkRefusal(why));
    }
    return reasons;
  }
  // The link goes on as if nothing had been.
  void expect_unharmed() {
    const uint64_t before = b.taken;
    a.push(*link, 777);
    network.run_for(50 * kMs);
    EXPECT_EQ(b.taken, before + 1);
    EXPECT_TRUE(a.ended.empty() && b.ended.empty());
    EXPECT_FALSE(b.damaged);
  }

  TestNetwork network;
  TestPeer a, b;
  PeerLink* link = nullptr;
  std::vector<TestNetwork::Datagram> recorded;
};

TEST_F(PeerHostile, ADatagramOfAnotherAddressIsDropped) {
  auto spoofed = slots();
  spoofed.from = address_of(66, 5000);
  EXPECT_EQ(refusal(spoofed), "source");
  spoofed = slots();
  ++spoofed.from.port;
  EXPECT_EQ(refusal(spoofed), "source");
  expect_unharmed();
}

TEST_F(PeerHostile, AWrongKeyIsDropped) {
  auto wrong = slots();
  wrong.bytes[offsetof(FrameHead, key) - kFramePayloadAt] ^= std::byte{1};
  EXPECT_EQ(refusal(wrong), "key");
  expect_unharmed();
}

TEST_F(PeerHostile, AnUnknownLinkIsDropped) {
  auto wrong = slots();
  put(wrong, offsetof(FrameHead, connection), 77, 2);
  EXPECT_EQ(refusal(wrong), "unknown_link");
  expect_unharmed();
}

TEST_F(PeerHostile, AReplayIsADuplicate) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(refusal(slots()), "duplicate");
  expect_unharmed();
}

TEST_F(PeerHostile, ImpossibleSequencesAndAcknowledgementsAreDropped) {
  auto wrong = slots();
  put(wrong, offsetof(FrameHead, sequence), 50 + 4096, 4);
  EXPECT_EQ(refusal(wrong), "out_of_window");
  put(wrong, offsetof(FrameHead, sequence), 0xffffff00, 4);
  EXPECT_EQ(refusal(wrong), "out_of_window");
  wrong = slots();
  put(wrong, offsetof(FrameHead, ack), 1, 4);  // b has sent nothing
  EXPECT_EQ(refusal(wrong), "out_of_window");
  expect_unharmed();
}

TEST_F(PeerHostile, TruncatedAndOverlongDatagramsAreDropped) {
  for (size_t size = 0; size < slots().bytes.size(); ++size) {
    auto cut = slots();
    cut.bytes.resize(size);
    EXPECT_EQ(refusal(cut), size < kLinkHeadSize ? "size" : "slot_count") << size;
  }
  auto more = slots();
  more.bytes.resize(5000);
  EXPECT_EQ(refusal(more), "size");
  expect_unharmed();
}

TEST_F(PeerHostile, ACookieIsGoodForItsAddressAndForAWhile) {
  auto connect = first(LinkKind::kConnect, b.listening());
  connect.from = address_of(66, 5000);
  EXPECT_EQ(refusal(connect), "cookie");
  connect = first(LinkKind::kConnect, b.listening());
  connect.bytes[kLinkHeadSize + offsetof(LinkRecord, cookie)] ^= std::byte{1};
  EXPECT_EQ(refusal(connect), "cookie");
  network.run_for(20'000 * kMs);
  EXPECT_EQ(refusal(first(LinkKind::kConnect, b.listening())), "cookie");
  EXPECT_EQ(b.table->links(), 1u);
  expect_unharmed();
}

TEST_F(PeerHostile, AHelloOfAnySourceMakesNoState) {
  auto hello = first(LinkKind::kHello, b.listening());
  for (uint16_t port = 1; port < 10'000; ++port) {
    hello.from = address_of(static_cast<uint8_t>(10 + port % 200), port);
    network.deliver(hello);
  }
  EXPECT_EQ(b.table->links(), 1u);
  EXPECT_GT(b.table->refused(LinkRefusal::kNotListening), 0u);  // beyond the rate, not answered either
  expect_unharmed();
}

TEST_F(PeerHostile, AnEarlierConnectDoesNotEndTheLinkOfItsAddress) {
  const auto old = first(LinkKind::kConnect, b.listening());
  a.table->end_all(network.now_ns, a);
  network.run_for(10 * kMs);
  a.ended.clear();
  b.ended.clear();
  link = a.open(b);
  network.run_for(50 * kMs);
  EXPECT_EQ(refusal(old), "stale");
  network.run_for(50 * kMs);
  expect_unharmed();
}

TEST_F(PeerHostile, ARecordedAcceptOrCookieOpensNothing) {
  network.deliver(first(LinkKind::kAccept, a.opening()));
  network.deliver(first(LinkKind::kCookie, a.opening()));
  EXPECT_EQ(a.table->refused(LinkRefusal::kStale), 2u);
  expect_unharmed();
}

TEST_F(PeerHostile, AResetOrEndWithoutTheKeyEndsNothing) {
  for (LinkKind kind : {LinkKind::kReset, LinkKind::kEnd}) {
    auto forged = slots();
    forged.bytes.resize(kLinkHeadSize);
    put(forged, offsetof(FrameHead, kind), static_cast<uint32_t>(kind), 2);
    put(forged, offsetof(FrameHead, key), 0x12345678, 4);
    EXPECT_EQ(refusal(forged), "key");
  }
  expect_unharmed();
}

TEST_F(PeerHostile, DatagramsOfALinkThatHasEndedReachNoLaterOne) {
  const auto old = recorded;
  a.table->end_all(network.now_ns, a);
  network.run_for(10 * kMs);
  link = a.open(b);
  network.run_for(50 * kMs);
  const uint64_t before = b.taken;
  for (const auto& each : old) network.deliver(each);
  network.run_for(50 * kMs);
  EXPECT_EQ(b.taken, before);
  EXPECT_EQ(a.table->links(), 1u);
  a.push(*link, 1);
  network.run_for(50 * kMs);
  EXPECT_EQ(b.taken, before + 1);
}

TEST_F(PeerHostile, AnEngineThatOnlyCallsTakesNoLinks) {
  auto hello = first(LinkKind::kHello, b.listening());
  hello.to = a.opening();
  network.deliver(hello);
  EXPECT_EQ(a.table->refused(LinkRefusal::kNotListening), 1u);
}

// An engine that takes links of the machines 1 and 200 to 207 alone.
class PeerHostileAllow : public ::testing::Test {
 protected:
  PeerHostileAllow() : a(network, 1), b(network, 2, limited()), c(network, 3) {
    network.recorder = [this](const TestNetwork::Datagram& datagram) { recorded.push_back(datagram); };
  }
  static PeerOptions limited() {
    PeerOptions options;
    EXPECT_EQ(AllowedPeers::parse("10.0.0.1,10.0.0.200/29", &options.allowed), "");
    return options;
  }
  uint64_t not_allowed() const { return b.table->refused(LinkRefusal::kNotAllowed); }

  TestNetwork network;
  TestPeer a, b, c;
  std::vector<TestNetwork::Datagram> recorded;
};

TEST_F(PeerHostileAllow, OthersOpenNoLinkAndHaveNoAnswer) {
  ASSERT_NE(c.open(b), nullptr);
  network.run_for(10'000 * kMs);
  EXPECT_EQ(c.ended, std::vector<std::string>{"no engine answers there"});
  EXPECT_GT(not_allowed(), 1u);
  EXPECT_EQ(b.sent, 0u);
  EXPECT_EQ(b.table->links(), 0u);
  PeerLink* link = a.open(b);
  a.push(*link, 1);
  network.run_for(50 * kMs);
  EXPECT_EQ(b.taken, 1u);
}

// What an allowed engine has sent, from addresses that are not allowed: not even a reset comes back.
TEST_F(PeerHostileAllow, DatagramsFromElsewhereAreDroppedWhateverTheySay) {
  PeerLink* link = a.open(b);
  for (uint32_t i = 0; i < 50; ++i) a.push(*link, i);
  network.run_for(50 * kMs);
  ASSERT_EQ(b.taken, 50u);
  const uint64_t sent = b.sent;
  uint64_t delivered = 0;
  for (TestNetwork::Datagram each : std::vector(recorded)) {
    if (each.to != b.listening()) continue;
    for (uint8_t machine : {3, 199, 208}) {
      each.from = address_of(machine, 5000);
      for (size_t size : {each.bytes.size(), each.bytes.size() / 2, size_t{0}}) {
        each.bytes.resize(size);
        network.deliver(each);
        ++delivered;
      }
    }
  }
  EXPECT_GT(delivered, 20u);
  EXPECT_EQ(not_allowed(), delivered);
  EXPECT_EQ(b.sent, sent);
  EXPECT_EQ(b.taken, 50u);
  EXPECT_EQ(b.table->links(), 1u);
  a.push(*link, 77);
  network.run_for(50 * kMs);
  EXPECT_EQ(b.taken, 51u);
}

TEST_F(PeerHostileAllow, TheEngineItselfOpensLinksToOthers) {
  PeerLink* link = b.open(c);
  b.push(*link, 1);
  c.echo = true;
  network.run_for(50 * kMs);
  EXPECT_EQ(b.taken, 1u);
  EXPECT_EQ(not_allowed(), 0u);
}

// Changed copies of what goes over the network, from the right address and from others, among the right ones. The
// head's key and numbers are not changed in the right one's name: UDP's checksum and the key are what protects them.
TEST_F(PeerHostile, RandomDatagramsAmongTheRightOnesChangeNothing) {
  for (int round = 0; round < 3000; ++round) {
    TestNetwork::Datagram changed = recorded[network.random() % std::min<size_t>(recorded.size(), 500)];
    const uint32_t how = network.random() % 4;
    if (how == 0) changed.bytes.resize(network.random() % (changed.bytes.size() + 1));
    if (how == 1) {
      for (std::byte& byte : changed.bytes) byte = static_cast<std::byte>(network.random());
    }
    if (how == 2) changed.from = address_of(static_cast<uint8_t>(network.random()), 5000);
    if (how == 3 && changed.bytes.size() > 12) {
      for (size_t at = 6; at < 10; ++at) changed.bytes[at] = static_cast<std::byte>(network.random());  // the key
    }
    const uint64_t before = a.sent_bytes + b.sent_bytes;
    network.deliver(changed);
    EXPECT_LE(a.sent_bytes + b.sent_bytes - before, changed.bytes.size());
    if (round % 100 == 0) expect_unharmed();
  }
  expect_unharmed();
  EXPECT_EQ(a.table->links(), 1u);
}

}  // namespace
}  // namespace drover::engine
