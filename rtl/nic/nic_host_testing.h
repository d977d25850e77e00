// What the tests of the NIC's host half share: lines that tell flow and call, and how to send and expect them.
#pragma once

#include <gtest/gtest.h>

#include "rtl/testing/nic_bench.h"

namespace drover::rtl {

inline constexpr TxInterface kInterfaces[] = {TxInterface::kMmio, TxInterface::kDoorbell, TxInterface::kCoherent,
                                              TxInterface::kCxl};

inline LineSlot line_of(uint32_t flow, uint32_t call) {
  LineSlot line{};
  line.type = kLineType;
  line.flags = kLineLast;
  line.function = static_cast<uint16_t>(call * 7);
  line.call = call;
  line.connection = static_cast<uint16_t>(flow);
  line.length = kLineArguments;
  for (size_t i = 0; i < kLineArguments; ++i) line.arguments[i] = static_cast<uint8_t>(call * 31 + flow * 17 + i);
  return line;
}

inline bool same(const LineSlot& a, const LineSlot& b) {  // but for the ring's sequence
  return std::memcmp(reinterpret_cast<const char*>(&a) + 4, reinterpret_cast<const char*>(&b) + 4, 60) == 0;
}

// The flow got `count` lines of its own, from call 0 on.
inline void expect_own_lines(NicBench* bench, uint32_t flow, uint32_t count) {
  const std::vector<LineSlot>& lines = bench->received(flow);
  ASSERT_EQ(lines.size(), count) << "flow " << flow;
  for (uint32_t i = 0; i < count; ++i)
    ASSERT_TRUE(same(lines[i], line_of(flow, i))) << "flow " << flow << " line " << i;
}

// Sends `count` lines on each flow, as fast as rings allow, `burst` for each announcement.
inline bool send_all(NicBench* bench, uint32_t flows, uint32_t count, uint32_t burst = 1, uint64_t cycles = 200'000) {
  std::vector<uint32_t> sent(flows);
  return bench->run_until(
      [&] {
        for (uint32_t flow = 0; flow < flows; ++flow) {
          if (sent[flow] < count && bench->send(flow, line_of(flow, sent[flow]), false)) ++sent[flow];
          if (sent[flow] % burst == 0 || sent[flow] == count || bench->sender(flow).room() == 0) bench->announce(flow);
        }
        return bench->received() == size_t{flows} * count;
      },
      cycles);
}

}  // namespace drover::rtl
