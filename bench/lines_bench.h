// What lines_bench and udp_lines_bench share: droverd as a child, pinned threads, and echoes with a window of calls.
#pragma once

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/lines/engine/lines_engine.h"

extern char** environ;

namespace drover::bench {

inline constexpr uint16_t kEcho = 1;

[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
  std::exit(1);
}

inline bool pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set) == 0;
}

inline double clock_ns(clockid_t clock) {
  timespec now{};
  if (::clock_gettime(clock, &now) != 0) fail("a clock that cannot be read");
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// droverd as a child, its engine thread on a CPU of its own.
class Droverd {
 public:
  Droverd(const std::string& program, int cpu, const std::vector<std::string>& more = {}) {
    static int count = 0;
    address_ = "unix:@lines-bench-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
    std::vector<std::string> flags = {program, "--engine.control_socket=" + address_,
                                      "--engine.cpus=" + std::to_string(cpu), "--log.level=error"};
    flags.insert(flags.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& flag : flags) arguments.push_back(flag.data());
    arguments.push_back(nullptr);
    if (::posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) {
      fail("cannot start " + program);
    }
  }
  ~Droverd() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  std::unique_ptr<lines::LinesEngine> attach(uint32_t ring_slots, bool serves) const {
    lines::LinesEngineOptions wish;
    (serves ? wish.serves : wish.calls) = {"echo"};
    wish.ring_slots = ring_slots;
    wish.host.emplace();
    wish.host->engine = address_;
    std::string error;
    auto engine = lines::LinesEngine::start(wish, &error);
    if (engine == nullptr) fail(error);
    return engine;
  }
  // After a host has attached: the engine thread's /proc entry.
  void find_thread() {
    std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
    DIR* directory = ::opendir(tasks.c_str());
    while (dirent* entry = directory != nullptr ? ::readdir(directory) : nullptr) {
      std::string name;
      std::getline(std::ifstream(tasks + "/" + entry->d_name + "/comm") >> std::ws, name);
      if (name == "engine-0") task_ = tasks + "/" + entry->d_name;
    }
    if (directory != nullptr) ::closedir(directory);
    if (task_.empty()) fail("droverd has no thread engine-0");
  }
  // Of the whole process.
  double cpu_ns() const {
    clockid_t clock;
    if (::clock_getcpuclockid(pid_, &clock) != 0) fail("no clock of droverd");
    return clock_ns(clock);
  }
  long preemptions() const {
    std::ifstream status(task_ + "/status");
    for (std::string word; status >> word;) {
      if (word != "nonvoluntary_ctxt_switches:") continue;
      long count = 0;
      status >> count;
      return count;
    }
    return 0;
  }

 private:
  std::string address_, task_;
  pid_t pid_ = 0;
};

inline void serve_echoes(lines::RpcThreadedServer* server) {
  server->handle(kEcho, [](const lines::Request& request, lines::Response& response) {
    response.copy(request.arguments);
    return lines::kStatusOk;
  });
}

// A connection to "echo", of worker 0. `wait_ns`: for a host that serves it.
inline uint16_t connect(lines::LinesEngine& engine, int64_t wait_ns) {
  std::string error;
  auto connection = engine.open("echo", 0, wait_ns, &error);
  if (!connection) fail(error);
  return *connection;
}

// Keeps `window` calls outstanding until `calls` have ended. begin(number) -> bool: the call has begun. turn(any) sends
// what has begun, if `any` has, and takes answers; it counts `ended`.
template <typename Begin, typename Turn>
void keep_window(uint64_t calls, uint32_t window, const uint64_t& ended, Begin begin, Turn turn) {
  uint64_t begun = 0;
  while (ended < calls) {
    bool any = false;
    while (begun < calls && begun - ended < window && begin(begun)) {
      ++begun;
      any = true;
    }
    turn(any);
  }
}

// `calls` echoes of 48 bytes, `window` of them outstanding; each answer is compared with its call. turn(taken) takes
// answers; when no answer has come, it waits in the way that the benchmark measures.
template <typename Turn>
void run_echoes(lines::RpcClient& client, uint64_t calls, uint32_t window, Turn turn) {
  uint64_t ended = 0;
  uint64_t arguments[6];  // 48 bytes, with 16 of the header one line
  auto begin = [&](uint64_t tag) {
    for (uint64_t i = 0; i < 6; ++i) arguments[i] = tag * 6 + i;
    return client.begin(kEcho, std::as_bytes(std::span(arguments)), tag) == lines::BeginResult::kOk;
  };
  auto taken = [&](const lines::Completion& done) {
    ++ended;
    uint64_t first = 0, last = 0;
    if (done.status != lines::kStatusOk || done.response.size() != sizeof arguments) fail("a call failed");
    std::memcpy(&first, done.response.data(), sizeof first);
    std::memcpy(&last, done.response.data() + sizeof arguments - sizeof last, sizeof last);
    if (first != done.tag * 6 || last != done.tag * 6 + 5) fail("an answer is not its call's");
  };
  keep_window(calls, window, ended, begin, [&](bool any) {
    if (any) client.flush();
    turn(taken);
  });
}

}  // namespace drover::bench
