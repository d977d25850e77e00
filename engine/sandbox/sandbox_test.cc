// What a process may and may not do in the sandbox. Each case runs in a child process, which enters it with the policy
// of the test, and tells by its exit status or the signal that ends it.
#include "engine/sandbox/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "engine/sandbox/privileges.h"
#include "engine/sandbox/refusals.h"
#include "engine/sandbox/system_calls.h"

namespace drover::engine::sandbox {
namespace {

constexpr int kNotEntered = 101;
constexpr int kWorked = 0;

// A directory of the test's own: DIRECTORY/sockets may have sockets, DIRECTORY/readable may be read, the rest nothing.
class Sandbox : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& what : missing_here()) {
      if (!what.starts_with("Landlock: ABI")) GTEST_SKIP() << what;
    }
    char name[] = "/tmp/drover-sandbox-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    for (const char* part : {"sockets", "readable", "other"}) {
      std::filesystem::create_directory(directory_ + "/" + part);
      std::ofstream(directory_ + "/" + part + "/file") << "text";
    }
    policy_.mode = landlock_abi() >= kLeastAbi ? Mode::kRequired : Mode::kOn;
    policy_.files.sockets = {directory_ + "/sockets"};
    policy_.files.readable = {directory_ + "/readable"};
  }
  void TearDown() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  // The exit status of a child that enters the sandbox and does `work`; minus the signal that ended it.
  int in_sandbox(const std::function<int()>& work) const {
    const pid_t child = ::fork();
    if (child == 0) {
      Outcome outcome;
      std::string error;
      if (!enter(policy_, &outcome, &error)) {
        std::fprintf(stderr, "%s\n", error.c_str());
        ::_exit(kNotEntered);
      }
      ::_exit(work());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  // errno of a call that fails, kWorked of one that does not.
  static int told(long result) { return result >= 0 ? kWorked : errno; }
  int opening(const std::string& name, int flags) const {
    return in_sandbox([&] { return told(::open((directory_ + "/" + name).c_str(), flags | O_CLOEXEC, 0600)); });
  }
  static int listening_at(const std::string& path) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return errno;
    return told(::listen(fd, 1));
  }

  std::string directory_;
  Policy policy_;
};

// ---- files

TEST_F(Sandbox, FilesAreReadOnlyWhereThePolicySays) {
  EXPECT_EQ(opening("readable/file", O_RDONLY), kWorked);
  EXPECT_EQ(opening("other/file", O_RDONLY), EACCES);
  EXPECT_EQ(opening("sockets/file", O_RDONLY), EACCES);
  EXPECT_EQ(in_sandbox([] { return told(::open("/etc/passwd", O_RDONLY)); }), EACCES);
  EXPECT_EQ(in_sandbox([] { return told(::open("/proc/self/maps", O_RDONLY)); }), EACCES);
}

TEST_F(Sandbox, AFileThatReplacesAnotherIsRead) {  // certificates are renewed by a rename
  int entered[2], replaced[2];
  ASSERT_EQ(::pipe(entered), 0);
  ASSERT_EQ(::pipe(replaced), 0);
  const std::string name = directory_ + "/readable/";
  std::thread operator_thread([&] {
    char byte;
    if (::read(entered[0], &byte, 1) != 1) return;
    std::ofstream(name + "new") << "new";
    std::filesystem::rename(name + "new", name + "file");
    if (::write(replaced[1], &byte, 1) != 1) std::abort();
  });
  EXPECT_EQ(in_sandbox([&] {
              char byte = 0;
              if (::write(entered[1], &byte, 1) != 1 || ::read(replaced[0], &byte, 1) != 1) return kNotEntered;
              const int fd = ::open((name + "file").c_str(), O_RDONLY | O_CLOEXEC);
              if (fd < 0) return errno;
              return ::read(fd, &byte, 1) == 1 && byte == 'n' ? kWorked : 1;
            }),
            kWorked);
  if (::write(entered[1], "", 1) != 1) std::abort();  // should the child not have come so far
  operator_thread.join();
  for (int fd : {entered[0], entered[1], replaced[0], replaced[1]}) ::close(fd);
}

TEST_F(Sandbox, NoFileIsWrittenMadeOrCutShort) {
  for (const char* name : {"readable/file", "sockets/file", "other/file"}) {
    for (int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_WRONLY | O_APPEND}) {
      EXPECT_EQ(opening(name, flags), EPERM) << name << ' ' << flags;
    }
  }
  EXPECT_EQ(opening("sockets/new", O_RDONLY | O_CREAT), EPERM);
  EXPECT_EQ(opening("sockets", O_TMPFILE | O_RDWR), EPERM);
  const std::string file = directory_ + "/sockets/file";
  EXPECT_EQ(in_sandbox([&] { return told(::truncate(file.c_str(), 0)); }), EPERM);
  EXPECT_EQ(in_sandbox([&] { return told(::rename(file.c_str(), (file + "2").c_str())); }), EPERM);
  EXPECT_EQ(in_sandbox([&] { return told(::symlink("/etc", (file + "2").c_str())); }), EPERM);
  EXPECT_EQ(in_sandbox([&] { return told(::mkdir((file + "2").c_str(), 0700)); }), EPERM);
  EXPECT_EQ(in_sandbox([&] { return told(::chmod(file.c_str(), 0777)); }), EPERM);
}

TEST_F(Sandbox, FilesAreWrittenAtTheirEndsWhereThePolicySays) {
  policy_.files.appended = {directory_ + "/other"};
  EXPECT_EQ(opening("other/file", O_WRONLY | O_APPEND), kWorked);
  EXPECT_EQ(opening("other/new", O_WRONLY | O_APPEND | O_CREAT), kWorked);
  EXPECT_EQ(opening("sockets/file", O_WRONLY | O_APPEND), EACCES);
  EXPECT_EQ(opening("sockets/new", O_WRONLY | O_APPEND | O_CREAT), EACCES);
  for (int flags : {O_WRONLY, O_RDWR | O_APPEND, O_WRONLY | O_APPEND | O_TRUNC, O_WRONLY | O_CREAT}) {
    EXPECT_EQ(opening("other/file", flags), EPERM) << flags;
  }
  EXPECT_EQ(opening("other/file", O_RDONLY), EACCES);
}

TEST_F(Sandbox, FilesAreMovedWithinTheirDirectoryWhereThePolicySays) {
  policy_.files.appended = policy_.files.rotated = {directory_ + "/other"};
  const std::string file = directory_ + "/other/file", old = file + ".1";
  const auto moving = [&](const std::string& from, const std::string& to) {
    return in_sandbox([&] { return told(::rename(from.c_str(), to.c_str())); });
  };
  EXPECT_EQ(moving(file, old), kWorked);
  EXPECT_TRUE(std::filesystem::exists(old));
  EXPECT_EQ(opening("other/file", O_WRONLY | O_APPEND | O_CREAT), kWorked);
  EXPECT_EQ(moving(file, old), kWorked);  // in the place of one
  EXPECT_EQ(moving(directory_ + "/sockets/file", directory_ + "/sockets/moved"), EACCES);
  EXPECT_NE(moving(old, directory_ + "/sockets/moved"), kWorked);
  EXPECT_EQ(in_sandbox([&] { return told(::unlink(old.c_str())); }), kWorked);
}

TEST_F(Sandbox, SocketsAreMadeAndRemovedWhereThePolicySays) {
  const std::string path = directory_ + "/sockets/x.sock";
  EXPECT_EQ(in_sandbox([&] {
              if (const int why = listening_at(path); why != kWorked) return why;
              const int place = ::open((directory_ + "/sockets").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
              if (place < 0) return errno;
              return told(::unlinkat(place, "x.sock", 0));
            }),
            kWorked);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(in_sandbox([&] { return listening_at(directory_ + "/other/x.sock"); }), EACCES);
  EXPECT_EQ(in_sandbox([&] { return told(::unlink((directory_ + "/other/file").c_str())); }), EACCES);
}

TEST_F(Sandbox, ADirectoryThatIsNotThereIsNamed) {
  policy_.files.sockets.push_back(directory_ + "/later");
  EXPECT_EQ(in_sandbox([] { return kWorked; }), kWorked);
  Granted granted;
  std::string error;
  const pid_t child = ::fork();
  if (child == 0) {
    set_no_new_privileges();
    const bool done = limit_files(policy_.files, &granted, &error);
    ::_exit(done && granted.missing.size() == 1 && granted.missing[0].ends_with("/later: No such file or directory")
                ? 0
                : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Sandbox, AMemfdIsOpenedAgainToBeReadOnly) {
  EXPECT_EQ(in_sandbox([] {
              const int memory = ::memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
              if (memory < 0 || ::ftruncate(memory, 4096) != 0) return errno;
              return told(::open(("/proc/self/fd/" + std::to_string(memory)).c_str(), O_RDONLY | O_CLOEXEC));
            }),
            kWorked);
}

TEST_F(Sandbox, AMemfdIsOpenedAgainByAProcessThatDumpsNoCoreAndIsNotRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  EXPECT_EQ(in_sandbox([] { return kWorked; }), kWorked);
  const pid_t child = ::fork();
  if (child == 0) {
    User user{65534, 65534, ""};
    std::string error;
    Outcome outcome;
    if (!become(user, 0, &error) || !enter(policy_, &outcome, &error)) ::_exit(kNotEntered);
    const int memory = ::memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ::_exit(told(::open(("/proc/self/fd/" + std::to_string(memory)).c_str(), O_RDONLY | O_CLOEXEC)));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), kWorked);
}

// ---- what only an attacker does

TEST_F(Sandbox, RunningAProgramEndsTheProcess) {
  EXPECT_EQ(in_sandbox([] {
              char* const words[] = {nullptr};
              return told(::execve("/bin/true", words, words));
            }),
            -SIGSYS);
  EXPECT_EQ(in_sandbox([] { return told(::syscall(SYS_execveat, 0, "", nullptr, nullptr, 0)); }), -SIGSYS);
}

TEST_F(Sandbox, TracingAndReadingOtherProcessesEndsTheProcess) {
  const pid_t parent = ::getpid();
  EXPECT_EQ(in_sandbox([&] { return told(::ptrace(PTRACE_ATTACH, parent, 0, 0)); }), -SIGSYS);
  EXPECT_EQ(in_sandbox([&] { return told(::syscall(SYS_process_vm_readv, parent, nullptr, 0, nullptr, 0, 0)); }),
            -SIGSYS);
  EXPECT_EQ(in_sandbox([&] { return told(::syscall(SYS_process_vm_writev, parent, nullptr, 0, nullptr, 0, 0)); }),
            -SIGSYS);
}

TEST_F(Sandbox, EachDeadlyCallEndsTheProcess) {
  for (int number : deadly_system_calls()) {
    EXPECT_EQ(in_sandbox([&] { return told(::syscall(number, -1, 0, 0, 0, 0, 0)); }), -SIGSYS)
        << system_call_name(number);
  }
}

TEST_F(Sandbox, AnotherAbiEndsTheProcess) {
  constexpr long kX32 = 0x40000000;
  EXPECT_EQ(in_sandbox([] { return told(::syscall(kX32 | SYS_getpid)); }), -SIGSYS);
#ifdef __x86_64__
  EXPECT_EQ(in_sandbox([] {
              int result = 20;  // getpid of i386
              asm volatile("int $0x80" : "+a"(result)::"memory");
              return result >= 0 ? kWorked : -result;
            }),
            -SIGSYS);
#endif
}

TEST_F(Sandbox, NoChildProcessIsMade) {
  EXPECT_EQ(in_sandbox([] { return told(::syscall(SYS_fork)); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return told(::syscall(SYS_vfork)); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return told(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return told(::syscall(SYS_clone3, nullptr, 0)); }), ENOSYS);
}

TEST_F(Sandbox, MemoryDoesNotBecomeCode) {
  EXPECT_EQ(in_sandbox([] {
              void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return page == MAP_FAILED ? errno : kWorked;
            }),
            EPERM);
  EXPECT_EQ(in_sandbox([] {
              void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              if (page == MAP_FAILED) return kNotEntered;
              return told(::mprotect(page, 4096, PROT_READ | PROT_EXEC));
            }),
            EPERM);
}

TEST_F(Sandbox, SignalsReachOnlyTheProcessItself) {
  const pid_t parent = ::getpid();
  EXPECT_EQ(in_sandbox([&] { return told(::kill(parent, 0)); }), EPERM);
  EXPECT_EQ(in_sandbox([&] { return told(::kill(-1, 0)); }), EPERM);
  EXPECT_EQ(in_sandbox([&] { return told(::kill(::getpid(), 0)); }), kWorked);
  EXPECT_EQ(in_sandbox([&]() -> int { std::abort(); }), -SIGABRT);
}

// ---- sockets

TEST_F(Sandbox, SocketsAreOfTheKindsThatAnEngineListensWith) {
  struct Case {
    int domain, type, told;
  };
  const Case cases[] = {
      {AF_INET, SOCK_STREAM, kWorked},    {AF_INET6, SOCK_STREAM, kWorked}, {AF_UNIX, SOCK_STREAM, kWorked},
      {AF_UNIX, SOCK_SEQPACKET, kWorked}, {AF_UNIX, SOCK_DGRAM, EPERM},     {AF_INET, SOCK_DGRAM, EPERM},
      {AF_INET6, SOCK_DGRAM, EPERM},      {AF_INET, SOCK_RAW, EPERM},       {AF_PACKET, SOCK_RAW, EPERM},
      {AF_NETLINK, SOCK_RAW, EPERM},      {AF_VSOCK, SOCK_STREAM, EPERM},   {AF_ALG, SOCK_SEQPACKET, EPERM},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(in_sandbox([&] { return told(::socket(one.domain, one.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }),
              one.told)
        << one.domain << ' ' << one.type;
  }
  EXPECT_EQ(in_sandbox([] { return told(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 262)); }), EPERM)
      << "MPTCP, for which Landlock has no rule";
  int pair[2];
  EXPECT_EQ(in_sandbox([&] { return told(::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)); }), EPERM);
  EXPECT_EQ(in_sandbox([&] { return told(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair)); }), kWorked);
  policy_.datagrams = true;
  EXPECT_EQ(in_sandbox([] { return told(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }), kWorked);
  EXPECT_EQ(in_sandbox([] { return told(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }), kWorked);
}

TEST_F(Sandbox, NothingIsSentByTcpFastOpen) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(9);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(in_sandbox([&]() -> int {
              return told(static_cast<int>(::sendto(socket, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL,
                                                    reinterpret_cast<const sockaddr*>(&to), sizeof to)));
            }),
            EPERM);
  EXPECT_EQ(in_sandbox([&] { return told(::fcntl(socket, F_SETOWN, ::getpid())); }), EPERM);
  ::close(socket);
}

TEST_F(Sandbox, ListenersOpenAtAnyTimeAndNobodyIsConnectedTo) {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(server, 8), 0);
  ASSERT_EQ(::getsockname(server, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(in_sandbox([] {
              const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
              sockaddr_in any{};
              any.sin_family = AF_INET;
              if (::bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) != 0) return errno;
              return told(::listen(fd, 8));
            }),
            kWorked);
  if (landlock_abi() >= 4) {
    EXPECT_EQ(in_sandbox([&] {
                const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
                return told(::connect(fd, reinterpret_cast<sockaddr*>(&address), size));
              }),
              EACCES);
  }
  ::close(server);
}

TEST_F(Sandbox, AThreadChoosesItsOwnProcessorsOnly) {
  EXPECT_EQ(in_sandbox([] {
              cpu_set_t all;
              if (::sched_getaffinity(0, sizeof all, &all) != 0) return kNotEntered;
              return told(::sched_setaffinity(0, sizeof all, &all));
            }),
            kWorked);
  const pid_t parent = ::getpid();
  EXPECT_EQ(in_sandbox([&] {
              cpu_set_t all;
              if (::sched_getaffinity(0, sizeof all, &all) != 0) return kNotEntered;
              return told(::sched_setaffinity(parent, sizeof all, &all));
            }),
            EPERM);
}

// ---- older kernels

TEST(LandlockGaps, NameWhatAnOlderKernelDoesNotKeepFrom) {
  EXPECT_EQ(landlock_gaps(2).size(), 3u);
  ASSERT_EQ(landlock_gaps(3).size(), 2u);
  EXPECT_EQ(landlock_gaps(3).front(), "connecting by TCP (ABI 4, Linux 6.7)");
  EXPECT_EQ(landlock_gaps(kLeastAbi - 1),
            std::vector<std::string>{"connecting to abstract Unix sockets (ABI 6, Linux 6.12)"});
  EXPECT_TRUE(landlock_gaps(kLeastAbi).empty());
  EXPECT_TRUE(landlock_gaps(kLeastAbi + 1).empty());
}

TEST_F(Sandbox, IsNotEnteredWhereItIsRequiredAndLandlockIsTooOld) {
  policy_.mode = Mode::kRequired;
  policy_.files.newest_abi = 3;
  const pid_t child = ::fork();
  if (child == 0) {
    Outcome outcome;
    std::string error;
    const bool entered = enter(policy_, &outcome, &error);
    ::_exit(!entered && error ==
                            "engine.sandbox=require: Landlock: ABI 3 of this kernel does not keep from connecting "
                            "by TCP (ABI 4, Linux 6.7), connecting to abstract Unix sockets (ABI 6, Linux 6.12)"
                ? 0
                : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  policy_.mode = Mode::kOn;
  EXPECT_EQ(opening("other/file", O_RDONLY), EACCES) << "what the older one does limit";
}

// ---- what the engine goes on doing

TEST_F(Sandbox, ThreadsAreMadeAndNamedAndHaveTheSandboxToo) {
  EXPECT_EQ(in_sandbox([] {
              int seen = -1;
              std::thread([&seen] {
                ::prctl(PR_SET_NAME, "engine-7");
                seen = told(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
              }).join();
              return seen;
            }),
            EACCES);
}

TEST_F(Sandbox, MemoryAndDescriptorsAreTakenAndGiven) {
  EXPECT_EQ(in_sandbox([] {
              for (size_t size : {64ul, 100'000ul, 10'000'000ul}) std::free(std::realloc(std::malloc(size), 2 * size));
              void* map = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              if (map == MAP_FAILED || ::madvise(map, 1 << 20, MADV_DONTNEED) != 0) return errno;
              const int bell = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
              return told(bell);
            }),
            kWorked);
}

TEST_F(Sandbox, NoPrivilegeIsLeftAndNoneCanBeHad) {
  EXPECT_EQ(in_sandbox([] { return static_cast<int>(capabilities()); }), 0);
  Policy keeping = policy_;
  keeping.keep_capabilities = uint64_t{1} << CAP_NET_BIND_SERVICE;
  const bool had = (capabilities() & keeping.keep_capabilities) != 0;
  policy_ = keeping;
  EXPECT_EQ(in_sandbox([&] { return capabilities() == (had ? keeping.keep_capabilities : 0) ? 0 : 1; }), 0);
}

TEST_F(Sandbox, AnotherUserHasTheGroupsOfThatUserAndNoWayBack) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const pid_t child = ::fork();
  if (child == 0) {
    User user;
    std::string error;
    if (!find_user("nobody", "", &user, &error) || !become(user, uint64_t{1} << CAP_NET_BIND_SERVICE, &error)) {
      std::fprintf(stderr, "%s\n", error.c_str());
      ::_exit(kNotEntered);
    }
    uid_t all[3];
    ::getresuid(&all[0], &all[1], &all[2]);
    for (uid_t one : all) {
      if (one != user.uid) ::_exit(1);
    }
    if (capabilities() != uint64_t{1} << CAP_NET_BIND_SERVICE) ::_exit(2);
    if (::setuid(0) == 0) ::_exit(3);
    ::_exit(::prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) == 0 ? 0 : 4);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(User, ThatIsNotThereIsNamed) {
  User user;
  std::string error;
  EXPECT_FALSE(find_user("no-such-user", "", &user, &error));
  EXPECT_EQ(error, "engine.user: there is no user 'no-such-user'");
  EXPECT_FALSE(find_user("root", "no-such-group", &user, &error));
  EXPECT_EQ(error, "engine.group: there is no group 'no-such-group'");
  EXPECT_FALSE(find_user("4123456", "", &user, &error));
  ASSERT_TRUE(find_user("4123456", "77", &user, &error));
  EXPECT_EQ(user.uid, 4123456u);
  EXPECT_EQ(user.gid, 77u);
  EXPECT_FALSE(find_user("4294967295", "77", &user, &error)) << "-1 changes nothing";
}

TEST_F(Sandbox, RefusedCallsAreCountedByTheirNames) {
  EXPECT_EQ(in_sandbox([&] {
              ::mkdir((directory_ + "/sockets/x").c_str(), 0700);
              ::mkdir((directory_ + "/sockets/x").c_str(), 0700);
              ::syscall(9999);
              const int unknown = errno;
              const auto refused = take_refusals();
              const bool right = refused.size() == 2 && system_call_name(refused[0].first) == "mkdir" &&
                                 refused[0].second == 2 && refused[1].first == kSystemCallNumbers;
              return right && unknown == ENOSYS && take_refusals().empty() ? 0 : 1;
            }),
            0);
}

TEST_F(Sandbox, NoCoreIsDumpedUnlessItIsAskedFor) {
  policy_.mode = Mode::kOff;  // in which PR_GET_DUMPABLE may be asked
  EXPECT_EQ(in_sandbox([] { return ::prctl(PR_GET_DUMPABLE); }), 0);
  policy_.core_dumps = true;
  EXPECT_EQ(in_sandbox([] { return ::prctl(PR_GET_DUMPABLE); }), 1);
}

TEST_F(Sandbox, IsNotEnteredBesideAnotherThread) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([] { ::pause(); }).detach();
    Outcome outcome;
    std::string error;
    const bool entered = enter(policy_, &outcome, &error);
    ::_exit(!entered && error == "the process has 2 threads already" ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SandboxInASanitizersBuild, IsOffAndRequiredAnError) {
  const std::vector<std::string> missing = missing_here();
  if (missing.empty() || missing[0].find("sanitizer") == std::string::npos) GTEST_SKIP() << "no sanitizer here";
  Policy policy;
  Outcome outcome;
  std::string error;
  ASSERT_TRUE(enter(policy, &outcome, &error));
  EXPECT_FALSE(outcome.entered);
  EXPECT_EQ(outcome.missing, missing);
  policy.mode = Mode::kRequired;
  EXPECT_FALSE(enter(policy, &outcome, &error));
}

}  // namespace
}  // namespace drover::engine::sandbox
