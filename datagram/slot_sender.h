// SlotSender: one direction of a link. It keeps slots until they are acknowledged, and says which go out when.
//
//   acked            next             end
//     |   in flight   |   waiting      |            slots by number, modulo the queue's size (a power of two)
//     [seg][seg][seg]                               segments: what went out in one datagram, in their order
//
// Selective repeat: a segment is lost when three later ones have come, or one that is later by more than a quarter of a
// round trip. Nothing acknowledged for a time-out: the first segment goes out again and asks; the next time-out counts
// all of them as lost. Lost segments go out before new ones. How much is in flight is Congestion's to say.
//
// Acknowledgements are hostile input: one that cannot be changes nothing.
// Thread-safety: none. Allocates as its queue grows, up to the limits; not in the steady state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "channel/channel_format.h"
#include "datagram/congestion.h"
#include "datagram/link_format.h"

namespace drover {

// What the links of one engine thread hold together, in bytes.
struct LinkMemory {
  size_t limit = SIZE_MAX, used = 0;

  bool take(size_t bytes) {
    if (bytes > limit - std::min(used, limit)) return false;
    used += bytes;
    return true;
  }
  void give(size_t bytes) { used -= bytes; }
};

struct SlotSenderOptions {
  uint32_t max_lines = 22;      // slots of a datagram
  uint32_t most_slots = 65536;  // kept, a power of two
  CongestionOptions congestion;
};

class SlotSender {
 public:
  // `memory` outlives it.
  SlotSender(const SlotSenderOptions& options, LinkMemory& memory);
  ~SlotSender();
  SlotSender(const SlotSender&) = delete;
  SlotSender& operator=(const SlotSender&) = delete;

  // The slot with `second` as its bytes 8 to 15, and zero as its sequence. False: there is no room, and nothing was
  // done. `share`: in 1/8 of the most, how full the queue may be before.
  bool push(const Slot& slot, uint64_t second, uint32_t share = 8);

  // What the other end takes in a datagram, and beyond what it has acknowledged.
  void set_peer(uint32_t max_lines, uint32_t window);

  // The next datagram that may go out now; false: nothing may. `*first` is its first slot's number. Its slots lie in
  // `parts`, the second of which may be empty, until something is pushed or acknowledged.
  bool take(int64_t now_ns, uint64_t* first, std::span<const Slot> (&parts)[2]);

  // An acknowledgement of all slots below `ack` and of `ranges`. False: it cannot be.
  bool acknowledged(uint64_t ack, uint32_t window, int64_t delay_ns, const LinkRanges* ranges, int64_t now_ns);

  // When timer() is due; INT64_MAX: nothing is in flight.
  int64_t timer_ns() const;
  void timer(int64_t now_ns);

  bool has_something() const { return lost_ != 0 || next_ != end_; }  // that take() may give, now or later
  bool may_send() const;                                              // take() would give something now
  uint64_t acked() const { return acked_; }
  uint64_t next() const { return next_; }
  uint64_t waiting() const { return end_ - next_; }
  uint64_t held() const { return end_ - acked_; }  // slots
  const Congestion& congestion() const { return congestion_; }
  uint64_t resent() const { return resent_; }  // datagrams

 private:
  struct Segment {
    uint64_t first = 0;
    int64_t sent_ns = 0;
    uint64_t order = 0;  // of its last transmission
    uint16_t count = 0;
    bool resent = false, lost = false, came = false;
  };

  bool grow();
  Segment& segment(uint64_t index) { return segments_[index & (segments_.size() - 1)]; }
  const Segment& segment(uint64_t index) const { return segments_[index & (segments_.size() - 1)]; }
  bool grow_segments();
  uint64_t segment_from(uint64_t slot) const;
  void fill(const Segment& segment, uint64_t* first, std::span<const Slot> (&parts)[2]) const;
  bool take_lost(int64_t now_ns, Segment** taken);
  bool take_new(int64_t now_ns, Segment** taken);
  void came(Segment& segment, int64_t delay_ns, int64_t now_ns);
  uint32_t take_range(uint64_t begin, uint64_t end, int64_t delay_ns, int64_t now_ns);
  void find_lost(int64_t now_ns);
  void lose(Segment& segment);

  SlotSenderOptions options_;
  LinkMemory& memory_;
  Congestion congestion_;
  std::unique_ptr<Slot[]> slots_;
  uint64_t capacity_ = 0;
  uint64_t acked_ = 0, next_ = 0, end_ = 0;
  uint64_t peer_end_;                             // slots below may be sent
  std::vector<Segment> segments_;                 // a power of two
  uint64_t first_segment_ = 0, end_segment_ = 0;  // in flight: [first, end)
  uint64_t in_flight_ = 0;                        // slots sent, not known to have come or to be lost
  uint64_t lost_ = 0;                             // segments to go out again
  uint64_t next_lost_ = 0;                        // none before it is lost
  uint64_t order_ = 0, latest_order_ = 0;
  int64_t latest_sent_ns_ = 0;  // of the latest transmission that is known to have come
  int64_t progress_ns_ = 0;     // when the timer began
  uint64_t resent_ = 0;
};

}  // namespace drover
