// The reliable transport of one connection: every line once and in order, over a network that loses, repeats, reorders
// and damages frames. Sans I/O: frames come in and go out as FrameFields and lines; time is a call of tick().
//
//   sender:    acked        next        acked + window
//              |  in flight  |  may be sent  |               kept until acknowledged, at most `window` lines
//   receiver:  lines before `expected` were delivered, later ones are not kept (go back N)
//
// Data acknowledges the other direction too. An ack alone goes out when half a window is unacknowledged, when a line
// comes again, and at the second tick that finds something unacknowledged. A later line than the expected one is
// answered by a gap, upon which the sender sends all again, once for each `acked`. What is in flight for `resend_ticks`
// without progress is sent again, too; the time doubles each time up to `max_doublings`. `max_resends` of them without
// a word from the other end, and the connection is dead. An end whose window is 0 still takes a line at a time if it
// has room by then, so that a lost window update stops nothing.
//
// It is the model of the NIC's transport (rtl/nic), which does the same for frames of one line.
// Sequence numbers wrap. A reopened connection has new keys, so that no frame of the old one counts.
// Thread-safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "datagram/frame.h"

namespace drover {

struct ReliableOptions {
  uint32_t window = 16;       // lines, a power of two up to 1024; the same at both ends
  uint32_t resend_ticks = 8;  // at least 1
  uint32_t max_doublings = 6;
  uint32_t max_resends = 10;
};

// Where a connection begins: zeros, unless it is continued.
struct ReliableState {
  uint32_t next = 0, expected = 0;

  bool operator==(const ReliableState&) const = default;
};

// What became of a frame. kOk: `count` of its lines from `first` on are for the host. Others than out_of_window have
// been taken note of: they acknowledge and are answered.
struct Received {
  FrameRefusal refusal = FrameRefusal::kOk;
  size_t first = 0, count = 0;
};

class ReliableConnection {
 public:
  explicit ReliableConnection(const ReliableOptions& options = {}, const ReliableState& from = {});

  // ---- sending. Fields come without key and connection, which the caller knows.
  // Lines that may be sent now.
  size_t may_send() const;
  // At most may_send() lines, at least one; keeps copies.
  FrameFields send(std::span<const LineSlot> lines);
  // The next line that has to go out again, if there is one.
  struct Resend {
    FrameFields fields;
    LineSlot line;
  };
  std::optional<Resend> take_resend();
  // The ack or gap that has to go out, if there is one.
  std::optional<FrameFields> take_ack();

  // ---- receiving a frame that check_frame has passed, of this connection, with the right key and source.
  // `room`: lines that the host has room for now.
  Received receive(const FrameFields& fields, size_t lines, size_t room);

  // ---- time
  void tick();
  // `max_resends` is reached. Nothing is sent any more; what was in flight is lost.
  bool dead() const { return dead_; }

  // Lines for which the host has room: the window of the next frames, at most `window`.
  void set_room(size_t lines);

  size_t in_flight() const { return next_ - acked_; }
  bool owes_ack() const { return expected_ != told_; }
  ReliableState state() const { return {next_, expected_}; }

 private:
  FrameFields fields(FrameKind kind, uint32_t sequence);
  FrameRefusal take_ack_of(const FrameFields& fields);
  Received take_lines(uint32_t sequence, size_t lines, size_t room);
  void start_resend();
  LineSlot& kept(uint32_t sequence) { return lines_[sequence & (options_.window - 1)]; }

  ReliableOptions options_;
  std::vector<LineSlot> lines_;  // by sequence modulo the window

  uint32_t next_, acked_;
  uint32_t peer_window_;
  bool gap_answered_ = false;                // for this `acked_`
  uint32_t resend_at_ = 0, resend_end_ = 0;  // to go out again

  uint32_t expected_, told_;  // told: as of the last frame that was sent
  uint16_t window_;           // that is offered
  enum class Owed { kNothing, kAck, kGap } owed_ = Owed::kNothing;

  // Of tick() alone.
  uint32_t seen_acked_;
  uint32_t age_ = 0, resends_ = 0;
  bool heard_ = false, was_owed_ = false, dead_ = false;
};

// Whether a frame is from the other end of a connection: kSource, kKey or kOk.
FrameRefusal check_peer(const CheckedFrame& frame, const NetworkEnd& peer, uint32_t key);

}  // namespace drover
