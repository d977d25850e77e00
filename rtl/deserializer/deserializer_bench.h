// A verilated deserializer with memory, free lists, TLB and a stream of messages around it, and the software codec
// beside it: every message that comes out is compared.
//
//   DeserializerBench bench(options);
//   bench.load(image);
//   bench.add(type, wire); ...
//   bench.run();                       // until every message has its record
//   bench.outcomes()                   // in the order of add()
//
// The region is one array: host memory, then engine memory; region offset r is the byte r of it. It begins filled with
// rubbish, so that what the hardware forgets to write shows.
#pragma once

#include <Vdrover_deserializer.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/decode/decode_types.h"
#include "rtl/testing/axi_memory.h"
#include "rtl/testing/axi_stream.h"
#include "rtl/testing/simulation.h"
#include "schema/message_type.h"

namespace drover::rtl {

enum class RecordType : uint8_t { kChunk = 0, kDone = 1, kError = 2, kSoftware = 3 };
// Beside the codec's DecodeError.
inline constexpr uint8_t kBadAddress = 64, kPacketLength = 65, kUnknownType = 66, kReadRefused = 67;
const char* left_to_software_reason(uint8_t code);

struct Record {
  RecordType type;
  uint8_t lane, code;
  uint32_t cookie, position;
  uint64_t root;
  uint32_t chunk, run, run_chunks, engine_run, engine_chunks;
};

struct BenchOptions {
  bool one_shot = true;
  bool eager = false;     // what is final goes out while the link would idle
  bool protoacc = false;  // with a read for each descriptor and has-bit update
  uint8_t lanes = 0xf;    // which get messages, of four
  int depth_limit = 100;
  uint32_t rx_stalls = 0, cmd_stalls = 0, cmpl_stalls = 0, free_stalls = 0;  // of 256
  AxiTiming host, engine, descriptors;
  uint64_t seed = 1;
  uint64_t power_up_seed = 0;  // registers and memories at power-up: 0 all zero; else random
  size_t host_bytes = size_t{32} << 20, engine_bytes = size_t{16} << 20;
  uint32_t run_chunks = 1024;
  bool compare = true;
  bool bad_memory = false;  // chunks and runs that lie outside the region
  bool tlb_present = true;
};

struct Outcome {
  bool finished = false;
  Record record{};
  uint64_t cycle = 0;      // when the record came
  std::string difference;  // from the software codec; empty if there is none
};

class DeserializerBench {
 public:
  explicit DeserializerBench(const BenchOptions& options = {});
  ~DeserializerBench();

  void load(const schema::Image& image);
  void load_words(const std::vector<struct TableWord>& words);
  // The wire bytes have to stay as long as the bench: a message may have its error record before they are all taken.
  void add(const schema::MessageType& type, std::string_view wire);
  // A command that says another length than its packet has, or the right one of a packet with holes in its TKEEP. Its
  // record has to be an error; `outcomes()` says which.
  void add_misframed(const schema::MessageType& type, std::string_view packet, uint32_t length, uint64_t holes = 0);
  // A command whose type is not in the schema table. Its record has to be the error kUnknownType.
  void add_unknown(uint16_t type, std::string_view packet);
  // Resets the engine in the middle of what it does and forgets all messages. The schema table has to be loaded anew.
  void reset();
  // Runs without waiting for records.
  void run_for(uint64_t cycles);
  // False if the engine hung: no record for a long time although messages are waiting.
  bool run();
  // Forgets the messages that are done.
  void clear();

  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  uint64_t cycles() const { return sim_.cycles(); }
  uint64_t cycles_of_run() const { return run_cycles_; }
  // Of the last run: when its last word was taken, and what had been written to host memory by then.
  uint64_t last_word() const { return last_word_; }
  uint64_t beats_before_end() const { return beats_before_end_; }
  const AxiCounts& host_counts() const { return host_memory_->counts(); }
  const AxiCounts& descriptor_counts() const { return descriptor_memory_->counts(); }
  const AxiCounts& engine_counts() const { return engine_memory_->counts(); }
  const char* memory() const { return memory_.data(); }
  size_t host_bytes() const { return options_.host_bytes; }

 private:
  class Feed;
  struct Sent {
    schema::MessageType type;
    std::string_view wire;
    bool misframed = false, unknown = false;
  };
  void start();  // the parts at the ports, a reset, and the TLB's entries
  void send(const Sent& sent, uint16_t type, uint32_t length, uint64_t holes);
  void take_record();
  std::string compare(const Sent& sent, const Record& record) const;

  BenchOptions options_;
  std::unique_ptr<Vdrover_deserializer> top_;
  Simulation<Vdrover_deserializer> sim_;
  std::vector<char> memory_store_;
  std::span<char> memory_;
  std::unique_ptr<AxiWriteMemory> host_memory_, engine_memory_;
  std::vector<char> descriptor_store_;
  std::unique_ptr<AxiReadMemory> descriptor_memory_;
  std::unique_ptr<AxiStreamSource> rx_;
  std::unique_ptr<Feed> feed_;
  std::vector<Sent> sent_;
  std::map<uint32_t, std::vector<uint32_t>> chunks_of_;  // by cookie, of messages under way
  std::vector<Outcome> outcomes_;
  size_t finished_ = 0;
  uint64_t run_cycles_ = 0, last_word_ = 0, beats_before_end_ = 0;
};

}  // namespace drover::rtl
