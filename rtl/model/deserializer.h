// The verilated deserializer as an object: its driver's side (schema table, commands, packets, free memory, records) is
// here, its three memory ports are the caller's to join.
//
//                          +----------------+  host_port()        AXI4, write channels
//   send(), packets() ---> |                | ==================> host memory
//   reset(free), give() -> |  deserializer  |  engine_port()
//   on_record() <--------- |                | ==================> engine memory
//                          |                |  descriptor_port()
//                          +----------------+ ==================> descriptors (protoacc)
//
//   Deserializer device(config);
//   AxiWriteMemory host(device.host_port(), bytes, {}, Deserializer::kHostBus); device.add(&host); ...
//   device.reset(free); device.load(image);
//   device.send({type, size, cookie}); device.packets().send(wire);
//   while (...) device.cycle();
//
// The region that free memory and objects lie in is host memory, then engine memory; the TLB puts it at kHostBus.
// Thread-safety: one thread.
#pragma once

#include <Vdrover_deserializer.h>

#include <deque>
#include <functional>
#include <vector>

#include "rtl/driver/deserializer_records.h"
#include "rtl/driver/schema_table.h"
#include "rtl/model/axi_memory.h"
#include "rtl/model/axi_stream.h"
#include "rtl/model/simulation.h"

namespace drover::rtl {

struct DeserializerConfig {
  bool one_shot = true;
  bool eager = false;     // with one_shot: what is final goes out while the link would idle
  bool protoacc = false;  // a read for each descriptor and has-bit update
  uint8_t lanes = 0xf;    // which get messages, of four
  uint8_t depth_limit = 100;
  size_t host_bytes = 0, engine_bytes = 0;  // of the region; multiples of a chunk
  bool tlb_present = true;                  // false: the TLB knows no page
  PowerUp power_up = {};
  Stall command_stall = {}, packet_stall = {}, chunk_stall = {}, record_stall = {};
};

enum class FreeKind : uint8_t { kChunk, kRun, kEngineRun };
struct FreeMemory {
  std::deque<ChunkRun> chunks, runs, engine_runs;
};

class Deserializer {
 public:
  static constexpr uint64_t kHostBus = uint64_t{3} << 36;  // where the TLB puts the region on the bus
  static constexpr uint64_t kDescriptors = uint64_t{7} << 32;

  explicit Deserializer(const DeserializerConfig& config);

  AxiWritePort host_port() { return DROVER_AXI_WRITE_PORT(top(), host); }
  AxiWritePort engine_port() { return DROVER_AXI_WRITE_PORT(top(), hbm); }
  AxiReadPort descriptor_port() { return DROVER_AXI_READ_PORT(top(), desc); }
  // A part at the ports; before the first reset(). It sees a cycle before this object's own parts do.
  void add(Part* part) { sim_.add(part); }

  // Resets the engine and hands it this free memory; also in the middle of traffic. Commands, packets and records that
  // were under way are lost. The schema table keeps its contents.
  void reset(FreeMemory free);
  void load(const schema::Image& image) { load_words(schema_table_words(image)); }
  void load_words(const std::vector<TableWord>& words);

  void send(const DeserializerCommand& command) { driver_.commands.push_back(command); }
  // No command waits to be taken.
  bool commands_taken() const { return driver_.commands.empty(); }
  // The stream of wire bytes. Its packets need not agree with the commands.
  AxiStreamSource& packets() { return packets_; }
  void give(FreeKind kind, ChunkRun run) { driver_.list(kind).push_back(run); }
  // Called in the cycle in which the engine takes free memory, or gives out a record.
  void on_taken(std::function<void(FreeKind, ChunkRun)> callback) { driver_.taken = std::move(callback); }
  void on_record(std::function<void(const DeserializerRecord&)> callback) { driver_.record = std::move(callback); }

  void cycle() { sim_.cycle(); }
  uint64_t cycles() const { return sim_.cycles(); }
  Vdrover_deserializer& top() { return sim_.top(); }

 private:
  // Commands out, free memory out, records in.
  struct Driver final : Part {
    Driver(Vdrover_deserializer* device, const DeserializerConfig& config);
    void drive() override;
    void sample() override;
    void reset() override;
    std::deque<ChunkRun>& list(FreeKind kind);
    void take(FreeKind kind);

    Vdrover_deserializer& top;
    Stall command_stall, chunk_stall, record_stall;
    std::deque<DeserializerCommand> commands;
    FreeMemory free;
    std::function<void(FreeKind, ChunkRun)> taken;
    std::function<void(const DeserializerRecord&)> record;
    bool command_taken = false, chunk_held = false;
  };
  void configure();
  void fill_tlb();

  DeserializerConfig config_;
  Simulation<Vdrover_deserializer> sim_;
  AxiStreamSource packets_;
  Driver driver_;
  bool joined_ = false;  // this object's own parts are behind the caller's
};

}  // namespace drover::rtl
