// LinesEngine: this process as a host of droverd that calls, and serves calls, as RPC lines (docs/lines.md). It has
// `lanes` ports; the engine carries lines between them and those of other hosts.
//
//   auto engine = LinesEngine::start({.serves = {"shop.Stock"}}, &error);          // the server's process
//   ServerThread thread(&server, &engine->port(0));
//   while (!engine->gone()) if (thread.serve(64) == 0) engine->port(0).idle();
//
//   auto engine = LinesEngine::start({.calls = {"shop.Stock"}}, &error);           // the client's process
//   RpcClient client(&engine->port(0), *engine->open("shop.Stock", 0, wait_ns, &error));
//
// The engine is found or started as for gRPC's server (host/attachment.h): DROVER_ENGINE names a service; otherwise the
// first of the processes that serve or call a name starts droverd as its child, and the others of its user find it by
// that name. When the engine goes, failure() says why, ports are gone(), calls end in kStatusUnavailable, and this
// object does nothing more: make another one.
//
// Thread-safety: start and the destructor: one thread, with no port in use. port(i) and open(..., i, ...): lane i's
// thread. The rest: any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "channel/control.h"
#include "host/attachment.h"
#include "host/lines/lane_port.h"
#include "host/lines/rpc_client.h"
#include "host/lines/rpc_server.h"

namespace drover::lines {

using RpcClient = BasicRpcClient<LanePort>;
using ServerThread = BasicServerThread<LanePort>;

struct LinesEngineOptions {
  std::vector<std::string> serves;  // names, at most lines.max_names; 1..255 printable characters each
  std::vector<std::string> calls;   // names that will be opened, by which the engine is found
  uint32_t lanes = 1;               // ports, each for a thread of its own
  // Of each ring. A message must fit one: 512 is enough for the longest. 128 are faster (channel/layout.h).
  uint32_t ring_slots = 512;
  std::optional<host::HostOptions> host;  // default: from the environment. `workers` is ignored
};

class LinesEngine {
 public:
  // Null: `error` says why no engine could be attached to.
  static std::unique_ptr<LinesEngine> start(const LinesEngineOptions& options, std::string* error);
  // Detaches; connections are closed.
  ~LinesEngine();
  LinesEngine(const LinesEngine&) = delete;
  LinesEngine& operator=(const LinesEngine&) = delete;

  uint32_t lanes() const { return static_cast<uint32_t>(ports_.size()); }
  LanePort& port(uint32_t lane) { return *ports_[lane]; }

  // Opens a connection between a lane and a server of `name`; waits `wait_ns` for one to come. Nothing: `error`.
  // Close it by port(lane).close().
  std::optional<uint16_t> open(const std::string& name, uint32_t lane, int64_t wait_ns, std::string* error);

  bool gone() const { return gone_.load(std::memory_order_acquire); }
  // Why the engine is gone; empty: it is not.
  std::string failure() const;

 private:
  explicit LinesEngine(std::unique_ptr<host::Attachment> attachment);
  void control_main();
  bool take_message();
  void leave(const std::string& why);
  std::optional<ConnectionOpened> ask(const std::string& name, uint32_t lane, std::string* error);

  std::unique_ptr<host::Attachment> attachment_;
  std::vector<std::unique_ptr<LanePort>> ports_;
  std::atomic<bool> gone_{false};
  UniqueFd nudge_;  // an eventfd that ends the control thread

  mutable std::mutex mutex_;  // also of the control socket
  std::condition_variable answered_;
  std::map<uint32_t, std::optional<ConnectionOpened>> questions_;  // that open() waits for, by their number
  uint32_t next_question_ = 1;
  std::string failure_;
  std::thread control_;
};

}  // namespace drover::lines
