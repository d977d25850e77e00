// The filter as a program: what it answers to a call, by an interpreter of the few instructions that it has.
#include "engine/sandbox/system_calls.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <set>

namespace drover::engine::sandbox {
namespace {

constexpr uint32_t kRefused = SECCOMP_RET_TRAP | EPERM;

uint32_t answer_to(const std::vector<sock_filter>& program, const seccomp_data& data) {
  uint32_t value = 0;
  for (size_t at = 0; at < program.size(); ++at) {
    const sock_filter& step = program[at];
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&value, reinterpret_cast<const char*>(&data) + step.k, sizeof value);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        value &= step.k;
        break;
      case BPF_JMP | BPF_JA:
        at += step.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += value == step.k ? step.jt : step.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += value >= step.k ? step.jt : step.jf;
        break;
      case BPF_RET | BPF_K:
        return step.k;
      default:
        ADD_FAILURE() << "instruction " << step.code;
        return 0;
    }
  }
  ADD_FAILURE() << "the program does not answer";
  return 0;
}

class SystemCalls : public testing::Test {
 protected:
  uint32_t answer(int number, std::initializer_list<uint64_t> arguments = {}) const {
    seccomp_data data{};
    data.nr = number;
    data.arch = AUDIT_ARCH_X86_64;
    std::copy(arguments.begin(), arguments.end(), data.args);
    return answer_to(program_, data);
  }

  std::vector<SystemCallRule> rules_ = allowed_system_calls({.process = 4711});
  std::vector<sock_filter> program_ = compile_filter(rules_, deadly_system_calls());
};

TEST_F(SystemCalls, EachNumberHasTheAnswerOfItsTable) {
  std::set<int> always, never;
  for (const SystemCallRule& rule : rules_) (rule.any_of.empty() ? always : never).insert(rule.number);
  EXPECT_EQ(always.size() + never.size(), rules_.size()) << "a number twice";
  for (int number : deadly_system_calls()) EXPECT_TRUE(!always.contains(number) && !never.contains(number)) << number;
  const std::vector<int> deadly = deadly_system_calls();
  const std::set<int> deadly_set(deadly.begin(), deadly.end());
  const std::set<int> old_way = {435, 437};
  for (int number = 0; number < kSystemCallNumbers; ++number) {
    if (never.contains(number)) continue;  // by its arguments
    const uint32_t expected = always.contains(number)       ? static_cast<uint32_t>(SECCOMP_RET_ALLOW)
                              : deadly_set.contains(number) ? static_cast<uint32_t>(SECCOMP_RET_KILL_PROCESS)
                              : old_way.contains(number)    ? SECCOMP_RET_ERRNO | ENOSYS
                                                            : kRefused;
    EXPECT_EQ(answer(number), expected) << system_call_name(number);
  }
  EXPECT_EQ(answer(kSystemCallNumbers), SECCOMP_RET_TRAP | ENOSYS);
  EXPECT_EQ(answer(-1), static_cast<uint32_t>(SECCOMP_RET_KILL_PROCESS)) << "of x32's range";
}

TEST_F(SystemCalls, TheKernelCanAnswerCallsWithoutArgumentsFromItsTable) {
  // It looks for loads beyond the number and the architecture on the way to the answer (Linux 5.11).
  for (const SystemCallRule& rule : rules_) {
    if (!rule.any_of.empty()) continue;
    seccomp_data data{};
    std::memset(data.args, 0xff, sizeof data.args);
    data.nr = rule.number;
    data.arch = AUDIT_ARCH_X86_64;
    EXPECT_EQ(answer_to(program_, data), static_cast<uint32_t>(SECCOMP_RET_ALLOW));
  }
}

TEST_F(SystemCalls, ArgumentsAreComparedInTheirPlaces) {
  EXPECT_EQ(answer(SYS_kill, {4711, 15}), static_cast<uint32_t>(SECCOMP_RET_ALLOW));
  EXPECT_EQ(answer(SYS_kill, {4712, 15}), kRefused);
  EXPECT_EQ(answer(SYS_prlimit64, {0, 7, 0, 1}), static_cast<uint32_t>(SECCOMP_RET_ALLOW));
  EXPECT_EQ(answer(SYS_prlimit64, {0, 7, 0x100000000, 1}), kRefused) << "a pointer, whose lower half is zero";
  constexpr uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  EXPECT_EQ(answer(SYS_clone, {kThread}), static_cast<uint32_t>(SECCOMP_RET_ALLOW));
  EXPECT_EQ(answer(SYS_clone, {kThread | CLONE_NEWNET}), kRefused);
  EXPECT_EQ(answer(SYS_clone, {17}), kRefused);
}

TEST_F(SystemCalls, FitOneProgram) { EXPECT_LT(program_.size(), static_cast<size_t>(BPF_MAXINSNS)); }

TEST(SystemCallNames, AreThoseOfTheKernel) {
  EXPECT_EQ(system_call_name(SYS_openat), "openat");
  EXPECT_EQ(system_call_name(SYS_io_uring_setup), "io_uring_setup");
  EXPECT_EQ(system_call_name(400), "number 400");
}

}  // namespace
}  // namespace drover::engine::sandbox
