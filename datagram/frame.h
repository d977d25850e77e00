// Frames: RPC lines in UDP datagrams (datagram/frame.toml, docs/formats.md section 7), built and checked.
//
//   0         14      34     42                     64            128
//   | Ethernet | IPv4  | UDP  | magic, kind, key ... | line         | line ...      build_frame, check_frame
//                             | payload                                            build_payload, check_payload
//
// A NIC handles whole frames, a program with a UDP socket the payload. What comes from the network is hostile: it is
// refused with the first reason of FrameRefusal that applies, and changes nothing. Which connection a frame is for, and
// whether its key and sequence are right, is for the connection to say (datagram/reliable.h, check_peer).
//
// Byte order: NetworkEnd holds values, not network bytes. Thread-safety: free functions without state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "channel/channel_format.h"
#include "datagram/frame_format.h"

namespace drover {

// One end of a connection: where its frames come from and go to.
struct NetworkEnd {
  std::array<uint8_t, 6> mac{};
  uint32_t address = 0;  // IPv4; 10.0.0.1 is 0x0a000001
  uint16_t port = 0;     // UDP

  bool operator==(const NetworkEnd&) const = default;
};

// What a head says beyond the standard headers. `sequence` is sent only with data, `ack` and `window` only by the
// reliable transport.
struct FrameFields {
  FrameKind kind = FrameKind::kLines;
  uint32_t key = 0, sequence = 0, ack = 0;
  uint16_t connection = 0, window = 0;

  bool operator==(const FrameFields&) const = default;
};
constexpr bool carries_lines(FrameKind kind) { return kind == FrameKind::kLines || kind == FrameKind::kData; }

// What this end takes.
struct FrameRules {
  bool reliable = false;  // kinds data, ack and gap; else kind lines
  size_t max_lines = kMaxFrameLines;
};

// `lines`: empty for an ack or a gap, else 1 to kMaxFrameLines; their connection and sequence words are replaced.
std::vector<std::byte> build_payload(const FrameFields& fields, std::span<const LineSlot> lines);
std::vector<std::byte> build_frame(const NetworkEnd& from, const NetworkEnd& to, const FrameFields& fields,
                                   std::span<const LineSlot> lines);

struct CheckedFrame {
  FrameFields fields;
  NetworkEnd source;
  std::vector<LineSlot> lines;
};
// kOk: `*checked` is set. A frame may be longer than its IPv4 packet (Ethernet's padding); a payload not.
FrameRefusal check_frame(std::span<const std::byte> frame, const NetworkEnd& own, const FrameRules& rules,
                         CheckedFrame* checked);
// Without the standard headers: `checked->source` stays as it is.
FrameRefusal check_payload(std::span<const std::byte> payload, const FrameRules& rules, CheckedFrame* checked);

// Whether a line may travel, apart from its connection and sequence words: type, known flags, length 48 but in a
// message's last, the 256th line is the last, a failed call's response is one empty line.
bool line_may_travel(const LineSlot& line);

// The Internet checksum (RFC 1071) of bytes that begin at an even offset, on top of `sum`; not complemented.
uint16_t internet_sum(std::span<const std::byte> bytes, uint16_t sum = 0);

}  // namespace drover
