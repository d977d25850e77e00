// A network between two ends of the NIC's benches: it loses, repeats, reorders and damages frames.
#pragma once

#include <random>

#include "rtl/nic/nic_net_testing.h"

namespace drover::rtl::nic {

struct Weather {
  uint32_t loss = 0, repeat = 0, reorder = 0, damage = 0;  // per cent of frames
};

class Network {
 public:
  Network(const Weather& weather, uint32_t seed, size_t latency = 5)
      : weather_(weather), latency_(latency), random_(seed) {}

  void set_weather(const Weather& weather) { weather_ = weather; }
  uint64_t lost() const { return lost_; }
  uint64_t damaged() const { return damaged_; }

  // A cycle: from what one end has sent to what the other gets.
  void move(std::deque<Frame>& from, std::deque<Frame>& to) { move(from, to, to_b_); }
  void move_back(std::deque<Frame>& from, std::deque<Frame>& to) { move(from, to, to_a_); }
  bool idle() const { return to_a_.empty() && to_b_.empty(); }

 private:
  struct OnTheWay {
    Frame frame;
    size_t left;  // cycles
  };
  using Way = std::deque<OnTheWay>;

  bool chance(uint32_t per_cent) { return random_() % 100 < per_cent; }
  void move(std::deque<Frame>& from, std::deque<Frame>& to, Way& way) {
    while (!from.empty()) {
      enter(std::move(from.front()), way);
      from.pop_front();
    }
    for (OnTheWay& one : way) one.left -= one.left != 0;
    while (!way.empty() && way.front().left == 0) {
      to.push_back(std::move(way.front().frame));
      way.pop_front();
    }
  }
  void enter(Frame frame, Way& way) {
    if (chance(weather_.loss)) {
      ++lost_;
      return;
    }
    if (chance(weather_.damage)) {
      // Not the sender's MAC, which no checksum covers and nothing depends on.
      size_t at = random_() % (frame.size() - 6);
      frame[at < 6 ? at : at + 6] ^= static_cast<std::byte>(1 + random_() % 255);
      ++damaged_;
    }
    for (int copies = chance(weather_.repeat) ? 2 : 1; copies > 0; --copies) {
      size_t back = chance(weather_.reorder) ? random_() % (way.size() + 1) : 0;
      way.insert(way.end() - static_cast<std::ptrdiff_t>(back), {frame, latency_});
    }
  }

  Weather weather_;
  size_t latency_;
  std::mt19937 random_;
  Way to_a_, to_b_;
  uint64_t lost_ = 0, damaged_ = 0;
};

}  // namespace drover::rtl::nic
