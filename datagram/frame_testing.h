// Lines and ends for the tests of frames and transports.
#pragma once

#include <cstring>

#include "datagram/frame.h"

namespace drover::testing {

inline constexpr NetworkEnd kClientEnd{{2, 0, 0, 0, 0, 1}, 0x0a000001, 4000};
inline constexpr NetworkEnd kServerEnd{{2, 0, 0, 0, 0, 2}, 0x0a000002, 5000};

// A request of one line, which says `number` in its call and in its arguments.
inline LineSlot make_line(uint32_t number, uint16_t connection = 0) {
  LineSlot line{};
  line.type = kLineType;
  line.flags = kLineLast;
  line.function = static_cast<uint16_t>(number * 7);
  line.call = number;
  line.connection = connection;
  line.length = kLineArguments;
  for (size_t i = 0; i < kLineArguments; ++i) line.arguments[i] = static_cast<uint8_t>(number * 31 + i * i);
  return line;
}
inline bool same_line(const LineSlot& a, const LineSlot& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace drover::testing
