// The verilated serializer as an object: its driver's side (schema table, commands, completions, packets) is here, its
// two memory ports are the caller's to join.
//
//                  +--------------+  host_port()      AXI4, read channels
//   send() ------> |              | ================> host memory, at kHostBase
//   completions()  |  serializer  |  engine_port()
//   packets() <=== |              | ================> engine memory, at kEngineBase
//                  +--------------+
//
//   Serializer device(config);
//   AxiReadMemory host(device.host_port(), bytes, {}, Serializer::kHostBase); device.add(&host); ...
//   device.reset(); device.load(image);
//   device.send(command);
//   while (device.completions().empty()) device.cycle();
//
// Thread-safety: one thread.
#pragma once

#include <Vdrover_serializer.h>

#include <deque>
#include <vector>

#include "rtl/driver/serializer_commands.h"
#include "rtl/model/axi_memory.h"
#include "rtl/model/axi_stream.h"
#include "rtl/model/simulation.h"
#include "schema/image.h"

namespace drover::rtl {

struct SerializerConfig {
  uint64_t host_bytes = 0, engine_bytes = 0;  // what the engine may read, from the bases on
  PowerUp power_up = {};
  Stall command_stall = {}, completion_stall = {}, packet_stall = {};
};

class Serializer {
 public:
  static constexpr uint64_t kHostBase = 0x7f00'0000'0000, kEngineBase = 0x10'0000'0000;

  explicit Serializer(const SerializerConfig& config);

  AxiReadPort host_port() { return DROVER_AXI_READ_PORT(top(), host); }
  AxiReadPort engine_port() { return DROVER_AXI_READ_PORT(top(), engine); }
  // A part at the ports; before the first reset(). It sees a cycle before this object's own parts do.
  void add(Part* part) { sim_.add(part); }

  // Also in the middle of traffic: forgets commands, completions and packets. The table stays.
  void reset();
  // Without presence lines the walker looks at every step (rtl/driver/serializer_table.h).
  void load(const schema::Image& image, bool presence_lines = true) { table_.load(image, presence_lines); }
  void send(const SerializerCommand& command) { commands_.queue.push_back(command); }

  void cycle() { sim_.cycle(); }
  uint64_t cycles() const { return sim_.cycles(); }
  Vdrover_serializer& top() { return sim_.top(); }

  // All since reset(), in the order in which they came.
  const std::vector<SerializerCompletion>& completions() const { return completions_.all; }
  // Of each packet: the cycles of its first and its last beat, and whether tuser said that it is broken.
  const std::vector<uint64_t>& first_beats() const { return completions_.first_beats; }
  const std::vector<uint64_t>& last_beats() const { return completions_.last_beats; }
  const std::vector<bool>& broken() const { return completions_.broken; }
  // When the first command was taken; 0 before.
  uint64_t first_command() const { return commands_.first; }
  AxiStreamSink& packets() { return packets_; }

 private:
  // The memory of the schema table: a line in the cycle after it was asked for.
  struct Table final : Part {
    explicit Table(Vdrover_serializer* device) : top(*device) {}
    void load(const schema::Image& image, bool presence_lines);
    void drive() override;
    void sample() override;

    Vdrover_serializer& top;
    std::vector<unsigned char> bytes;
    uint32_t line = 0;
  };
  struct Commands final : Part {
    Commands(Vdrover_serializer* device, Stall held) : top(*device), stall(std::move(held)) {}
    void drive() override;
    void sample() override;
    void reset() override;

    Vdrover_serializer& top;
    Stall stall;
    std::deque<SerializerCommand> queue;
    bool valid = false;
    uint64_t now = 0, first = 0;
  };
  struct Completions final : Part {
    Completions(Vdrover_serializer* device, Stall held) : top(*device), stall(std::move(held)) {}
    void drive() override { top.done_ready_i = !held_back(stall); }
    void sample() override;
    void reset() override;

    Vdrover_serializer& top;
    Stall stall;
    std::vector<SerializerCompletion> all;
    std::vector<uint64_t> first_beats, last_beats;
    std::vector<bool> broken;
    uint64_t now = 0;
  };

  SerializerConfig config_;
  Simulation<Vdrover_serializer> sim_;
  Table table_;
  Commands commands_;
  Completions completions_;
  AxiStreamSink packets_;
  bool joined_ = false;  // this object's own parts are behind the caller's
};

}  // namespace drover::rtl
