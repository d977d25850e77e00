#include "engine/sandbox/refusals.h"

#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "engine/sandbox/system_calls.h"

namespace drover::engine::sandbox {
namespace {

constexpr size_t kMostNumbers = 512;
constexpr int kOfSeccomp = 1;  // si_code SYS_SECCOMP

// Lock-free, and of no constructor: a handler writes them.
std::array<std::atomic<uint64_t>, kMostNumbers> g_refused;
static_assert(std::atomic<uint64_t>::is_always_lock_free);

void on_refused(int, siginfo_t* info, void* context) {
  if (info->si_code != kOfSeccomp) return;  // sent by a process
  const auto number = static_cast<size_t>(std::clamp(info->si_syscall, 0, kSystemCallNumbers));
  g_refused[number].fetch_add(1, std::memory_order_relaxed);
  // The call returns what the filter's data say.
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX] = -info->si_errno;
}

}  // namespace

bool count_refusals() {
  struct sigaction action{};
  action.sa_sigaction = on_refused;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  return ::sigaction(SIGSYS, &action, nullptr) == 0;
}

std::vector<std::pair<int, uint64_t>> take_refusals() {
  std::vector<std::pair<int, uint64_t>> out;
  for (int i = 0; i <= kSystemCallNumbers; ++i) {
    const auto at = static_cast<size_t>(i);
    if (g_refused[at].load(std::memory_order_relaxed) == 0) continue;
    if (const uint64_t count = g_refused[at].exchange(0, std::memory_order_relaxed); count > 0)
      out.emplace_back(i, count);
  }
  return out;
}

}  // namespace drover::engine::sandbox
