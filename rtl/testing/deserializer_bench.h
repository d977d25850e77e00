// A deserializer with memory, free lists, TLB and a stream of messages around it, and the software codec beside it:
// every message that comes out is compared.
//
//   DeserializerBench bench(options);
//   bench.load(image);
//   bench.add(type, wire); ...
//   bench.run();                       // until every message has its record
//   bench.outcomes()                   // in the order of add()
//
// The region is one array: host memory, then engine memory; region offset r is its byte r. It begins filled with 0xcc,
// so that bytes which the hardware forgets to write show.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rtl/model/deserializer.h"
#include "rtl/testing/stalls.h"
#include "schema/message_type.h"

namespace drover::rtl {

struct BenchOptions {
  bool one_shot = true;
  bool eager = false;     // final rows go out while the link would idle
  bool protoacc = false;  // with a read for each descriptor and has-bit update
  uint8_t lanes = 0xf;    // which get messages, of four
  int depth_limit = 100;
  uint32_t rx_stalls = 0, cmd_stalls = 0, cmpl_stalls = 0, free_stalls = 0;  // of 256
  AxiTiming host = {}, engine = {}, descriptors = {};
  uint64_t seed = 1;
  size_t host_bytes = size_t{32} << 20, engine_bytes = size_t{16} << 20;
  uint32_t run_chunks = 1024;
  bool compare = true;
  bool bad_memory = false;  // chunks and runs that lie outside the region
  bool tlb_present = true;
  uint32_t power_up_seed = 0;  // of what registers and memories hold before reset; 0: zeros
};

struct Outcome {
  bool finished = false;
  DeserializerRecord record{};
  uint64_t cycle = 0;      // when the record came
  std::string difference;  // from the software codec; empty if there is none
};

class DeserializerBench {
 public:
  explicit DeserializerBench(const BenchOptions& options = {});

  void load(const schema::Image& image) { device_.load(image); }
  void load_words(const std::vector<TableWord>& words) { device_.load_words(words); }
  // The wire bytes have to stay as long as the bench: a message may have its error record before they are all taken.
  void add(const schema::MessageType& type, std::string_view wire);
  // A command that says another length than its packet has, or the right one of a packet with holes in its TKEEP. Its
  // record has to be an error; `outcomes()` says which.
  void add_misframed(const schema::MessageType& type, std::string_view packet, uint32_t length, uint64_t holes = 0);
  // A command whose type is not in the schema table. Its record has to be the error kUnknownType.
  void add_unknown(uint16_t type, std::string_view packet);
  // The stream behind the packets of add(), for beats without a command.
  AxiStreamSource& packets() { return device_.packets(); }
  // False if the engine hung: no record for a long time although messages are waiting.
  bool run();
  // Runs without waiting for records.
  void run_for(uint64_t cycles);
  // Resets the engine in the middle of what it does and forgets all messages. The schema table keeps its contents.
  void reset();
  // Forgets the messages that are done.
  void clear();

  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  uint64_t cycles() const { return device_.cycles(); }
  uint64_t cycles_of_run() const { return run_cycles_; }
  // Of the last run: when its last word was taken, and what had been written to host memory by then.
  uint64_t last_word() const { return last_word_; }
  uint64_t beats_before_end() const { return beats_before_end_; }
  const AxiCounts& host_counts() const { return host_memory_.counts(); }
  const AxiCounts& descriptor_counts() const { return descriptor_memory_.counts(); }
  const AxiCounts& engine_counts() const { return engine_memory_.counts(); }
  const char* memory() const { return memory_.data(); }
  size_t host_bytes() const { return options_.host_bytes; }
  Vdrover_deserializer& top() { return device_.top(); }

 private:
  struct Sent {
    schema::MessageType type;
    std::string_view wire;
    bool misframed = false, unknown = false;
  };
  void send(const Sent& sent, uint16_t type, uint32_t length, uint64_t holes);
  FreeMemory free_memory() const;
  void taken(FreeKind kind, ChunkRun run);
  void take_record(const DeserializerRecord& record);
  std::string compare(const Sent& sent, const DeserializerRecord& record) const;

  BenchOptions options_;
  Deserializer device_;
  std::vector<char> memory_store_;
  std::span<char> memory_;
  std::vector<char> descriptor_store_;
  AxiWriteMemory host_memory_, engine_memory_;
  AxiReadMemory descriptor_memory_;
  std::vector<Sent> sent_;
  std::map<uint32_t, std::vector<uint32_t>> chunks_of_;  // by cookie, of messages under way
  std::vector<Outcome> outcomes_;
  size_t finished_ = 0;
  uint64_t run_cycles_ = 0, last_word_ = 0, beats_before_end_ = 0;
};

}  // namespace drover::rtl
