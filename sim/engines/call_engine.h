// An engine in a run of calls: the NIC of one simulated host. Programs on the host's cores reach it through a port for
// each flow, and it reaches other hosts through the run's network. An engine of this kind has a room of its own under
// sim/engines/ like those of message runs (engine.h), and is registered in the same list (EngineType::make_for_calls).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "message/message.h"
#include "sim/platform/call_messages.h"
#include "sim/platform/coherent_link.h"
#include "sim/platform/core.h"
#include "sim/platform/line_port.h"
#include "sim/platform/link.h"
#include "sim/platform/options.h"
#include "sim/platform/timeline.h"

namespace drover::sim {

// What crosses the network: an Ethernet frame, without preamble and check sequence.
using Frame = std::vector<std::byte>;

// A connection as one of its ends has it. It has the same number at both.
struct CallConnection {
  uint16_t number = 0;
  uint8_t flow = 0;     // of this host
  uint32_t other = 0;   // the other end's host
  bool serves = false;  // requests come to this end: they go to flows by its balance policy
};

// What a simulated host brings to its engine; all of it outlives the engine.
class HostNode {
 public:
  // `number`: its place in the network.
  HostNode(uint32_t number, Timeline* timeline, const PlatformOptions& platform, const CallMessages& messages,
           Endpoint* endpoint, uint64_t memory_bytes)
      : number_(number),
        timeline_(*timeline),
        platform_(platform),
        messages_(messages),
        link_(platform.links.link),
        endpoint_(*endpoint),
        memory_(memory_bytes / sizeof(Slot)) {}

  uint32_t number() const { return number_; }
  Timeline& timeline() { return timeline_; }
  const PlatformOptions& platform() const { return platform_; }
  // That calls carry; none, where they carry bytes.
  const CallMessages& messages() const { return messages_; }
  Link& link() { return link_; }  // PCIe: MMIO towards the NIC, DMA both ways
  const Link& link() const { return link_; }
  const CoherentConfig& coherent() const { return platform_.coherent; }
  Endpoint& endpoint() { return endpoint_; }
  const CoreOptions& cores() const { return platform_.cores; }
  std::span<char> memory() { return {reinterpret_cast<char*>(memory_.data()), memory_.size() * sizeof(Slot)}; }
  // Zeroed memory of the host's, aligned to 4 KB; its offset. The run sizes the memory by EngineType::host_memory.
  uint64_t allocate(uint64_t bytes) { return std::exchange(used_, used_ + ((bytes + 4095) & ~uint64_t{4095})); }

 private:
  const uint32_t number_;
  Timeline& timeline_;
  const PlatformOptions& platform_;
  const CallMessages& messages_;
  Link link_;
  Endpoint& endpoint_;
  std::vector<Slot> memory_;
  uint64_t used_ = 0;
};

// A named figure of an engine: counters, stalls.
using Figures = std::vector<std::pair<std::string, uint64_t>>;

// A message as a program finds it: the object, or wire bytes that the engine left to software.
struct ReceivedMessage {
  const Message* object = nullptr;
  std::string_view wire;
  std::string error;
};

// What programs use of an engine with a codec: a call's arguments are one line that stands for a message.
class ObjectPort {
 public:
  virtual ~ObjectPort() = default;
  // The arguments that send a message of HostNode::messages(). Takes the core's time, if the host has a share in it.
  virtual std::vector<std::byte> hand_over(uint32_t message, Core* core) = 0;
  virtual ReceivedMessage take(std::span<const std::byte> arguments) = 0;
};

class CallEngine {
 public:
  virtual ~CallEngine() = default;
  // Of its clock, in picoseconds.
  virtual Time period() const = 0;
  // A rising edge.
  virtual void tick() = 0;

  // A port for the program on `core`. Takes no simulated time.
  virtual std::unique_ptr<LinePort> open_flow(uint8_t flow, Core* core) = 0;
  // Opens the connection. Takes no simulated time.
  virtual void connect(const CallConnection& connection) = 0;

  // Called for each frame that leaves for the network. Frames with one key keep their order, if the network keeps any.
  virtual void on_frame(std::function<void(Frame, uint64_t key)> sent) = 0;
  // A frame came for this host.
  virtual void deliver(Frame frame) = 0;

  // Null: the engine has no codec.
  virtual ObjectPort* objects() { return nullptr; }

  virtual Figures figures() const = 0;
  // Empty; or what a port of the engine did against its protocol.
  virtual std::string violation() const { return ""; }
};

}  // namespace drover::sim
