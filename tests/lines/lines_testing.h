// droverd as a process, and hosts that call and serve calls as RPC lines, for the tests of real engines.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/lines/engine/lines_engine.h"

extern char** environ;

namespace drover::lines {

inline constexpr uint16_t kEcho = 1, kReverse = 2, kRefuse = 3, kExit = 4;
inline constexpr int64_t kSecond = 1'000'000'000;

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline RpcThreadedServer test_server() {
  RpcThreadedServer server;
  server.handle(kEcho, [](const Request& request, Response& response) {
    response.copy(request.arguments);
    return kStatusOk;
  });
  server.handle(kReverse, [](const Request& request, Response& response) {
    std::byte* to = response.reserve(request.arguments.size());
    std::reverse_copy(request.arguments.begin(), request.arguments.end(), to);
    return kStatusOk;
  });
  server.handle(kRefuse, [](const Request&, Response&) { return kStatusInternal; });
  server.handle(kExit, [](const Request&, Response&) -> uint16_t { ::_exit(0); });
  return server;
}

// droverd as a process.
class EngineProcess {
 public:
  explicit EngineProcess(std::vector<std::string> flags = {}) {
    static int count = 0;
    address_ = "unix:@lines-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
    flags.insert(flags.begin(), {DROVER_DROVERD, "--engine.control_socket=" + address_, "--log.level=error"});
    std::vector<char*> arguments;
    for (std::string& flag : flags) arguments.push_back(flag.data());
    arguments.push_back(nullptr);
    EXPECT_EQ(::posix_spawn(&pid_, DROVER_DROVERD, nullptr, nullptr, arguments.data(), environ), 0);
  }
  ~EngineProcess() { end(SIGTERM); }
  void end(int signal) {
    if (pid_ == 0) return;
    ::kill(pid_, signal);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  LinesEngineOptions options() const {
    LinesEngineOptions options;
    options.host.emplace();
    options.host->engine = address_;
    return options;
  }

 private:
  std::string address_;
  pid_t pid_ = 0;
};

inline std::unique_ptr<LinesEngine> attach(const LinesEngineOptions& options) {
  std::string error;
  auto engine = LinesEngine::start(options, &error);
  EXPECT_NE(engine, nullptr) << error;
  return engine;
}

// A server with a thread for each lane, in this process.
class ServerHost {
 public:
  ServerHost(const EngineProcess& process, const std::string& name, uint32_t lanes = 1, uint32_t ring_slots = 512) {
    LinesEngineOptions options = process.options();
    options.serves = {name};
    options.lanes = lanes;
    options.ring_slots = ring_slots;
    engine_ = attach(options);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      threads_.emplace_back([this, lane] {
        ServerThread thread(&server_, &engine_->port(lane));
        while (!stop_ && !engine_->gone()) {
          if (pause_ || thread.serve(64) == 0) engine_->port(lane).idle();
        }
        calls_ += thread.counters().calls;
      });
    }
  }
  ~ServerHost() { stop(); }
  // Calls that were served.
  uint64_t stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    engine_.reset();
    return calls_;
  }
  void pause(bool on) { pause_ = on; }
  LinesEngine& engine() { return *engine_; }

 private:
  const RpcThreadedServer server_ = test_server();
  std::unique_ptr<LinesEngine> engine_;
  std::atomic<bool> stop_{false}, pause_{false};
  std::atomic<uint64_t> calls_{0};
  std::vector<std::thread> threads_;
};

// A client's host with one lane and one connection.
class ClientHost {
 public:
  ClientHost(const EngineProcess& process, const std::string& name, const RpcClientOptions& client_options = {},
             uint32_t ring_slots = 512) {
    LinesEngineOptions options = process.options();
    options.calls = {name};
    options.ring_slots = ring_slots;
    engine = attach(options);
    std::string error;
    auto connection = engine->open(name, 0, 10 * kSecond, &error);
    EXPECT_TRUE(connection) << error;
    client.emplace(&engine->port(0), connection.value_or(0), client_options);
  }
  std::string call(uint16_t function, const std::string& text, uint16_t* status) {
    std::string answer(kMaxMessageBytes, 0);
    size_t size = 0;
    *status = client->call(function, bytes_of(text), std::as_writable_bytes(std::span(answer)), &size);
    answer.resize(size);
    return answer;
  }
  // Polls until `done`; false after ten seconds.
  bool poll_until(const std::function<bool()>& done, const std::function<void(const Completion&)>& taken) {
    for (int64_t end = monotonic_ns() + 10 * kSecond; !done();) {
      if (monotonic_ns() > end) return false;
      if (client->poll(64, taken) + client->expire(taken) == 0) engine->port(0).idle();
    }
    return true;
  }

  std::unique_ptr<LinesEngine> engine;
  std::optional<RpcClient> client;
};

// A server as a process of its own, which must be made before this process has threads.
class ServerProcess {
 public:
  ServerProcess(const EngineProcess& process, const std::string& name) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    LinesEngineOptions options = process.options();
    options.serves = {name};
    std::string error;
    auto engine = LinesEngine::start(options, &error);
    if (engine == nullptr) ::_exit(1);
    const RpcThreadedServer server = test_server();
    ServerThread thread(&server, &engine->port(0));
    while (!engine->gone()) {
      if (thread.serve(64) == 0) engine->port(0).idle();
    }
    ::_exit(0);
  }
  ~ServerProcess() { end(SIGKILL); }
  // Its wait status.
  int end(int signal) {
    int status = -1;
    if (pid_ <= 0) return status;
    ::kill(pid_, signal);
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }
  int wait() { return end(0); }

 private:
  pid_t pid_ = -1;
};

}  // namespace drover::lines
