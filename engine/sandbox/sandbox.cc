#include "engine/sandbox/sandbox.h"

#include <dirent.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "engine/sandbox/privileges.h"
#include "engine/sandbox/refusals.h"
#include "engine/sandbox/system_calls.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define DROVER_UNDER_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DROVER_UNDER_SANITIZER 1
#endif

namespace drover::engine::sandbox {
namespace {

#ifdef DROVER_UNDER_SANITIZER
constexpr bool kSanitizer = true;
#else
constexpr bool kSanitizer = false;
#endif
constexpr const char* kWhyNotHere =
    "this build has a sanitizer, which reads /proc, starts a symbolizer and traces itself";

// SECCOMP_FILTER_FLAG_SPEC_ALLOW (Linux 4.17). Without it, kernels before 5.16 take a process with a filter for one
// that runs foreign code, and turn off a CPU optimisation for it (Speculative Store Bypass), which slows down all that
// it does. The engine runs its own code only.
constexpr unsigned kNoSpeculationLimit = 1u << 2;

int threads_of_process() {
  std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir("/proc/self/task"), ::closedir);
  if (tasks == nullptr) return -1;
  int count = 0;
  while (const dirent* entry = ::readdir(tasks.get())) count += entry->d_name[0] != '.';
  return count;
}

bool has_seccomp() {
  uint32_t action = SECCOMP_RET_KILL_PROCESS;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool limit_system_calls(const Policy& policy, std::string* error) {
  SystemCallOptions options;
  options.datagrams = policy.datagrams;
  options.appends = !policy.files.appended.empty();
  options.renames = !policy.files.rotated.empty();
  options.process = ::getpid();
  std::vector<sock_filter> filter = compile_filter(allowed_system_calls(options), deadly_system_calls());
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (!count_refusals()) return *error = std::string("sigaction: ") + std::strerror(errno), false;
  const long failed =
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC | kNoSpeculationLimit, &program);
  if (failed == 0) return true;
  *error = failed > 0 ? "thread " + std::to_string(failed) + " has another seccomp filter"
                      : std::string("seccomp: ") + std::strerror(errno);
  return false;
}

std::string joined(const std::vector<std::string>& texts, const char* between) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : between) + text;
  return out;
}

void tell_gaps(int abi, std::vector<std::string>* missing) {
  const std::vector<std::string> gaps = landlock_gaps(abi);
  if (gaps.empty()) return;
  missing->push_back("Landlock: ABI " + std::to_string(abi) + " of this kernel does not keep from " +
                     joined(gaps, ", "));
}

// Each step says whether it is in force, or leaves a line in `missing`.
class Entering {
 public:
  Entering(const Policy& policy, Outcome* out) : policy_(policy), out_(*out) {}

  void run() {
    const bool limited =
        step("capabilities", [&](std::string* why) { return limit_capabilities(policy_.keep_capabilities, why); });
    const bool no_new = step("no_new_privs", [](std::string* why) {
      if (set_no_new_privileges()) return true;
      *why = std::strerror(errno);
      return false;
    });
    out_.privileges = limited && no_new;
    if (step("Landlock", [&](std::string* why) { return limit_files(policy_.files, &out_.files, why); })) {
      tell_gaps(out_.files.abi, &out_.missing);
    }
    out_.system_calls = step("seccomp", [&](std::string* why) { return limit_system_calls(policy_, why); });
  }

 private:
  template <typename Work>
  bool step(const char* name, Work work) {
    std::string why;
    if (work(&why)) return true;
    out_.missing.push_back(std::string(name) + ": " + why);
    return false;
  }

  const Policy& policy_;
  Outcome& out_;
};

}  // namespace

std::vector<std::string> missing_here() {
#if !defined(__x86_64__)
  return {"this machine is not x86-64"};
#endif
  if (kSanitizer) return {kWhyNotHere};
  std::vector<std::string> out;
  const int abi = landlock_abi();
  if (abi == 0) out.emplace_back("Landlock: this kernel has no Landlock");
  if (abi != 0) tell_gaps(abi, &out);
  if (!has_seccomp()) out.emplace_back("seccomp: this kernel has no seccomp filters");
  return out;
}

bool enter(const Policy& policy, Outcome* outcome, std::string* error) {
  if (!kSanitizer && !allow_core_dumps(policy.core_dumps)) {
    return *error = std::string("PR_SET_DUMPABLE: ") + std::strerror(errno), false;
  }
  if (policy.mode == Mode::kOff) return true;
  if (kSanitizer) {
    outcome->missing.emplace_back(kWhyNotHere);
  } else if (const int threads = threads_of_process(); threads > 1) {
    // Theirs would not be limited.
    return *error = "the process has " + std::to_string(threads) + " threads already", false;
  } else {
    Entering(policy, outcome).run();
    outcome->entered = outcome->privileges || outcome->files.abi > 0 || outcome->system_calls;
  }
  if (policy.mode == Mode::kOn || outcome->missing.empty()) return true;
  *error = "engine.sandbox=require: " + joined(outcome->missing, "; ");
  return false;
}

}  // namespace drover::engine::sandbox
