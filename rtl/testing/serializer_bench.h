// A serializer with a host's memory and the engine's memory at its ports, and room in them for streams and objects.
//
//   SerializerBench bench({});
//   bench.load(image);                                  // for commands that walk
//   PreserializedOutput stream = bench.room(bytes); ... // preserialize() into it
//   bench.send(bench.command(stream, cookie));
//   bench.run(cycles); bench.completions(); bench.packets().take();
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "codec/preserialize/preserialize.h"
#include "rtl/model/serializer.h"
#include "rtl/testing/stalls.h"

namespace drover::rtl {

class SerializerBench {
 public:
  static constexpr uint64_t kHostBase = Serializer::kHostBase, kEngineBase = Serializer::kEngineBase;

  struct Options {
    AxiTiming host = {.latency = 20};
    AxiTiming engine = {.latency = 20};
    uint32_t stalls_of_256 = 0;  // of commands, packets and completions
    uint64_t seed = 1;
    size_t host_bytes = 4 << 20, engine_bytes = 1 << 16;
    uint32_t power_up_seed = 0;  // of what registers and memories hold before reset; 0: zeros
  };
  explicit SerializerBench(const Options& options)
      : host_(aligned(options.host_bytes)),
        engine_(aligned(options.engine_bytes)),
        device_(device_config(options)),
        host_memory_(device_.host_port(), host_, options.host.reads(), kHostBase),
        engine_memory_(device_.engine_port(), engine_, options.engine.reads(), kEngineBase) {
    device_.add(&host_memory_);
    device_.add(&engine_memory_);
    device_.reset();
  }

  void load(const schema::Image& image, bool presence_lines = true) { device_.load(image, presence_lines); }
  std::span<char> host() { return host_; }
  std::span<char> engine() { return engine_; }
  Vdrover_serializer& top() { return device_.top(); }
  void send(const SerializerCommand& command) {
    ++sent_;
    device_.send(command);
  }
  // Until every command has its completion; false: not within `cycles` more.
  bool run(uint64_t cycles) {
    uint64_t end = device_.cycles() + cycles;
    while (completions().size() < sent_ && device_.cycles() < end) device_.cycle();
    step(300);  // the last stalled beat comes out; nothing else may
    return completions().size() == sent_;
  }
  // `cycles` more, whatever is under way then.
  void step(uint64_t cycles) {
    for (uint64_t i = 0; i < cycles; ++i) device_.cycle();
  }
  // Resets the engine in the middle of what it does. What was sent, completed or received before is forgotten.
  void reset() {
    device_.reset();
    sent_ = 0;
  }
  // Another part at the ports, which outlives the bench's last cycle.
  void add(Part* part) { device_.add(part); }
  const std::vector<SerializerCompletion>& completions() const { return device_.completions(); }
  const std::vector<uint64_t>& first_beats() const { return device_.first_beats(); }
  const std::vector<uint64_t>& last_beats() const { return device_.last_beats(); }
  const std::vector<bool>& broken() const { return device_.broken(); }
  uint64_t first_command() const { return device_.first_command(); }
  AxiStreamSink& packets() { return device_.packets(); }
  const AxiReadMemory& host_memory() const { return host_memory_; }
  const AxiReadMemory& engine_memory() const { return engine_memory_; }
  uint64_t cycles() const { return device_.cycles(); }

  // Room for a stream at the next line of host memory; an empty buffer if the memory is full.
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

  // Writes a command's records into the engine's memory, from its end downward, as a host pushes them; false if they
  // do not fit above `floor`.
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
  static SerializerConfig device_config(const Options& options) {
    SerializerConfig config;
    config.host_bytes = options.host_bytes;
    config.engine_bytes = options.engine_bytes;
    config.power_up = {options.power_up_seed != 0, options.power_up_seed};
    config.command_stall = Stalls(options.stalls_of_256, options.seed + 10);
    config.completion_stall = Stalls(options.stalls_of_256, options.seed + 11);
    config.packet_stall = Stalls(options.stalls_of_256, options.seed + 12);
    return config;
  }
  struct AlignedDelete {
    void operator()(char* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  std::span<char> aligned(size_t bytes) {
    blocks_.emplace_back(new (std::align_val_t{64}) char[bytes]());
    return {blocks_.back().get(), bytes};
  }

  std::vector<std::unique_ptr<char[], AlignedDelete>> blocks_;
  std::span<char> host_, engine_;
  Serializer device_;
  AxiReadMemory host_memory_, engine_memory_;
  size_t sent_ = 0;
  size_t used_ = 0;
  size_t pushed_ = 0;
};

}  // namespace drover::rtl
