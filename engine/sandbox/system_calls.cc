#include "engine/sandbox/system_calls.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>

namespace drover::engine::sandbox {
namespace {

enum Number : int {
#define SYSTEM_CALL(name, number) k_##name = number,
#include "engine/sandbox/system_call_names.inc"
#undef SYSTEM_CALL
};

struct Name {
  int number;
  const char* text;
};

constexpr Name kNames[] = {
#define SYSTEM_CALL(name, number) {number, #name},
#include "engine/sandbox/system_call_names.inc"
#undef SYSTEM_CALL
};

constexpr uint32_t kX32 = 0x40000000;
constexpr uint32_t kSocketType = 0xf;         // without SOCK_CLOEXEC and SOCK_NONBLOCK
constexpr uint32_t kNameMemory = 0x53564d41;  // PR_SET_VMA, with which glibc 2.41 can name its mappings
constexpr uint32_t kTimeNamespace = 0x00000080;

// Allowed with any arguments.
constexpr int kAlways[] = {
    // descriptors
    k_read,
    k_write,
    k_readv,
    k_writev,
    k_pread64,
    k_pwrite64,
    k_preadv,
    k_pwritev,
    k_preadv2,
    k_pwritev2,
    k_lseek,
    k_close,
    k_close_range,
    k_fstat,
    k_newfstatat,
    k_stat,
    k_lstat,
    k_statx,
    k_flock,
    k_dup,
    k_dup2,
    k_dup3,
    k_fsync,
    k_fdatasync,
    k_ftruncate,
    k_pipe2,
    k_memfd_create,
    k_eventfd2,
    k_timerfd_create,
    k_timerfd_settime,
    k_timerfd_gettime,
    // names; Landlock decides about what they lead to
    k_access,
    k_faccessat,
    k_faccessat2,
    k_readlink,
    k_readlinkat,
    k_getcwd,
    k_getdents64,
    k_unlink,
    k_unlinkat,
    // waiting
    k_poll,
    k_ppoll,
    k_select,
    k_pselect6,
    k_epoll_create1,
    k_epoll_ctl,
    k_epoll_wait,
    k_epoll_pwait,
    k_epoll_pwait2,
    // sockets, once they are made
    k_bind,
    k_listen,
    k_accept,
    k_accept4,
    k_connect,
    k_getsockname,
    k_getpeername,
    k_setsockopt,
    k_getsockopt,
    k_recvfrom,
    k_recvmsg,
    k_recvmmsg,
    k_shutdown,
    // io_uring: rings that were made before
    k_io_uring_enter,
    k_io_uring_register,
    // memory
    k_munmap,
    k_mremap,
    k_madvise,
    k_brk,
    k_msync,
    k_mlock,
    k_munlock,
    k_mincore,
    k_membarrier,
    // threads
    k_futex,
    k_futex_waitv,
    k_futex_wake,
    k_futex_wait,
    k_futex_requeue,
    k_set_robust_list,
    k_get_robust_list,
    k_rseq,
    k_set_tid_address,
    k_exit,
    k_exit_group,
    k_gettid,
    k_getpid,
    k_getppid,
    k_sched_yield,
    k_sched_getaffinity,
    k_sched_getparam,
    k_sched_getscheduler,
    k_sched_get_priority_max,
    k_sched_get_priority_min,
    k_getcpu,
    // signals to itself, which kill and tgkill below are for
    k_rt_sigaction,
    k_rt_sigprocmask,
    k_rt_sigreturn,
    k_rt_sigtimedwait,
    k_rt_sigpending,
    k_rt_sigsuspend,
    k_sigaltstack,
    k_restart_syscall,
    k_pause,
    // time, limits and identity, to be read
    k_clock_gettime,
    k_clock_getres,
    k_clock_nanosleep,
    k_nanosleep,
    k_gettimeofday,
    k_time,
    k_times,
    k_getrusage,
    k_getrlimit,
    k_sysinfo,
    k_uname,
    k_getrandom,
    k_getuid,
    k_geteuid,
    k_getgid,
    k_getegid,
    k_getresuid,
    k_getresgid,
    k_getgroups,
    k_capget,
    k_umask,
    // hosts
    k_pidfd_open,
};

// ENOSYS: the C library has another way, whose arguments a filter can see.
constexpr int kOldWayInstead[] = {k_clone3, k_openat2};

ArgumentTest is(uint8_t argument, uint32_t value) { return {argument, 0xffffffff, value}; }
ArgumentTest none_of(uint8_t argument, uint32_t bits) { return {argument, bits, 0}; }

void append_sockets(const SystemCallOptions& options, std::vector<SystemCallRule>& out) {
  auto kind = [](uint32_t domain, uint32_t type, uint32_t protocol = 0) {
    return std::vector<ArgumentTest>{is(0, domain), {1, kSocketType, type}, is(2, protocol)};
  };
  // No protocol but the usual one, by its number or by 0: Landlock has no rule for MPTCP.
  SystemCallRule socket{
      k_socket,
      {kind(AF_UNIX, SOCK_STREAM), kind(AF_UNIX, SOCK_SEQPACKET), kind(AF_INET, SOCK_STREAM),
       kind(AF_INET6, SOCK_STREAM), kind(AF_INET, SOCK_STREAM, IPPROTO_TCP), kind(AF_INET6, SOCK_STREAM, IPPROTO_TCP)}};
  if (options.datagrams) {
    socket.any_of.push_back(kind(AF_INET, SOCK_DGRAM));
    socket.any_of.push_back(kind(AF_INET6, SOCK_DGRAM));
  }
  out.push_back(std::move(socket));
  out.push_back({k_socketpair, {kind(AF_UNIX, SOCK_STREAM), kind(AF_UNIX, SOCK_SEQPACKET)}});
  // Without TCP Fast Open, which connects.
  out.push_back({k_sendto, {{none_of(3, MSG_FASTOPEN)}}});
  out.push_back({k_sendmsg, {{none_of(2, MSG_FASTOPEN)}}});
  out.push_back({k_sendmmsg, {{none_of(3, MSG_FASTOPEN)}}});
}

}  // namespace

const int kSystemCallNumbers = kNames[std::size(kNames) - 1].number + 1;

std::vector<SystemCallRule> allowed_system_calls(const SystemCallOptions& options) {
  // Files are opened for writing before: the log and the pidfile.
  constexpr uint32_t kOpensForMore = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
  constexpr uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                   CLONE_NEWPID | CLONE_NEWNET | kTimeNamespace;
  constexpr uint32_t kThread = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;
  const auto self = static_cast<uint32_t>(options.process);
  std::vector<SystemCallRule> rules = {
      // these two first: `appends`
      {k_openat, {{none_of(2, kOpensForMore)}}},
      {k_open, {{none_of(1, kOpensForMore)}}},
      // not F_SETOWN and F_SETSIG, which signal others
      {k_fcntl,
       {{is(1, F_GETFD)},
        {is(1, F_SETFD)},
        {is(1, F_GETFL)},
        {is(1, F_SETFL)},
        {is(1, F_DUPFD)},
        {is(1, F_DUPFD_CLOEXEC)},
        {is(1, F_GET_SEALS)},
        {is(1, F_ADD_SEALS)}}},
      {k_mmap, {{none_of(2, PROT_EXEC)}}},
      {k_mprotect, {{none_of(2, PROT_EXEC)}}},
      {k_clone, {{{0, kThread, kThread}, none_of(0, kNamespaces)}}},
      {k_sched_setaffinity, {{is(0, 0)}}},  // the calling thread's
      {k_kill, {{is(0, self)}}},
      {k_tgkill, {{is(0, self)}}},
      {k_rt_tgsigqueueinfo, {{is(0, self)}}},
      {k_prctl, {{is(0, PR_SET_NAME)}, {is(0, PR_SET_PDEATHSIG)}, {is(0, PR_GET_NAME)}, {is(0, kNameMemory)}}},
      {k_ioctl, {{is(1, TCGETS)}, {is(1, FIONREAD)}, {is(1, FIONBIO)}, {is(1, SIOCOUTQ)}}},
      {k_prlimit64, {{is(2, 0), {2, 0xffffffff, 0, true}}}},  // reads limits
  };
  if (options.appends) {
    constexpr uint32_t kHow = O_ACCMODE | O_APPEND | O_TRUNC;
    rules[0].any_of.push_back({{2, kHow, O_WRONLY | O_APPEND}});
    rules[1].any_of.push_back({{1, kHow, O_WRONLY | O_APPEND}});
  }
  if (options.renames) {
    for (int number : {k_rename, k_renameat, k_renameat2}) rules.push_back({number});
  }
  append_sockets(options, rules);
  for (int number : kAlways) rules.push_back({number});
  return rules;
}

std::vector<int> deadly_system_calls() {
  return {k_execve,
          k_execveat,
          k_ptrace,
          k_process_vm_readv,
          k_process_vm_writev,
          k_pidfd_getfd,
          k_kcmp,
          k_mount,
          k_umount2,
          k_pivot_root,
          k_chroot,
          k_move_mount,
          k_open_tree,
          k_fsopen,
          k_fsmount,
          k_mount_setattr,
          k_setns,
          k_unshare,
          k_bpf,
          k_perf_event_open,
          k_userfaultfd,
          k_kexec_load,
          k_kexec_file_load,
          k_init_module,
          k_finit_module,
          k_delete_module,
          k_add_key,
          k_request_key,
          k_keyctl,
          k_open_by_handle_at,
          k_iopl,
          k_ioperm,
          k_modify_ldt,
          k_reboot,
          k_swapon,
          k_swapoff,
          k_acct,
          k_quotactl,
          k_setuid,
          k_setgid,
          k_setreuid,
          k_setregid,
          k_setresuid,
          k_setresgid,
          k_setgroups,
          k_capset,
          k_personality,
          k_io_uring_setup};
}

namespace {

constexpr uint32_t kRefuse = SECCOMP_RET_TRAP | (EPERM & SECCOMP_RET_DATA);
constexpr uint32_t kNotThere = SECCOMP_RET_TRAP | (ENOSYS & SECCOMP_RET_DATA);  // counted, too
constexpr uint32_t kOldWay = SECCOMP_RET_ERRNO | (ENOSYS & SECCOMP_RET_DATA);

sock_filter load(size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
sock_filter answer(uint32_t with) { return BPF_STMT(BPF_RET | BPF_K, with); }
// Goes on with the next instruction if the value is `value`, else leaves out `otherwise` of them.
sock_filter unless_equal(uint32_t value, size_t otherwise) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, static_cast<uint8_t>(otherwise));
}

// Tests one after the other; one that fails jumps behind them and the answer.
std::vector<sock_filter> allow_if(const std::vector<ArgumentTest>& tests) {
  constexpr size_t kOfATest = 3;
  std::vector<sock_filter> out;
  for (size_t i = 0; i < tests.size(); ++i) {
    const ArgumentTest& test = tests[i];
    out.push_back(load(offsetof(seccomp_data, args) + 8 * test.argument + (test.high ? 4 : 0)));
    out.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, test.mask));
    out.push_back(unless_equal(test.value, kOfATest * (tests.size() - 1 - i) + 1));
  }
  out.push_back(answer(SECCOMP_RET_ALLOW));
  return out;
}

// Behind it the accumulator holds the call's number still, since a rule that matches answers.
void append_rule(const SystemCallRule& rule, std::vector<sock_filter>& out) {
  std::vector<sock_filter> body;
  for (const auto& tests : rule.any_of) {
    const std::vector<sock_filter> one = allow_if(tests);
    body.insert(body.end(), one.begin(), one.end());
  }
  body.push_back(answer(rule.any_of.empty() ? SECCOMP_RET_ALLOW : kRefuse));
  out.push_back(unless_equal(static_cast<uint32_t>(rule.number), body.size()));
  out.insert(out.end(), body.begin(), body.end());
}

}  // namespace

std::vector<sock_filter> compile_filter(const std::vector<SystemCallRule>& allowed, const std::vector<int>& deadly) {
  std::vector<sock_filter> out = {
      load(offsetof(seccomp_data, arch)), unless_equal(AUDIT_ARCH_X86_64, 1),
      BPF_STMT(BPF_JMP | BPF_JA, 1),      answer(SECCOMP_RET_KILL_PROCESS),
      load(offsetof(seccomp_data, nr)),   BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32, 0, 1),
      answer(SECCOMP_RET_KILL_PROCESS),
  };
  for (const SystemCallRule& rule : allowed) append_rule(rule, out);
  for (int number : deadly) {
    out.push_back(unless_equal(static_cast<uint32_t>(number), 1));
    out.push_back(answer(SECCOMP_RET_KILL_PROCESS));
  }
  for (int number : kOldWayInstead) {
    out.push_back(unless_equal(static_cast<uint32_t>(number), 1));
    out.push_back(answer(kOldWay));
  }
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, static_cast<uint32_t>(kSystemCallNumbers), 0, 1));
  out.push_back(answer(kNotThere));
  out.push_back(answer(kRefuse));
  return out;
}

std::string system_call_name(int number) {
  const auto* found =
      std::find_if(std::begin(kNames), std::end(kNames), [number](const Name& name) { return name.number == number; });
  return found == std::end(kNames) ? "number " + std::to_string(number) : found->text;
}

}  // namespace drover::engine::sandbox
