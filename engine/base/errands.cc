#include "engine/base/errands.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace drover::engine {

struct Errands::Counts {
  std::mutex mutex;
  std::condition_variable ended;
  uint32_t late = 0;
};

std::shared_ptr<Errands::Counts> Errands::make_counts() { return std::make_shared<Counts>(); }

Errands::Outcome Errands::run(std::function<void()> work, std::chrono::milliseconds patience) {
  struct Errand {
    bool done = false, late = false;
  };
  auto errand = std::make_shared<Errand>();
  std::unique_lock lock(counts_->mutex);
  if (counts_->late >= kMostLate) return Outcome::kTooMany;
  try {
    std::thread([counts = counts_, errand, work = std::move(work)]() mutable {
      pthread_setname_np(pthread_self(), "errand");
      work();
      work = nullptr;  // what it owns goes before it counts as ended
      std::lock_guard guard(counts->mutex);
      errand->done = true;
      if (errand->late) --counts->late;
      counts->ended.notify_all();
    }).detach();
  } catch (const std::system_error&) {  // no thread: the same as none left
    return Outcome::kTooMany;
  }
  counts_->ended.wait_for(lock, patience, [&] { return errand->done; });
  if (errand->done) return Outcome::kDone;
  errand->late = true;
  ++counts_->late;
  return Outcome::kLate;
}

uint32_t Errands::late() const {
  std::lock_guard lock(counts_->mutex);
  return counts_->late;
}

}  // namespace drover::engine
