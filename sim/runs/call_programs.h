// The programs of a run of calls (calls.program): a client that offers its load, and a server that answers. All are
// ordinary users of host/lines, on a simulated port. Those here are `test`; kv_programs.h has `lines_kv`.
#pragma once

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "host/lines/rpc_client.h"
#include "host/lines/rpc_server.h"
#include "sim/platform/core.h"
#include "sim/platform/line_port.h"
#include "sim/runs/call_content.h"
#include "sim/runs/call_options.h"

namespace drover::sim {

// What all programs of a run share.
struct CallBooks {
  Time begins = 0, ends = 0;  // of the measured time
  uint64_t offered = 0, completed = 0, waiting = 0, lost = 0, checked = 0;
  std::vector<uint32_t> latencies;      // ns, of calls that were due in the measured time
  std::unordered_set<uint64_t> served;  // calls that a server has seen
  uint32_t clients_running = 0;
  bool reliable = false;  // the NICs' transport loses no line
  std::string error;      // the first

  void fail(const std::string& what) {
    if (error.empty()) error = what;
  }
  bool within(Time time) const { return time >= begins && time < ends; }
};

// What a client or a server of a run may have counted; else the run fails.
void check_client(const lines::ClientCounters& counters, const CallOptions& options, CallBooks* books);
void check_server(const lines::ServerCounters& counters, CallBooks* books);

// One of several connections on a port: what comes in on the port is given to them by offer().
class ConnectionPort final : public LinePort {
 public:
  explicit ConnectionPort(LinePort* port) : port_(*port) {}
  bool try_push(const Slot& line) override { return port_.try_push(line); }
  bool has_room(uint32_t count) override { return port_.has_room(count); }
  bool try_pop(Slot& taken) override;
  void flush() override { port_.flush(); }
  void idle() override { port_.idle(); }
  int64_t now_ns() override { return port_.now_ns(); }
  void offer(const Slot& line) { lines_.push_back(line); }

 private:
  LinePort& port_;
  std::deque<Slot> lines_;
};

// What runs on a core.
class Program {
 public:
  virtual ~Program() = default;
  virtual void run() = 0;
};

class ClientProgram final : public Program {
 public:
  // Its connections are options.connections from `first` on.
  ClientProgram(uint32_t number, uint16_t first, const CallOptions& options, CallContent* content, LinePort* port,
                Core* core, CallBooks* books);
  // Offers load until the measured time ends, then waits for what is outstanding.
  void run() override;

 private:
  // A connection of several; the only one has the port to itself.
  struct Connection {
    std::unique_ptr<ConnectionPort> port;
    std::unique_ptr<lines::BasicRpcClient<LinePort>> client;
  };

  void offer();
  bool begin(Time due);
  // Takes lines, ends calls; returns how many ended.
  uint32_t take();
  uint32_t outstanding() const { return static_cast<uint32_t>(due_times_.size()); }
  void ended(const lines::Completion& done);
  Time next_gap();

  const uint32_t number_;
  const CallOptions& options_;
  CallContent& content_;
  LinePort& port_;
  Core& core_;
  CallBooks& books_;
  const uint16_t first_;
  std::vector<Connection> connections_;
  std::mt19937_64 random_;
  std::vector<std::byte> request_;
  uint64_t made_ = ~uint64_t{0};                  // the call whose request `request_` is
  Time next_due_ = 0;                             // open loop: of the next call
  std::deque<Time> waiting_;                      // open loop: calls that are due, and not begun
  std::unordered_map<uint64_t, Time> due_times_;  // of calls that are outstanding, by id
  uint64_t next_id_ = 0;
};

class ServerProgram final : public Program {
 public:
  ServerProgram(const CallOptions& options, CallContent* content, LinePort* port, Core* core, Time handler,
                CallBooks* books);
  // Serves until no client runs.
  void run() override;
  const lines::ServerCounters& counters() const { return thread_.counters(); }

 private:
  uint16_t handle(const lines::Request& request, lines::Response& response);

  const CallOptions& options_;
  CallContent& content_;
  LinePort& port_;
  Core& core_;
  Time handler_;
  CallBooks& books_;
  lines::RpcThreadedServer server_;
  lines::BasicServerThread<LinePort> thread_;
  std::vector<std::byte> response_;
};

}  // namespace drover::sim
