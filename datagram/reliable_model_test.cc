// Two reliable connections over a network that loses, repeats, reorders and damages frames, random numbers of lines in
// a frame, hosts that are full at times: every line comes once and in order, and when the network is good again, both
// ends come to rest.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <deque>
#include <random>

#include "datagram/frame_testing.h"
#include "datagram/reliable.h"

namespace drover {
namespace {

using testing::make_line;
using testing::same_line;

struct Weather {
  int loss = 0, repeat = 0, reorder = 0, damage = 0;  // per cent of frames
};

struct End {
  End(const ReliableOptions& options, const ReliableState& from, NetworkEnd own_end, uint32_t own_key)
      : connection(options, from), own(own_end), key(own_key) {}

  ReliableConnection connection;
  NetworkEnd own;
  uint32_t key;
  uint32_t sent = 0, received = 0;
  std::deque<std::vector<std::byte>> inbox;
};

class Pair {
 public:
  Pair(const ReliableOptions& options, const ReliableState& from, const Weather& weather, uint32_t seed)
      : a_(options, from, testing::kClientEnd, 0x1111),
        b_(options, {from.expected, from.next}, testing::kServerEnd, 0x2222),
        weather_(weather),
        random_(seed) {}

  // Each end has `lines` to send. The weather is bad for `steps`, then good. Whether all came.
  bool run(uint32_t lines, int steps) {
    for (int step = 0; step < steps + 20000; ++step) {
      if (step == steps) weather_ = {}, host_full_ = 0;
      for (auto [from, to] : {std::pair(&a_, &b_), std::pair(&b_, &a_)}) {
        act(*from, *to, lines);
        receive(*from);
      }
      if (wrong_ || a_.connection.dead() || b_.connection.dead()) return false;
      if (step >= steps && rests(a_, lines) && rests(b_, lines)) return true;
    }
    return false;
  }

 private:
  static bool rests(const End& end, uint32_t lines) {
    return end.sent == lines && end.received == lines && end.connection.in_flight() == 0 &&
           !end.connection.owes_ack() && end.inbox.empty();
  }
  bool chance(int per_cent) { return static_cast<int>(random_() % 100) < per_cent; }

  void act(End& from, End& to, uint32_t lines) {
    if (random_() % 4 == 0) from.connection.tick();
    if (from.sent < lines && from.connection.may_send() != 0 && random_() % 2 == 0) {
      std::vector<LineSlot> some;
      size_t most = std::min<size_t>({from.connection.may_send(), lines - from.sent, kMaxFrameLines});
      for (size_t count = 1 + random_() % most; some.size() < count;) some.push_back(make_line(from.sent++));
      put(from, to, from.connection.send(some), some);
    }
    if (auto again = from.connection.take_resend()) put(from, to, again->fields, {&again->line, 1});
    if (auto ack = from.connection.take_ack()) put(from, to, *ack, {});
  }
  void put(const End& from, End& to, FrameFields fields, std::span<const LineSlot> lines) {
    fields.key = to.key;
    std::vector<std::byte> frame = build_frame(from.own, to.own, fields, lines);
    if (chance(weather_.loss)) return;
    if (chance(weather_.damage)) {
      // One byte, outside of the source MAC: a checksum notices it.
      size_t at = random_() % (frame.size() - 6);
      frame[at < 6 ? at : at + 6] ^= static_cast<std::byte>(1 + random_() % 255);
    }
    for (int copies = chance(weather_.repeat) ? 2 : 1; copies > 0; --copies) {
      size_t back = chance(weather_.reorder) ? random_() % (to.inbox.size() + 1) : 0;
      to.inbox.insert(to.inbox.end() - static_cast<std::ptrdiff_t>(back), frame);
    }
  }
  void receive(End& end) {
    if (end.inbox.empty() || random_() % 3 == 0) return;
    std::vector<std::byte> frame = std::move(end.inbox.front());
    end.inbox.pop_front();
    const NetworkEnd& peer = end.own == a_.own ? b_.own : a_.own;
    CheckedFrame checked;
    if (check_frame(frame, end.own, {.reliable = true}, &checked) != FrameRefusal::kOk) return;
    if (check_peer(checked, peer, end.key) != FrameRefusal::kOk) return;
    size_t room = chance(host_full_) ? 0 : random_() % 30;
    end.connection.set_room(room);
    Received received = end.connection.receive(checked.fields, checked.lines.size(), room);
    for (size_t i = 0; i < received.count; ++i) {
      LineSlot expected = make_line(end.received++);
      wrong_ = wrong_ || !same_line(checked.lines[received.first + i], expected);
    }
  }

  End a_, b_;
  Weather weather_;
  int host_full_ = 30;
  std::mt19937 random_;
  bool wrong_ = false;
};

TEST(ReliableConnection, LosesAndRepeatsNothingInBadWeather) {
  EXPECT_TRUE(rc::check([] {
    auto per_cent = [] { return *rc::gen::inRange(0, 30); };
    Weather weather{per_cent(), per_cent(), per_cent(), per_cent()};
    // 30 % of loss and of damage each way may take ten resends in a row: a connection that never dies shows the rest.
    ReliableOptions options{.window = *rc::gen::element(1u, 2u, 16u, 64u), .max_resends = 1000};
    ReliableState from{*rc::gen::element(0u, 0xffffff00u, 0x7fffff80u), *rc::gen::element(0u, 0xffffff80u)};
    RC_ASSERT(Pair(options, from, weather, *rc::gen::arbitrary<uint32_t>()).run(*rc::gen::inRange(1u, 400u), 1000));
  }));
}

}  // namespace
}  // namespace drover
