// An engine does a system's RPC work. This is the interface that every engine of the simulator implements.
//
// An engine has a room of its own (sim/engines/NAME) with three things in it:
//
//   EngineOptions   its keys and their defaults; a System keeps a copy for every engine
//   Engine          the engine in one run: it receives, sends and counts
//   EngineType      its name, and how the two others are made; one line in sim/runs/engines.cc registers it
//
// It imports the platform, never a run or another engine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "schema/image.h"
#include "sim/engines/call_engine.h"
#include "sim/platform/keys.h"
#include "sim/platform/platform.h"

namespace drover::sim {

class EngineOptions;

// Where in the arguments of a call's first line its key lies.
struct CallKey {
  uint32_t offset, length;
};

// What a run of calls asks of its engine.
struct CallShape {
  const EngineOptions* base = nullptr;  // EngineType::base's
  uint32_t clients = 1, servers = 1;    // flows of either host
  uint32_t connections = 1;             // of all clients together
  bool longer = false;                  // messages of several lines
  uint32_t window = 1;                  // calls that a connection may have under way at once
  uint32_t request_lines = 1;           // of a request of bytes
  uint32_t response_lines = 1;          // of a response, at the most
  Time timeout = 0;                     // after which calls are given up; 0: none is
  // Calls of one connection with the same bytes there have to be handled in the order in which they were begun.
  std::optional<CallKey> ordered_key = std::nullopt;
};

class EngineOptions {
 public:
  virtual ~EngineOptions() = default;
  virtual std::unique_ptr<EngineOptions> clone() const = 0;
  // Keys bound to this object.
  virtual void add_keys(Keys* keys) = 0;
  // The engine's part of a result table's heading; "" or "; ...".
  virtual std::string summary() const { return ""; }
  // Of calls: what these keys and that shape do not allow together; or empty.
  virtual std::string refuses(const CallShape& shape) const { return (void)shape, ""; }
  // Of calls: of a request, at the most. A longer one would never be sent.
  virtual uint32_t most_request_lines() const { return kMaxMessageLines; }
  // Of calls: messages are objects to the hosts, of a line each, and the engine has the codec.
  virtual bool has_codec() const { return false; }
  // Of calls: none is lost, whatever the network loses.
  virtual bool reliable() const { return false; }
};
template <typename Options>
class CopyableEngineOptions : public EngineOptions {
 public:
  std::unique_ptr<EngineOptions> clone() const override {
    return std::make_unique<Options>(static_cast<const Options&>(*this));
  }
};

// Signals for a waveform: trace(name, flag).
using Trace = std::function<void(const std::string& name, const bool& signal)>;

class Engine {
 public:
  virtual ~Engine() = default;

  // A list of transfers of one group in one direction follows: loads the group's schema table. Takes no simulated time.
  virtual void begin(Direction direction, const schema::Image& image) { (void)direction, (void)image; }
  // The wire bytes of the transfer's message may enter from now on. Ends in Platform::finish() or fail().
  virtual void receive(Transfer* transfer) = 0;
  // The host sends the transfer's message from now on. Ends in Platform::finish() or fail().
  virtual void send(Transfer* transfer) = 0;

  // Of its clock, in picoseconds; 0: it has none, and tick() is never called.
  virtual Time period() const { return 0; }
  // A rising edge, while a list of that direction is under way.
  virtual void tick(Direction direction) { (void)direction; }

  // Its counters, without those of its link to host memory.
  virtual Counters counters() const { return {}; }
  virtual void trace(const Trace& trace) const { (void)trace; }
  // Empty; or what the engine did wrong at its ports.
  virtual std::string violation() const { return ""; }
};

struct CallEngineSetup {
  const EngineOptions& options;
  const EngineOptions* base;  // EngineType::base's; else null
  HostNode* host;
  uint32_t window = 1;  // CallShape's
};

struct EngineType {
  std::string kind;           // engine.kind in a system file
  std::string meaning;        // of that kind, in a line
  std::string by;             // its name in results
  bool host_encodes = false;  // the host's CPU runs the codec
  bool has_memory = false;    // payloads of target fields (run.target) lie in the engine's own memory
  std::function<std::unique_ptr<EngineOptions>()> make_options;
  std::function<std::unique_ptr<Engine>(const EngineOptions&, Platform*)> make = {};  // of runs of messages
  std::function<std::unique_ptr<CallEngine>(const CallEngineSetup&)> make_for_calls = {};
  std::string base = {};  // of calls: the kind of an engine whose keys it has besides its own
  // Why a message was left to software; for engines that do so.
  std::function<std::string(Direction, uint8_t reason)> reason_name = {};
};

}  // namespace drover::sim
