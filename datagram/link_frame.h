// The datagrams of links (datagram/link.toml, docs/formats.md section 10), built and checked. Sans I/O.
//
//   0          22                     86
//   | head     | slot, or a record    | slot ...             head: FrameHead from FramePayloadAt on
//
// Datagrams are hostile input: they are refused with the first reason of LinkRefusal that applies. Whether a link is
// known, and its source, key and sequence are right, is for the link to say.
//
// Thread-safety: free functions without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "channel/channel_format.h"
#include "datagram/frame_format.h"
#include "datagram/link_format.h"

namespace drover {

// FrameHead as links use it.
struct LinkFields {
  LinkKind kind = LinkKind::kAck;
  uint8_t lines = 0;  // slots, or 1 for a record
  uint16_t delay =
      0;  // FrameHead.reserved: microseconds that the newest acknowledged slot has waited for this datagram
  uint32_t key = 0, sequence = 0, ack = 0;
  uint16_t link = 0;    // FrameHead.connection
  uint16_t window = 0;  // slots from `ack` on that the sender of this datagram takes

  bool operator==(const LinkFields&) const = default;
};
constexpr bool makes_link(LinkKind kind) { return kind >= LinkKind::kHello && kind <= LinkKind::kAccept; }

void write_link_head(const LinkFields& fields, std::byte* to);  // LinkHeadSize bytes

// A datagram that has passed: its fields, and where its slots or its record lie, unaligned, in the caller's bytes.
struct LinkDatagram {
  LinkFields fields;
  const std::byte* slots = nullptr;

  template <typename Record>
  Record record() const {
    static_assert(sizeof(Record) == sizeof(LineSlot));
    Record value;
    std::memcpy(&value, slots, sizeof value);
    return value;
  }
};
// kOk: `*datagram` is set. Records are checked as far as they need no link: reserved bytes, ranges that ascend.
LinkRefusal check_link_datagram(std::span<const std::byte> bytes, LinkDatagram* datagram);

}  // namespace drover
