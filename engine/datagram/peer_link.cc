#include "engine/datagram/peer_link.h"

#include <algorithm>

namespace drover::engine {

bool PeerLink::push(const Slot& slot, uint64_t second, uint32_t share) {
  if (!sender_.push(slot, second, share)) return false;
  if (!dirty_) holder_.mark(*this);
  return true;
}

void PeerLink::fail(const char* why) {
  if (failure_ != nullptr) return;
  failure_ = why;
  if (!dirty_) holder_.mark(*this);
}

LinkFields PeerLink::fields(LinkKind kind, uint64_t sequence, int64_t now_ns) {
  const int64_t waited = std::clamp<int64_t>((now_ns - took_ns_) / 1000, 0, UINT16_MAX);
  LinkFields fields;
  fields.kind = kind;
  fields.delay = static_cast<uint16_t>(waited);
  fields.key = far_keys_.of(sequence);
  fields.sequence = static_cast<uint32_t>(sequence);
  fields.ack = static_cast<uint32_t>(receiver_.expected());
  fields.link = far_number_;
  fields.window = static_cast<uint16_t>(receiver_.window());
  return fields;
}

// A datagram with the right source. All of it is checked before any of it counts.
LinkRefusal PeerLink::take(const LinkDatagram& datagram, int64_t now_ns) {
  const LinkFields& fields = datagram.fields;
  const uint64_t number = receiver_.number(fields.sequence);
  if (number == UINT64_MAX) return LinkRefusal::kOutOfWindow;
  if (fields.key != own_keys_.of(number)) return LinkRefusal::kKey;
  const bool slots = fields.kind == LinkKind::kSlots;
  if (number + (slots ? fields.lines : 0) > receiver_.expected() + receiver_.window()) return LinkRefusal::kOutOfWindow;
  const auto ahead = static_cast<int32_t>(fields.ack - static_cast<uint32_t>(sender_.acked()));
  if (ahead >= 0) {
    LinkRanges ranges;
    if (!slots && fields.lines == 1) ranges = datagram.record<LinkRanges>();
    if (!sender_.acknowledged(sender_.acked() + static_cast<uint64_t>(ahead), fields.window,
                              int64_t{fields.delay} * 1000, !slots && fields.lines == 1 ? &ranges : nullptr, now_ns)) {
      return LinkRefusal::kOutOfWindow;
    }
  }
  heard_ns_ = now_ns;
  if (fields.kind == LinkKind::kEnd) {
    tell_ = false;
    fail("the other engine ended the link");
    return LinkRefusal::kOk;
  }
  if (fields.kind == LinkKind::kPing) receiver_.asked();
  if (!slots) return LinkRefusal::kOk;
  if (!receiver_.owes()) owed_since_ns_ = now_ns;
  took_ns_ = now_ns;
  return receiver_.take(number, fields.lines, datagram.slots, [this](const std::byte* slot) {
    holder_.on_slot(*this, slot);
    return failure_ == nullptr;
  });
}

void PeerLink::send_ack(LinkKind kind, int64_t now_ns, DatagramOut& out) {
  LinkFields head = fields(kind, sender_.next(), now_ns);
  LinkRanges ranges;
  std::byte bytes[kLinkHeadSize + sizeof ranges];
  size_t size = kLinkHeadSize;
  if (receiver_.ranges(&ranges)) {
    head.lines = 1;
    std::memcpy(bytes + size, &ranges, sizeof ranges);
    size += sizeof ranges;
  }
  write_link_head(head, bytes);
  receiver_.told();
  out.send(port_, address_, {bytes, size}, {}, {});
}

void PeerLink::flush(int64_t now_ns, DatagramOut& out) {
  uint64_t first;
  std::span<const Slot> parts[2];
  const bool ranges_due = receiver_.misses() && receiver_.urgent();
  while (sender_.take(now_ns, &first, parts)) {
    LinkFields head = fields(LinkKind::kSlots, first, now_ns);
    head.lines = static_cast<uint8_t>(parts[0].size() + parts[1].size());
    std::byte bytes[kLinkHeadSize];
    write_link_head(head, bytes);
    out.send(port_, address_, bytes, parts[0], parts[1]);
    receiver_.told();
  }
  if (ranges_due || (receiver_.owes() && (receiver_.urgent() || now_ns >= ack_ns()))) {
    send_ack(LinkKind::kAck, now_ns, out);
  }
}

}  // namespace drover::engine
