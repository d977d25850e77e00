#include "host/start_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <thread>

namespace drover::host {
namespace {

constexpr int kRetryMs = 5;

}  // namespace

StartLock::StartLock(const std::string& directory, int64_t wait_ns, const std::function<bool()>& give_up) {
  UniqueFd file(::open((directory + "/start.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(wait_ns);
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() >= end || give_up()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(kRetryMs));
  }
  file_ = std::move(file);
}

}  // namespace drover::host
