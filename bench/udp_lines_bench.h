// What udp_lines_bench.cc takes from lines_bench.cc, which has its own copy: droverd as a child, and pinned threads.
#pragma once

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "channel/doorbell.h"
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

inline double thread_cpu_ns() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

inline long preemptions() {
  rusage usage;
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
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
    timespec now{};
    if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &now) != 0) fail("no clock of droverd");
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
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

// The client and the server, which take turns on this thread.
class Hosts {
 public:
  // `there` has the server, `here` the client; they may be one.
  Hosts(uint32_t ring_slots, uint32_t window, const Droverd& here, const Droverd& there)
      : server_engine_(there.attach(ring_slots, true)),
        client_engine_(here.attach(ring_slots, false)),
        thread_(&handlers_, &server_engine_->port(0)) {
    handlers_.handle(kEcho, [](const lines::Request& request, lines::Response& response) {
      response.copy(request.arguments);
      return lines::kStatusOk;
    });
    std::string error;
    auto connection = client_engine_->open("echo", 0, 10'000'000'000, &error);
    if (!connection) fail(error);
    lines::RpcClientOptions wish;
    wish.window = window;
    client_.emplace(&client_engine_->port(0), *connection, wish);
  }

  // `window` calls outstanding, `calls` in all; each answer is compared with its call.
  void run(uint64_t calls, uint32_t window) {
    uint64_t begun = 0, ended = 0;
    uint64_t arguments[6];  // 48 bytes, with 16 of the header one line
    auto fill = [&](uint64_t tag) {
      for (uint64_t i = 0; i < 6; ++i) arguments[i] = tag * 6 + i;
    };
    auto taken = [&](const lines::Completion& done) {
      ++ended;
      uint64_t first = 0, last = 0;
      if (done.status != lines::kStatusOk || done.response.size() != sizeof arguments) fail("a call failed");
      std::memcpy(&first, done.response.data(), sizeof first);
      std::memcpy(&last, done.response.data() + sizeof arguments - sizeof last, sizeof last);
      if (first != done.tag * 6 || last != done.tag * 6 + 5) fail("an answer is not its call's");
    };
    while (ended < calls) {
      bool any = false;
      while (begun < calls && begun - ended < window) {
        fill(begun);
        if (client_->begin(kEcho, std::as_bytes(std::span(arguments)), begun) != lines::BeginResult::kOk) break;
        ++begun;
        any = true;
      }
      if (any) client_->flush();
      if (thread_.serve(window) + client_->poll(window, taken) == 0) {
        cpu_relax();
        if (client_engine_->gone()) fail(client_engine_->failure());
      }
    }
  }

 private:
  lines::RpcThreadedServer handlers_;
  std::unique_ptr<lines::LinesEngine> server_engine_, client_engine_;
  lines::ServerThread thread_;
  std::optional<lines::RpcClient> client_;
};

inline constexpr int kMostRepeats = 50;
inline int repeats_in_all = 0;

struct Series {
  const char* name;
  std::function<double(bool*)> measure;
  std::vector<double> ns;
  // The first undisturbed result.
  void add() {
    bool undisturbed = false;
    double result = measure(&undisturbed);
    for (int i = 0; i < kMostRepeats && !undisturbed; ++i, ++repeats_in_all) result = measure(&undisturbed);
    ns.push_back(result);
  }
  double median() const {
    std::vector<double> sorted = ns;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  double quietest() const { return *std::min_element(ns.begin(), ns.end()); }
};

}  // namespace drover::bench
