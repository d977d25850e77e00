// The network half with the reliable transport against the C++ reference (datagram/reliable.h), frame by frame over a
// bad network: whatever one says, the other understands.
#include <Vnic_net_reliable.h>

#include <algorithm>
#include <map>
#include <random>

#include "datagram/reliable.h"
#include "rtl/nic/nic_net_network_testing.h"
#include "testing/long_runs.h"

namespace drover::rtl::nic {
namespace {

using testing::kClientEnd;
using testing::kServerEnd;
using testing::make_line;
using testing::same_line;

using Nic = NicNet<Vnic_net_reliable>;
constexpr FrameRules kRules{.reliable = true, .max_lines = 1};

// The other end of some connections, in C++: connection c there is c + 50 here.
class SoftEnd {
 public:
  explicit SoftEnd(uint32_t seed) : random_(seed) {}

  void open(uint16_t c) { ends_.emplace(c + 50, End{ReliableConnection({.max_resends = 1000}), c, 0, 0, 0}); }
  void send(uint16_t c, uint32_t lines) { ends_.at(c + 50).to_send += lines; }
  bool rests() const {
    for (const auto& [number, end] : ends_) {
      if (end.sent != end.to_send || end.connection.in_flight() != 0 || end.connection.owes_ack()) return false;
    }
    return true;
  }
  uint32_t received(uint16_t c) const { return ends_.at(c + 50).received; }

  void cycle(std::deque<Frame>& in, std::deque<Frame>& out) {
    if (!in.empty()) {
      receive(in.front());
      in.pop_front();
    }
    bool tick = ++now_ % 64 == 0;
    for (auto& [number, end] : ends_) {
      if (tick) end.connection.tick();
      if (end.sent < end.to_send && end.connection.may_send() != 0 && random_() % 8 == 0) {
        LineSlot line = make_line(end.sent++);
        put(end, end.connection.send({&line, 1}), {&line, 1}, out);
      }
      if (auto again = end.connection.take_resend()) put(end, again->fields, {&again->line, 1}, out);
      if (auto ack = end.connection.take_ack()) put(end, *ack, {}, out);
    }
  }

 private:
  struct End {
    ReliableConnection connection;
    uint16_t remote;
    uint32_t to_send, sent, received;
  };
  void put(const End& end, FrameFields fields, std::span<const LineSlot> lines, std::deque<Frame>& out) {
    fields.connection = end.remote;
    fields.key = 1000u + end.remote;
    out.push_back(build_frame(kServerEnd, kClientEnd, fields, lines));
  }
  void receive(const Frame& frame) {
    CheckedFrame checked;
    if (check_frame(frame, kServerEnd, kRules, &checked) != FrameRefusal::kOk) return;
    auto found = ends_.find(checked.fields.connection);
    if (found == ends_.end() || check_peer(checked, kClientEnd, 2000u + found->second.remote) != FrameRefusal::kOk)
      return;
    End& end = found->second;
    size_t room = random_() % 10 == 0 ? 0 : 16;
    end.connection.set_room(room);
    Received received = end.connection.receive(checked.fields, checked.lines.size(), room);
    ASSERT_NE(received.refusal, FrameRefusal::kOutOfWindow);
    for (size_t i = 0; i < received.count; ++i) {
      ASSERT_TRUE(same_line(checked.lines[received.first + i], make_line(end.received++, checked.fields.connection)));
    }
  }

  std::map<uint16_t, End> ends_;
  std::mt19937 random_;
  uint64_t now_ = 0;
};

TEST(NicNetPeer, EveryLineOnceAndInOrder) {
  for (uint32_t seed = 1; seed <= 8u * testing::test_factor(); ++seed) {
    std::mt19937 random(seed);
    auto some = [&] { return seed == 1 ? 0 : static_cast<uint32_t>(random() % 16); };
    Nic nic({.stalls_of_256 = some() * 4, .refused_of_256 = some() * 2, .seed = seed});
    nic.set_timing({.max_resends = 63});
    Network network({some(), some(), some(), some()}, seed, 1 + random() % 40);
    SoftEnd soft(seed);
    uint32_t lines[6], total = 0;
    for (uint16_t c = 0; c < 6; ++c) {
      ASSERT_EQ(nic.open(c, make_entry(kServerEnd, c + 50, 1000 + c, 2000 + c, c % 4)), CommandResult::kOk);
      soft.open(c);
      lines[c] = 50 + random() % 100;
      total += lines[c];
      soft.send(c, lines[c]);
      for (uint32_t i = 0; i < lines[c]; ++i) nic.lines.send(make_line(i, c), c % 4);
    }
    std::deque<Frame> to_soft, to_nic;
    size_t cycle = 0;
    for (; cycle < 400000 && !HasFailure(); ++cycle) {
      nic.cycle();
      soft.cycle(to_soft, to_nic);
      network.move(nic.network.out, to_soft);
      network.move_back(to_nic, nic.network.in);
      if (cycle % 256 == 0 && soft.rests() && nic.host.received.size() == total) {
        bool all = true;
        for (uint16_t c = 0; c < 6; ++c) all = all && soft.received(c) == lines[c];
        if (all) break;
      }
    }
    ASSERT_LT(cycle, 400000u) << "seed " << seed;
    uint32_t next[6] = {};
    for (const ReceivedLine& line : nic.host.received) {
      uint16_t c = line.line.connection;
      ASSERT_LT(c, 6);
      ASSERT_TRUE(same_line(line.line, make_line(next[c]++, c)));
    }
    // Damage that no checksum finds does not happen here, so that no number could be impossible.
    EXPECT_EQ(nic.frames(FrameRefusal::kOutOfWindow), 0u);
  }
}

TEST(NicNetPeer, AnEntryThatMakesRoomSendsTheAckThatItOwes) {
  Nic nic;
  nic.set_timing({.tick_cycles = 0xffffff});  // no tick asks for it
  for (uint16_t c : {3, 19}) {                // both for the same place
    ASSERT_EQ(nic.open(c, make_entry(kServerEnd, c + 50, 1000 + c, 2000 + c, 1)), CommandResult::kOk);
  }
  for (uint16_t c : {3, 19}) {
    LineSlot line = make_line(0, c);
    FrameFields fields{.kind = FrameKind::kData, .key = 1000u + c, .connection = c, .window = 16};
    nic.network.in.push_back(build_frame(kServerEnd, kClientEnd, fields, {&line, 1}));
    nic.cycles(300);
  }
  ASSERT_EQ(nic.host.received.size(), 2u);
  ASSERT_EQ(nic.network.out.size(), 1u);
  FrameFields ack{.kind = FrameKind::kAck, .key = 2003, .ack = 1, .connection = 53, .window = 16};
  EXPECT_TRUE(nic.network.out[0] == build_frame(kClientEnd, kServerEnd, ack, {}));
  ConnectionEntry entry{};
  ASSERT_EQ(nic.read_entry(3, &entry), CommandResult::kOk);
  EXPECT_EQ(entry.expected, 1u);
}

// One connection and its model, step by step: every frame that one sends the other sends, every refusal is the same.
class InStep {
 public:
  explicit InStep(uint32_t seed) : random_(seed), model_({}, {pick(), pick()}) {
    ReliableState state = model_.state();
    ConnectionEntry entry = make_entry(kServerEnd, 50, 1000, 2000, 2);
    entry.next = state.next;
    entry.expected = state.expected;
    nic_.set_timing({.tick_cycles = 0xffffff});  // time stands still
    EXPECT_EQ(nic_.open(7, entry), CommandResult::kOk);
  }

  void step() {
    full_ = random_() % 8 == 0;
    nic_.host.full_flows = full_ ? 1 << 2 : 0;
    model_.set_room(full_ ? 0 : 16);
    if (random_() % 3 == 0 && waiting_.size() < 10) {
      waiting_.push_back(make_line(lines_++, 7));
      nic_.lines.send(waiting_.back(), 2);
    } else {
      receive();
    }
    for (; !waiting_.empty() && model_.may_send() != 0; waiting_.pop_front()) {
      expect_frame(model_.send({&waiting_.front(), 1}), &waiting_.front());
    }
    nic_.cycles(60);
    // What goes out again and what goes out now take turns: the order among them is free.
    std::vector<Frame> out(nic_.network.out.begin(), nic_.network.out.end());
    std::sort(out.begin(), out.end());
    std::sort(expected_.begin(), expected_.end());
    ASSERT_EQ(out.size(), expected_.size());
    ASSERT_TRUE(out == expected_);
    nic_.network.out.clear();
    expected_.clear();
  }
  size_t reasons() const { return refusals_.size(); }

 private:
  uint32_t pick() { return random_() % 2 == 0 ? random_() % 100 : 0u - random_() % 100; }
  uint32_t around(uint32_t value) {
    switch (random_() % 8) {
      case 0:
        return random_();
      case 1:
        return value + random_() % 40 - 20;
      case 2:
        return value + random_() % 3 - 1;
      default:
        return value;
    }
  }
  void expect_frame(FrameFields fields, const LineSlot* line) {
    fields.key = 2000;
    fields.connection = 50;
    expected_.push_back(build_frame(kClientEnd, kServerEnd, fields, {line, line == nullptr ? 0u : 1u}));
  }
  void receive() {
    ReliableState state = model_.state();
    auto in_flight = static_cast<uint32_t>(model_.in_flight());
    FrameFields fields{.kind = FrameKind(2 + random_() % 3), .key = 1000, .connection = 7};
    if (fields.kind == FrameKind::kData) fields.sequence = around(state.expected);
    fields.ack = around(state.next - random_() % (in_flight + 1));
    fields.window = static_cast<uint16_t>(random_() % 4 == 0 ? 0 : random_() % 40);
    LineSlot line = make_line(random_(), 7);
    std::span<const LineSlot> lines(&line, fields.kind == FrameKind::kData ? 1 : 0);
    nic_.network.in.push_back(build_frame(kServerEnd, kClientEnd, fields, lines));
    Received received = model_.receive(fields, lines.size(), full_ ? 0 : 1);
    ++refusals_[received.refusal];
    while (auto again = model_.take_resend()) expect_frame(again->fields, &again->line);
    if (auto ack = model_.take_ack()) expect_frame(*ack, nullptr);
    nic_.cycles(40);
    ASSERT_EQ(nic_.frames(received.refusal), refusals_[received.refusal]) << frame_refusal_name(received.refusal);
    ASSERT_EQ(nic_.host.received.size(), received.count);
    if (received.count != 0) ASSERT_TRUE(same_line(nic_.host.received[0].line, line));
    nic_.host.received.clear();
  }

  std::mt19937 random_;
  ReliableConnection model_;
  Nic nic_;
  bool full_ = false;
  uint32_t lines_ = 0;
  std::deque<LineSlot> waiting_;  // for the window
  std::vector<Frame> expected_;
  std::map<FrameRefusal, uint64_t> refusals_;
};

TEST(NicNetPeer, EveryAnswerIsTheReferences) {
  for (uint32_t seed = 1; seed <= 6u * testing::test_factor(); ++seed) {
    InStep both(seed);
    for (int i = 0; i < 600; ++i) {
      both.step();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
    EXPECT_EQ(both.reasons(), 5u);
  }
}

}  // namespace
}  // namespace drover::rtl::nic
