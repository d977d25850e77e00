// CoderPool: what an engine thread has for the compressed messages of all its connections: zlib's states between two
// messages, which are charged to no account, and the time that may be spent in a turn on messages as they come.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/pace.h"
#include "engine/compress/deflater.h"
#include "engine/compress/inflater.h"

namespace drover::engine {

class CoderPool {
 public:
  static constexpr int64_t kAtOnceNs = 300'000;

  // Throws std::bad_alloc.
  std::unique_ptr<Inflater> take_inflater() { return take(inflaters_); }
  std::unique_ptr<Deflater> take_deflater() { return take(deflaters_); }
  void keep(std::unique_ptr<Inflater> inflater) { keep(std::move(inflater), inflaters_); }
  void keep(std::unique_ptr<Deflater> deflater) { keep(std::move(deflater), deflaters_); }

  // Of the work in later turns.
  Pace pace;

  // Calls step() -> bool until it returns true, or the time of the turn that began at `turn_ns` is over. Whether it has
  // returned true.
  template <typename Step>
  bool at_once(int64_t turn_ns, Step step) {
    if (turn_ns != turn_ns_) left_ns_ = kAtOnceNs;
    turn_ns_ = turn_ns;
    if (left_ns_ <= 0) return false;
    const int64_t began_ns = monotonic_ns();
    bool done = false;
    int64_t spent_ns = 0;
    while (!done && spent_ns < left_ns_) {
      done = step();
      spent_ns = monotonic_ns() - began_ns;
    }
    left_ns_ -= spent_ns;
    return done;
  }

 private:
  static constexpr size_t kSpare = 2;  // of each

  template <typename Coder>
  static std::unique_ptr<Coder> take(std::vector<std::unique_ptr<Coder>>& spare) {
    if (spare.empty()) return std::make_unique<Coder>();
    std::unique_ptr<Coder> coder = std::move(spare.back());
    spare.pop_back();
    return coder;
  }
  template <typename Coder>
  static void keep(std::unique_ptr<Coder> coder, std::vector<std::unique_ptr<Coder>>& spare) {
    coder->end();
    if (spare.size() < kSpare && spare.size() < spare.capacity()) spare.push_back(std::move(coder));
  }

  std::vector<std::unique_ptr<Inflater>> inflaters_ = with_room<Inflater>();
  std::vector<std::unique_ptr<Deflater>> deflaters_ = with_room<Deflater>();
  int64_t turn_ns_ = 0;
  int64_t left_ns_ = 0;

  template <typename Coder>
  static std::vector<std::unique_ptr<Coder>> with_room() {
    std::vector<std::unique_ptr<Coder>> spare;
    spare.reserve(kSpare);  // keeping takes no memory
    return spare;
  }
};

}  // namespace drover::engine
