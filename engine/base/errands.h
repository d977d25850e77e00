// Errands: work that may not return, such as a look-up on a file system that another process serves. Each runs on a
// thread of its own, and the caller waits for it no longer than its patience.
//
//   run(work):   done in time  -> kDone
//                not           -> kLate; it goes on, counted, and what it owns goes when it ends
//                as many late ones as may be already -> kTooMany; not begun
//
// Thread-safety: any thread. The end of an Errands does not wait for late work: `work` owns all that it uses.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace drover::engine {

class Errands {
 public:
  enum class Outcome { kDone, kLate, kTooMany };
  static constexpr uint32_t kMostLate = 8;
  static constexpr std::chrono::milliseconds kPatience{500};

  explicit Errands(std::chrono::milliseconds patience = kPatience) : patience_(patience) {}

  Outcome run(std::function<void()> work) { return run(std::move(work), patience_); }
  Outcome run(std::function<void()> work, std::chrono::milliseconds patience);
  // Those that have not returned.
  uint32_t late() const;

 private:
  struct Counts;
  const std::chrono::milliseconds patience_;
  std::shared_ptr<Counts> counts_ = make_counts();
  static std::shared_ptr<Counts> make_counts();
};

}  // namespace drover::engine
