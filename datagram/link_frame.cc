#include "datagram/link_frame.h"

#include <algorithm>

namespace drover {
namespace {

constexpr size_t at(size_t offset) { return offset - kFramePayloadAt; }

template <typename T>
T get(const std::byte* from, size_t offset) {
  T value;
  std::memcpy(&value, from + at(offset), sizeof value);
  return value;
}
template <typename T>
void put(std::byte* to, size_t offset, T value) {
  std::memcpy(to + at(offset), &value, sizeof value);
}

bool known(LinkKind kind) { return kind >= LinkKind::kHello && kind <= LinkKind::kReset; }

bool right_count(LinkKind kind, size_t lines) {
  if (makes_link(kind)) return lines == 1;
  if (kind == LinkKind::kSlots) return lines >= 1 && lines <= kMaxFrameLines;
  if (kind == LinkKind::kAck || kind == LinkKind::kPing) return lines <= 1;
  return lines == 0;
}

bool zeros(const uint8_t* bytes, size_t size) {
  return std::all_of(bytes, bytes + size, [](uint8_t byte) { return byte == 0; });
}

LinkRefusal check_record(const LinkDatagram& datagram) {
  const auto record = datagram.record<LinkRecord>();
  if (record.version != kLinkVersion) return LinkRefusal::kVersion;
  const LinkKind kind = datagram.fields.kind;
  const bool told = kind == LinkKind::kConnect || kind == LinkKind::kAccept;
  const bool cookie = kind == LinkKind::kCookie || kind == LinkKind::kConnect;
  const LinkFields& fields = datagram.fields;
  bool right = zeros(record.reserved, sizeof record.reserved) && record.nonce != 0 && (cookie || record.cookie == 0) &&
               fields.key == 0 && fields.sequence == 0 && fields.ack == 0 &&
               (kind == LinkKind::kAccept || fields.link == 0);
  if (told) {
    right = right && record.max_lines >= 1 && record.max_lines <= kMaxFrameLines && record.window != 0;
  } else {
    right = right && record.link == 0 && record.max_lines == 0 && record.window == 0 && record.secret == 0;
  }
  return right ? LinkRefusal::kOk : LinkRefusal::kBadRecord;
}

LinkRefusal check_ranges(const LinkRanges& ranges) {
  if (ranges.count < 1 || ranges.count > kLinkMaxRanges || ranges.reserved != 0) return LinkRefusal::kBadRecord;
  uint16_t behind = 0;  // the first cannot begin at `ack`, which the receiver does not have
  for (size_t i = 0; i < 2 * kLinkMaxRanges; ++i) {
    const bool used = i < 2u * ranges.count;
    if (used ? ranges.ranges[i] <= behind : ranges.ranges[i] != 0) return LinkRefusal::kBadRecord;
    behind = ranges.ranges[i];
  }
  return LinkRefusal::kOk;
}

}  // namespace

void write_link_head(const LinkFields& fields, std::byte* to) {
  put<uint16_t>(to, offsetof(FrameHead, magic), kFrameMagic);
  put<uint8_t>(to, offsetof(FrameHead, kind), static_cast<uint8_t>(fields.kind));
  put<uint8_t>(to, offsetof(FrameHead, lines), fields.lines);
  put<uint16_t>(to, offsetof(FrameHead, reserved), fields.delay);
  put<uint32_t>(to, offsetof(FrameHead, key), fields.key);
  put<uint32_t>(to, offsetof(FrameHead, sequence), fields.sequence);
  put<uint32_t>(to, offsetof(FrameHead, ack), fields.ack);
  put<uint16_t>(to, offsetof(FrameHead, connection), fields.link);
  put<uint16_t>(to, offsetof(FrameHead, window), fields.window);
}

LinkRefusal check_link_datagram(std::span<const std::byte> bytes, LinkDatagram* datagram) {
  if (bytes.size() < kLinkHeadSize || bytes.size() > kLinkHeadSize + kMaxFrameLines * sizeof(LineSlot)) {
    return LinkRefusal::kSize;
  }
  const std::byte* from = bytes.data();
  if (get<uint16_t>(from, offsetof(FrameHead, magic)) != kFrameMagic) return LinkRefusal::kMagic;
  LinkFields& fields = datagram->fields;
  fields.kind = LinkKind{get<uint8_t>(from, offsetof(FrameHead, kind))};
  if (!known(fields.kind)) return LinkRefusal::kKind;
  fields.lines = get<uint8_t>(from, offsetof(FrameHead, lines));
  if (bytes.size() != kLinkHeadSize + fields.lines * sizeof(LineSlot) || !right_count(fields.kind, fields.lines)) {
    return LinkRefusal::kSlotCount;
  }
  fields.delay = get<uint16_t>(from, offsetof(FrameHead, reserved));
  fields.key = get<uint32_t>(from, offsetof(FrameHead, key));
  fields.sequence = get<uint32_t>(from, offsetof(FrameHead, sequence));
  fields.ack = get<uint32_t>(from, offsetof(FrameHead, ack));
  fields.link = get<uint16_t>(from, offsetof(FrameHead, connection));
  fields.window = get<uint16_t>(from, offsetof(FrameHead, window));
  datagram->slots = from + kLinkHeadSize;
  if (makes_link(fields.kind)) return check_record(*datagram);
  if (fields.kind != LinkKind::kSlots && fields.lines == 1) return check_ranges(datagram->record<LinkRanges>());
  return LinkRefusal::kOk;
}

}  // namespace drover
