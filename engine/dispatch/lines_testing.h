// For tests of RPC lines in the dispatcher: a raw host that reads and writes its rings itself, and the lines of
// messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "channel/line.h"
#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {

inline constexpr uint32_t kSlots = 16;

// A host's worker as lines see it.
class LineHost final {
 public:
  explicit LineHost(TestThread& thread, uint32_t workers = 1, std::vector<std::string> names = {})
      : thread_(thread), host_(thread, options(workers, std::move(names))) {}

  uint64_t id() const { return host_.id; }
  FakeHost& host() { return host_; }
  void push(const LineSlot& line, uint32_t worker = 0) { host_.push(worker, to_slot(line)); }
  void close(uint16_t connection, uint32_t worker = 0) { host_.push(worker, to_slot(line_close(connection))); }
  // The next line, or LINE_CLOSE, that the engine has sent.
  std::optional<LineSlot> pop(uint32_t worker = 0) {
    Slot slot;
    if (!host_.channels[worker].requests.try_pop(slot)) return std::nullopt;
    return slot_as<LineSlot>(slot);
  }
  bool failed() const { return thread_.events.failed.contains(host_.id); }
  std::string failure() const { return failed() ? thread_.events.failed.at(host_.id) : ""; }

 private:
  static FakeHost::Options options(uint32_t workers, std::vector<std::string> names) {
    FakeHost::Options options;
    options.workers = workers;
    options.paths = {};
    options.addresses = {};
    options.ring_slots = kSlots;
    options.line_names = std::move(names);
    return options;
  }
  TestThread& thread_;
  FakeHost host_;
};

inline LineSlot request(uint16_t connection, uint32_t call, uint8_t flags = kLineLast, uint8_t index = 0,
                        uint8_t length = 5) {
  LineSlot line{};
  line.type = kLineType;
  line.flags = flags;
  line.function = 7;
  line.call = call;
  line.connection = connection;
  line.index = index;
  line.length = length;
  for (int i = 0; i < length; ++i) line.arguments[i] = static_cast<uint8_t>(call + static_cast<uint32_t>(i));
  return line;
}
inline LineSlot response(const LineSlot& to) {
  LineSlot line = to;
  line.flags |= kLineResponse;
  return line;
}
// A message of `lines` lines: line `index` of it.
inline LineSlot part(uint16_t connection, uint32_t call, uint8_t index, uint8_t lines) {
  bool last = index + 1 == lines;
  return request(connection, call, last ? uint8_t{kLineLast} : uint8_t{0}, index, last ? 5 : kLineArguments);
}

}  // namespace drover::engine
