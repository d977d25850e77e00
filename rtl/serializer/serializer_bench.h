// A test bench round the serializer: a host's memory, the engine's memory, commands in, packets and completions out.
#pragma once

#include <Vdrover_serializer.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/preserialize/preserialize.h"
#include "rtl/serializer/serializer_table.h"
#include "rtl/testing/axi_memory.h"
#include "rtl/testing/axi_stream.h"
#include "rtl/testing/simulation.h"

namespace drover::rtl {

// The numbers of drover_ser_pkg::error_e.
enum class SerializerError : uint8_t {
  none = 0,
  bad_record = 1,
  truncated = 2,
  bad_nesting = 3,
  out_of_bounds = 4,
  too_large = 5,
  null_element = 6,
  misaligned = 7,
  left_arena = 8,
  left_pieces = 9,
  left_depth = 10,
  left_object = 11,
  left_field = 12,
  left_work = 13,
  bad_command = 14,
  bus = 15,
};
inline bool left_to_software(SerializerError error) {
  return error >= SerializerError::left_arena && error <= SerializerError::left_work;
}

struct SerializerCommand {
  bool walk = false;  // NIC-only: `records` is an object's address, of the message with that index
  uint16_t message = 0;
  uint16_t cookie = 0;
  bool pushed = false;   // the records lie in the engine's memory
  uint64_t records = 0;  // bus addresses
  uint32_t record_bytes = 0;
  uint64_t payload = 0;
  uint32_t payload_bytes = 0;
  std::string header = {};
  std::optional<uint8_t> header_size = {};  // other than the header's
  uint8_t length_format = 0;                // 1 big-endian, 2 little-endian
  uint8_t length_at = 0;
};

struct SerializerCompletion {
  uint16_t cookie;
  SerializerError error;
  uint32_t size;
  uint64_t cycle;
};

class SerializerCommands final : public Part {
 public:
  SerializerCommands(Vdrover_serializer& top, Stalls stalls) : top_(top), stalls_(stalls) {}
  void send(const SerializerCommand& command) { queue_.push_back(command); }
  bool idle() const { return queue_.empty(); }
  void reset() {
    queue_.clear();
    valid_ = false;
  }
  uint64_t first_cycle() const { return first_; }

  void drive() override {
    if (!valid_ && !queue_.empty() && !stalls_.now()) {
      valid_ = true;
      const SerializerCommand& c = queue_.front();
      top_.cmd_walk_i = c.walk;
      top_.cmd_pushed_i = c.pushed;
      top_.cmd_message_i = c.message;
      top_.cmd_cookie_i = c.cookie;
      top_.cmd_records_i = c.records;
      top_.cmd_record_bytes_i = c.record_bytes;
      top_.cmd_payload_i = c.payload;
      top_.cmd_payload_bytes_i = c.payload_bytes;
      std::memset(&top_.cmd_header_i, 0, 64);
      std::memcpy(&top_.cmd_header_i, c.header.data(), c.header.size());
      top_.cmd_header_size_i = c.header_size.value_or(static_cast<uint8_t>(c.header.size()));
      top_.cmd_length_format_i = c.length_format;
      top_.cmd_length_at_i = c.length_at;
    }
    top_.cmd_valid_i = valid_;
  }
  void sample() override {
    ++now_;
    if (!valid_ || !top_.cmd_ready_o) return;
    if (first_ == 0) first_ = now_;
    valid_ = false;
    queue_.pop_front();
  }

 private:
  Vdrover_serializer& top_;
  Stalls stalls_;
  std::deque<SerializerCommand> queue_;
  bool valid_ = false;
  uint64_t now_ = 0, first_ = 0;
};

// The schema table: a line in the cycle after it was asked for.
class SchemaTable final : public Part {
 public:
  explicit SchemaTable(Vdrover_serializer& top) : top_(top) {}
  void load(const schema::Image& image, bool presence_lines) {
    bytes_ = serializer_table(image);
    if (!presence_lines) {
      bytes_.assign((image.size() + 63) / 64 * 64, 0);
      std::memcpy(bytes_.data(), image.data(), image.size());
    }
    top_.image_fields_i = image.header().fields;
    top_.image_message_count_i = image.header().message_count;
  }
  void drive() override {
    size_t at = size_t{line_} * 64;
    if (at + 64 <= bytes_.size()) std::memcpy(&top_.table_data_i, bytes_.data() + at, 64);
  }
  void sample() override {
    if (top_.table_read_o) line_ = top_.table_line_o;
  }

 private:
  Vdrover_serializer& top_;
  std::vector<unsigned char> bytes_;
  uint32_t line_ = 0;
};

class SerializerCompletions final : public Part {
 public:
  SerializerCompletions(Vdrover_serializer& top, Stalls stalls) : top_(top), stalls_(stalls) {}
  const std::vector<SerializerCompletion>& all() const { return all_; }
  void reset() {
    all_.clear();
    first_beats_.clear();
    last_beats_.clear();
    broken_.clear();
  }

  void drive() override { top_.done_ready_i = !stalls_.now(); }
  void sample() override {
    ++now_;
    if (top_.tx_tvalid_o && top_.tx_tready_i) {
      if (first_beats_.size() == last_beats_.size()) first_beats_.push_back(now_);
      if (top_.tx_tlast_o) {
        last_beats_.push_back(now_);
        broken_.push_back(top_.tx_tuser_o != 0);
      }
    }
    if (top_.done_valid_o && top_.done_ready_i) {
      all_.push_back({top_.done_cookie_o, static_cast<SerializerError>(top_.done_error_o), top_.done_size_o, now_});
    }
  }
  const std::vector<uint64_t>& first_beats() const { return first_beats_; }
  const std::vector<uint64_t>& last_beats() const { return last_beats_; }
  // Of each packet: tuser said that it is.
  const std::vector<bool>& broken() const { return broken_; }

 private:
  Vdrover_serializer& top_;
  Stalls stalls_;
  std::vector<SerializerCompletion> all_;
  std::vector<uint64_t> first_beats_, last_beats_;
  std::vector<bool> broken_;
  uint64_t now_ = 0;
};

class SerializerBench {
 public:
  static constexpr uint64_t kHostBase = 0x7f00'0000'0000, kEngineBase = 0x10'0000'0000;

  struct Options {
    AxiTiming host = {.latency = 20};
    AxiTiming engine = {.latency = 20};
    uint32_t stalls_of_256 = 0;  // of commands, packets and completions
    uint64_t seed = 1;
    size_t host_bytes = 4 << 20, engine_bytes = 1 << 16;
    int power_up_seed = 0;  // of registers' and memories' first state; 0: all zero
  };
  explicit SerializerBench(const Options& options)
      : host_(aligned(options.host_bytes)),
        engine_(aligned(options.engine_bytes)),
        top_(powered_up(options.power_up_seed)),
        sim_(top_.get()),
        table_(*top_),
        commands_(*top_, Stalls(options.stalls_of_256, options.seed + 10)),
        completions_(*top_, Stalls(options.stalls_of_256, options.seed + 11)),
        sink_(DROVER_AXI_STREAM_OUTPUT(*top_, tx), Stalls(options.stalls_of_256, options.seed + 12)),
        host_memory_(DROVER_AXI_READ_PORT(*top_, host), host_, options.host, kHostBase),
        engine_memory_(DROVER_AXI_READ_PORT(*top_, engine), engine_, options.engine, kEngineBase) {
    top_->host_base_i = kHostBase;
    top_->host_limit_i = kHostBase + host_.size();
    top_->engine_base_i = kEngineBase;
    top_->engine_size_i = engine_.size();
    for (Part* part :
         std::initializer_list<Part*>{&table_, &commands_, &completions_, &sink_, &host_memory_, &engine_memory_}) {
      sim_.add(part);
    }
    sim_.reset();
  }
  ~SerializerBench() { top_->final(); }

  void load(const schema::Image& image, bool presence_lines = true) { table_.load(image, presence_lines); }
  std::span<char> host() { return host_; }
  std::span<char> engine() { return engine_; }
  Vdrover_serializer& top() { return *top_; }
  void send(const SerializerCommand& command) {
    ++sent_;
    commands_.send(command);
  }
  // Until every command has its completion; false: not within `cycles` more.
  bool run(uint64_t cycles) {
    uint64_t end = sim_.cycles() + cycles;
    while (completions_.all().size() < sent_ && sim_.cycles() < end) sim_.cycle();
    for (int i = 0; i < 300; ++i) sim_.cycle();  // what is in the last stalled beat comes out; nothing else may
    return completions_.all().size() == sent_;
  }
  // `cycles` more, whatever is under way then.
  void step(uint64_t cycles) {
    for (uint64_t i = 0; i < cycles; ++i) sim_.cycle();
  }
  // Resets the serializer in the middle of whatever it does, until its memories have answered what it had asked for.
  // What was sent, completed or received before is forgotten.
  void reset() {
    top_->rst_ni = 0;
    commands_.reset();
    do {
      sim_.cycle();
    } while (!host_memory_.idle() || !engine_memory_.idle());
    top_->rst_ni = 1;
    completions_.reset();
    sink_.reset();
    sent_ = 0;
  }
  // Another part at the ports; it comes behind those that are there, and lives as long as the bench.
  void add(Part* part) { sim_.add(part); }
  const std::vector<SerializerCompletion>& completions() const { return completions_.all(); }
  const std::vector<uint64_t>& first_beats() const { return completions_.first_beats(); }
  const std::vector<uint64_t>& last_beats() const { return completions_.last_beats(); }
  const std::vector<bool>& broken() const { return completions_.broken(); }
  uint64_t first_command() const { return commands_.first_cycle(); }
  AxiStreamSink& packets() { return sink_; }
  const AxiReadMemory& host_memory() const { return host_memory_; }
  const AxiReadMemory& engine_memory() const { return engine_memory_; }
  uint64_t cycles() const { return sim_.cycles(); }

  // Room for a stream at the next line of host memory; empty buffer: there is none.
  PreserializedOutput room(size_t bytes) {
    PreserializedOutput out;
    bytes = (bytes + 127) / 64 * 64;
    if (used_ + bytes > host_.size()) return out;
    out.buffer = host_.data() + used_;
    out.buffer_size = bytes;
    used_ += bytes;
    return out;
  }
  SerializerCommand command(const PreserializedOutput& stream, uint16_t cookie) const {
    SerializerCommand c;
    c.cookie = cookie;
    c.records = kHostBase + static_cast<uint64_t>(stream.buffer - host_.data());
    c.record_bytes = static_cast<uint32_t>(stream.record_bytes);
    c.payload = kHostBase + static_cast<uint64_t>(stream.payload() - host_.data());
    c.payload_bytes = static_cast<uint32_t>(stream.payload_bytes);
    return c;
  }

  // Writes a command's records into the engine's memory, from its end on, as a host does that pushes them; false: they
  // find no room above `floor`.
  bool push(SerializerCommand* command, size_t floor = 0) {
    size_t bytes = (size_t{command->record_bytes} + 63) / 64 * 64;
    if (bytes + pushed_ + floor > engine_.size()) return false;
    pushed_ += bytes;
    size_t place = engine_.size() - pushed_;
    std::memcpy(engine_.data() + place, host_.data() + (command->records - kHostBase), command->record_bytes);
    command->pushed = true;
    command->records = kEngineBase + place;
    return true;
  }

 private:
  struct AlignedDelete {
    void operator()(char* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  static std::unique_ptr<Vdrover_serializer> powered_up(int seed) {
    Verilated::defaultContextp()->randReset(seed == 0 ? 0 : 2);
    Verilated::defaultContextp()->randSeed(seed);
    return std::make_unique<Vdrover_serializer>();
  }
  std::span<char> aligned(size_t bytes) {
    blocks_.emplace_back(new (std::align_val_t{64}) char[bytes]());
    return {blocks_.back().get(), bytes};
  }

  std::vector<std::unique_ptr<char[], AlignedDelete>> blocks_;
  std::span<char> host_, engine_;
  std::unique_ptr<Vdrover_serializer> top_;
  Simulation<Vdrover_serializer> sim_;
  SchemaTable table_;
  SerializerCommands commands_;
  SerializerCompletions completions_;
  AxiStreamSink sink_;
  AxiReadMemory host_memory_, engine_memory_;
  size_t sent_ = 0;
  size_t used_ = 0;
  size_t pushed_ = 0;
};

}  // namespace drover::rtl
