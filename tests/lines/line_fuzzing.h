// What the fuzzers of host/lines share: two rings in memory, and lines made of a fuzzer's bytes.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "channel/line.h"
#include "host/lines/ring_port.h"
#include "testing/fuzz_input.h"

namespace drover::lines {

// Ends the process, which libFuzzer reports, if the rule does not hold.
inline void must(bool holds) {
  if (!holds) std::abort();
}

class FuzzRings {
 public:
  RingPort client() { return {a_.producer(), b_.consumer()}; }
  RingPort server() { return {b_.producer(), a_.consumer()}; }

 private:
  static constexpr uint32_t kSlots = 512;
  struct Memory {
    RingProducer producer() { return {slots.data(), kSlots, &position}; }
    RingConsumer consumer() { return {slots.data(), kSlots, &position}; }
    std::vector<Slot> slots = std::vector<Slot>(kSlots);
    ConsumerPosition position{};
  };
  Memory a_, b_;
};

// Any 64 bytes, or a line whose header comes near to what a sender makes, or the end of a connection. `connections`
// and `calls`: numbers are below.
inline Slot fuzz_slot(testing::FuzzInput* input, uint8_t flags, uint16_t connections, uint32_t calls) {
  const auto kind = input->take<uint8_t>();
  Slot slot{};
  if (kind % 8 == 0) {
    input->copy_to(reinterpret_cast<char*>(&slot), sizeof slot);
    return slot;
  }
  if (kind % 8 == 1) {
    LineCloseSlot close = line_close(static_cast<uint16_t>(input->take<uint8_t>() % connections));
    return to_slot(close);
  }
  LineSlot line{};
  line.type = kLineType;
  line.flags = static_cast<uint8_t>(flags ^ (input->take<uint8_t>() & 7));
  line.function = input->take<uint8_t>() % 12;
  line.call = input->take<uint8_t>() % calls;
  line.connection = static_cast<uint16_t>(input->take<uint8_t>() % connections);
  line.index = input->take<uint8_t>() % 16;
  line.length = kind % 8 == 2 ? input->take<uint8_t>() : kind % 8 < 5 ? kLineArguments : kind % (kLineArguments + 1);
  input->copy_to(reinterpret_cast<char*>(line.arguments), std::min<size_t>(line.length, sizeof line.arguments));
  return to_slot(line);
}

}  // namespace drover::lines
