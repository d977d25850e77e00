#include "datagram/slot_sender.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace drover {
namespace {

constexpr uint64_t kFirstSlots = 256;
constexpr uint64_t kFirstSegments = 64;
constexpr uint64_t kReordered = 3;  // datagrams that come later by so many places are lost

}  // namespace

SlotSender::SlotSender(const SlotSenderOptions& options, LinkMemory& memory)
    : options_(options), memory_(memory), congestion_(options.congestion), peer_end_(options.congestion.most) {}

SlotSender::~SlotSender() { memory_.give(capacity_ * sizeof(Slot) + segments_.size() * sizeof(Segment)); }

void SlotSender::set_peer(uint32_t max_lines, uint32_t window) {
  options_.max_lines = std::min(options_.max_lines, max_lines);
  peer_end_ = acked_ + window;
}

// Twice the slots.
bool SlotSender::grow() {
  if (segments_.empty() && !grow_segments()) return false;  // or else nothing could go out
  const uint64_t wanted = capacity_ == 0 ? kFirstSlots : 2 * capacity_;
  if (wanted > options_.most_slots || !memory_.take((wanted - capacity_) * sizeof(Slot))) return false;
  std::unique_ptr<Slot[]> slots(new (std::nothrow) Slot[wanted]);
  if (slots == nullptr) return memory_.give((wanted - capacity_) * sizeof(Slot)), false;
  for (uint64_t i = acked_; i != end_; ++i) slots[i & (wanted - 1)] = slots_[i & (capacity_ - 1)];
  slots_ = std::move(slots);
  capacity_ = wanted;
  return true;
}

bool SlotSender::grow_segments() {
  const size_t wanted = segments_.empty() ? kFirstSegments : 2 * segments_.size();
  if (!memory_.take((wanted - segments_.size()) * sizeof(Segment))) return false;
  std::vector<Segment> segments;
  try {
    segments.resize(wanted);
  } catch (const std::bad_alloc&) {
    memory_.give((wanted - segments_.size()) * sizeof(Segment));
    return false;
  }
  for (uint64_t i = first_segment_; i != end_segment_; ++i) segments[i & (wanted - 1)] = segment(i);
  segments_ = std::move(segments);
  return true;
}

bool SlotSender::push(const Slot& slot, uint64_t second, uint32_t share) {
  const uint64_t held = end_ - acked_;
  if (held >= uint64_t{options_.most_slots} / 8 * share) [[unlikely]]
    return false;
  if (held == capacity_) [[unlikely]] {
    if (!grow()) return false;
  }
  // By words, as the ring wrote them (RingProducer::try_push_with).
  uint64_t words[sizeof(Slot) / 8];
  std::memcpy(words, &slot, sizeof words);
  words[0] &= ~uint64_t{0xffffffff};
  words[1] = second;
  std::memcpy(&slots_[end_ & (capacity_ - 1)], words, sizeof words);
  ++end_;
  return true;
}

bool SlotSender::may_send() const {
  if (in_flight_ >= congestion_.window()) return false;
  return lost_ != 0 || (next_ != end_ && next_ < peer_end_);
}

void SlotSender::fill(const Segment& segment, uint64_t* first, std::span<const Slot> (&parts)[2]) const {
  *first = segment.first;
  const uint64_t at = segment.first & (capacity_ - 1);
  const uint64_t behind = std::min<uint64_t>(segment.count, capacity_ - at);
  parts[0] = {&slots_[at], behind};
  parts[1] = {&slots_[0], segment.count - behind};
}

bool SlotSender::take_lost(int64_t now_ns, Segment** taken) {
  if (lost_ == 0) return false;
  next_lost_ = std::max(next_lost_, first_segment_);
  while (!segment(next_lost_).lost) ++next_lost_;
  Segment& again = segment(next_lost_++);
  again.lost = false;
  again.resent = true;
  again.sent_ns = now_ns;
  again.order = ++order_;
  --lost_;
  ++resent_;
  *taken = &again;
  return true;
}

bool SlotSender::take_new(int64_t now_ns, Segment** taken) {
  const uint64_t room = std::min(end_, peer_end_) - next_;
  if (next_ >= peer_end_ || room == 0) return false;
  if (end_segment_ - first_segment_ == segments_.size() && !grow_segments()) return false;
  Segment& fresh = segment(end_segment_++);
  fresh = {.first = next_,
           .sent_ns = now_ns,
           .order = ++order_,
           .count = static_cast<uint16_t>(std::min<uint64_t>(room, options_.max_lines))};
  next_ += fresh.count;
  *taken = &fresh;
  return true;
}

bool SlotSender::take(int64_t now_ns, uint64_t* first, std::span<const Slot> (&parts)[2]) {
  if (in_flight_ >= congestion_.window()) return false;
  const bool idle = acked_ == next_;
  Segment* taken = nullptr;
  if (!take_lost(now_ns, &taken) && !take_new(now_ns, &taken)) return false;
  if (idle) progress_ns_ = now_ns;
  in_flight_ += taken->count;
  fill(*taken, first, parts);
  return true;
}

void SlotSender::came(Segment& segment, int64_t delay_ns, int64_t now_ns) {
  if (segment.lost) {
    segment.lost = false;
    --lost_;
  } else {
    in_flight_ -= segment.count;
  }
  segment.came = true;
  const int64_t took = now_ns - segment.sent_ns;
  // Of a segment that went out twice, the first may have come; then it came too soon for the second.
  if (segment.resent && took < congestion_.round_trip_ns() / 2) return;
  if (segment.order > latest_order_) {
    latest_order_ = segment.order;
    latest_sent_ns_ = segment.sent_ns;
    if (!segment.resent) congestion_.measured(took - std::min(delay_ns, took), now_ns);
  }
}

// The first segment in flight that begins there or behind.
uint64_t SlotSender::segment_from(uint64_t slot) const {
  uint64_t low = first_segment_, high = end_segment_;
  while (low != high) {
    const uint64_t middle = low + (high - low) / 2;
    if (segment(middle).first < slot) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The segments that lie in it whole. How many slots they have.
uint32_t SlotSender::take_range(uint64_t begin, uint64_t end, int64_t delay_ns, int64_t now_ns) {
  const uint64_t low = segment_from(begin);
  uint32_t count = 0;
  // From the last: the newest is measured.
  uint64_t last = low;
  while (last != end_segment_ && segment(last).first + segment(last).count <= end) ++last;
  while (last != low) {
    Segment& each = segment(--last);
    if (each.came) continue;
    came(each, delay_ns, now_ns);
    count += each.count;
  }
  return count;
}

bool SlotSender::acknowledged(uint64_t ack, uint32_t window, int64_t delay_ns, const LinkRanges* ranges,
                              int64_t now_ns) {
  if (ack > next_) return false;
  if (ranges != nullptr && ack + ranges->ranges[2 * ranges->count - 1] > next_) return false;
  if (ack < acked_) return true;  // it came late
  // Receivers take datagrams whole.
  const uint64_t behind = segment_from(ack);
  if (ack != next_ && (behind == end_segment_ || segment(behind).first != ack)) return false;
  peer_end_ = std::max(peer_end_, ack + window);
  const auto before = static_cast<uint32_t>(in_flight_);
  uint32_t count = 0;
  for (size_t i = ranges == nullptr ? 0 : ranges->count; i-- != 0;) {
    count += take_range(ack + ranges->ranges[2 * i], ack + ranges->ranges[2 * i + 1], delay_ns, now_ns);
  }
  count += take_range(acked_, ack, delay_ns, now_ns);
  const bool progress = count != 0 || ack != acked_;
  acked_ = ack;
  while (first_segment_ != end_segment_ && segment(first_segment_).first < acked_ && segment(first_segment_).came) {
    ++first_segment_;
  }
  if (progress) {
    progress_ns_ = now_ns;
    congestion_.acknowledged(count, before);
  }
  if (first_segment_ != end_segment_) find_lost(now_ns);
  return true;
}

void SlotSender::lose(Segment& segment) {
  segment.lost = true;
  in_flight_ -= segment.count;
  ++lost_;
}

void SlotSender::find_lost(int64_t now_ns) {
  const int64_t reordering = congestion_.round_trip_ns() / 4;
  int64_t newest = -1;
  for (uint64_t i = first_segment_; i != end_segment_; ++i) {
    Segment& each = segment(i);
    if (each.came || each.lost) continue;
    if (each.order > latest_order_) {
      if (!each.resent) break;  // this and all behind it are newer
      continue;
    }
    if (each.order + kReordered > latest_order_ && latest_sent_ns_ - each.sent_ns <= reordering) continue;
    newest = std::max(newest, each.sent_ns);
    lose(each);
    next_lost_ = std::min(next_lost_, i);
  }
  if (newest >= 0) congestion_.lost(newest, now_ns);
}

int64_t SlotSender::timer_ns() const { return acked_ == next_ ? INT64_MAX : progress_ns_ + congestion_.timeout_ns(); }

void SlotSender::timer(int64_t now_ns) {
  if (now_ns < timer_ns()) return;
  progress_ns_ = now_ns;
  congestion_.timed_out();
  next_lost_ = first_segment_;
  const bool all = congestion_.timeouts() > 1;
  for (uint64_t i = first_segment_; i != end_segment_; ++i) {
    Segment& each = segment(i);
    if (each.came) continue;
    if (!each.lost) lose(each);
    if (!all) return;
  }
}

}  // namespace drover
