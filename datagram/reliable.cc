#include "datagram/reliable.h"

#include <algorithm>

namespace drover {
namespace {

// Acks of a window that a frame may be late by, before its sequence numbers could be mistaken.
constexpr uint32_t kLatestAck = 1u << 16;

}  // namespace

FrameRefusal check_peer(const CheckedFrame& frame, const NetworkEnd& peer, uint32_t key) {
  if (frame.source.address != peer.address || frame.source.port != peer.port) return FrameRefusal::kSource;
  return frame.fields.key == key ? FrameRefusal::kOk : FrameRefusal::kKey;
}

ReliableConnection::ReliableConnection(const ReliableOptions& options, const ReliableState& from)
    : options_(options),
      lines_(options.window),
      next_(from.next),
      acked_(from.next),
      peer_window_(options.window),
      expected_(from.expected),
      told_(from.expected),
      window_(static_cast<uint16_t>(options.window)),
      seen_acked_(from.next) {}

void ReliableConnection::set_room(size_t lines) {
  window_ = static_cast<uint16_t>(std::min<size_t>(lines, options_.window));
}

size_t ReliableConnection::may_send() const {
  if (dead_) return 0;
  uint32_t limit = std::clamp<uint32_t>(peer_window_, 1, options_.window);
  return limit > in_flight() ? limit - in_flight() : 0;
}

// Whatever goes out acknowledges what has come.
FrameFields ReliableConnection::fields(FrameKind kind, uint32_t sequence) {
  told_ = expected_;
  if (kind != FrameKind::kData || owed_ == Owed::kAck) owed_ = Owed::kNothing;
  return {.kind = kind, .sequence = sequence, .ack = expected_, .window = window_};
}

FrameFields ReliableConnection::send(std::span<const LineSlot> lines) {
  uint32_t sequence = next_;
  for (const LineSlot& line : lines) kept(next_++) = line;
  return fields(FrameKind::kData, sequence);
}

std::optional<ReliableConnection::Resend> ReliableConnection::take_resend() {
  if (dead_) return std::nullopt;
  if (static_cast<int32_t>(acked_ - resend_at_) > 0) resend_at_ = acked_;  // acknowledged in the meantime
  if (static_cast<int32_t>(resend_end_ - resend_at_) <= 0) return std::nullopt;
  uint32_t sequence = resend_at_++;
  return Resend{fields(FrameKind::kData, sequence), kept(sequence)};
}

std::optional<FrameFields> ReliableConnection::take_ack() {
  if (dead_ || owed_ == Owed::kNothing) return std::nullopt;
  return fields(owed_ == Owed::kGap ? FrameKind::kGap : FrameKind::kAck, 0);
}

// No more than the other end has room for.
void ReliableConnection::start_resend() {
  resend_at_ = acked_;
  resend_end_ = acked_ + std::min<uint32_t>(next_ - acked_, std::max<uint32_t>(peer_window_, 1));
}

FrameRefusal ReliableConnection::take_ack_of(const FrameFields& fields) {
  uint32_t ahead = fields.ack - acked_;
  if (ahead > in_flight()) {
    return acked_ - fields.ack <= kLatestAck ? FrameRefusal::kOk : FrameRefusal::kOutOfWindow;
  }
  peer_window_ = fields.window;
  if (ahead != 0) gap_answered_ = false;
  acked_ = fields.ack;
  if (fields.kind == FrameKind::kGap && in_flight() != 0 && !gap_answered_) {
    gap_answered_ = true;
    start_resend();
  }
  return FrameRefusal::kOk;
}

Received ReliableConnection::take_lines(uint32_t sequence, size_t lines, size_t room) {
  uint32_t known = expected_ - sequence;  // lines of the frame that came before
  if (static_cast<int32_t>(known) < 0) {
    if (owed_ != Owed::kAck) owed_ = Owed::kGap;
    return {FrameRefusal::kMissingBefore};
  }
  if (known >= lines) {
    owed_ = Owed::kAck;
    return {FrameRefusal::kDuplicate};
  }
  size_t count = std::min<size_t>(lines - known, room);
  expected_ += static_cast<uint32_t>(count);
  if (count == 0) {
    owed_ = Owed::kAck;
    return {FrameRefusal::kNoRoom};
  }
  if (expected_ - told_ >= options_.window / 2 && owed_ == Owed::kNothing) owed_ = Owed::kAck;
  return {FrameRefusal::kOk, known, count};
}

Received ReliableConnection::receive(const FrameFields& fields, size_t lines, size_t room) {
  // All of a frame is checked before any of it counts.
  uint32_t ahead = fields.sequence - expected_;
  if (lines != 0 && ahead >= options_.window && -ahead > kLatestAck) return {FrameRefusal::kOutOfWindow};
  if (FrameRefusal refusal = take_ack_of(fields); refusal != FrameRefusal::kOk) return {refusal};
  heard_ = true;
  if (lines == 0) return {};
  return take_lines(fields.sequence, lines, room);
}

void ReliableConnection::tick() {
  bool owed = owes_ack();
  if (owed && was_owed_ && owed_ == Owed::kNothing) owed_ = Owed::kAck;
  was_owed_ = owed;
  if (heard_) resends_ = 0;
  heard_ = false;
  if (in_flight() == 0 || acked_ != seen_acked_) {
    age_ = resends_ = 0;
    seen_acked_ = acked_;
    return;
  }
  if (++age_ <= options_.resend_ticks << std::min(resends_, options_.max_doublings)) return;
  age_ = 0;
  if (resends_++ == options_.max_resends) {
    dead_ = true;
  } else {
    start_resend();
  }
}

}  // namespace drover
