// AnsweredLines: how far a flow's TX ring has been taken, by what comes back. Synchronous threading has this in place
// of positions that the NIC publishes (docs/nic.md, hard configuration).
//
//   client   request of call 7   --> TX ring    its response comes: the NIC has taken the request's lines
//   server   response to call 7  --> TX ring    request 7 + window comes: the client has the response
//
// A NIC takes a ring's lines in order, so that all lines in front of these were taken, too. `window`, a power of two,
// is how many calls a connection may have under way at once; both ends know it. What a request's number says of earlier
// calls in its place of the window is channel/line.h's (shows_answered): nothing of calls in front of one that was
// given up, whose response may still wait in the server's ring. With a window of 1 a connection is blocked until its
// call is answered, as in Dagger's paper.
//
// Lines may come repeated and late (the unreliable transport). What a server answers to a repeated request proves
// nothing: the client may have had the first answer. Where answers are lost, nothing may come that says that a ring's
// lines have been taken: the host then begins the ring anew (NicSender::begin_anew).
//
// What this asks of the hosts: a server's ring has room for the responses to all calls that may be under way on its
// flow, since a server without room takes no request; a connection number that is opened anew is forgotten first; and
// the server trusts its clients: a request ahead of its time frees lines that the NIC has not taken.
//
// Thread-safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "channel/layout.h"
#include "channel/line.h"

namespace drover::rtl {

class AnsweredLines {
 public:
  explicit AnsweredLines(uint32_t window) : window_(window) {}

  // The line is in the ring, as the `sent`th of all.
  void sent(const LineSlot& line, uint64_t sent) {
    auto [at, fresh] = last_.try_emplace(place_of(line, is_response(line)), Sent{line.call, 0, sent});
    Sent& last = at->second;
    if (fresh) {
      last.lines = line.index + 1u;
    } else if (line.call == last.call && line.index == last.lines) {
      ++last.lines;
      last.sent = sent;
    } else if (line.call != last.call && last.call - line.call >= kLate) {
      last = {line.call, line.index + 1u, sent};
    }
  }
  // A line has come. How many of the ring's lines have been taken for sure.
  uint64_t came(const LineSlot& line) {
    const bool request = !is_response(line);
    auto found = last_.find(place_of(line, request));
    if (found == last_.end()) return taken_;
    const Sent& last = found->second;
    if (request ? shows_answered(line.call, last.call) : line.call == last.call) taken_ = std::max(taken_, last.sent);
    return taken_;
  }
  // The ring has been begun anew: empty, its first line is the first again. What was sent before stays known, so that a
  // repeated request's answer in the new ring proves nothing either; what two rings in a row have not renewed goes.
  void begin_anew() {
    std::erase_if(last_, [](const auto& each) { return each.second.sent == 0; });
    for (auto& [place, last] : last_) last.sent = 0;
    taken_ = 0;
  }
  // The connection has been closed; lines of another one may have its number.
  void forget(uint16_t connection) {
    std::erase_if(last_, [connection](const auto& each) { return each.first >> 32 == connection; });
  }

 private:
  // A late repeat is of a call that is older by fewer given-up calls than this. What seems older still is newer: up to
  // 239 calls of a place may be given up in a row without an answer to any of them. After more, the place frees nothing
  // until two rings have begun anew.
  static constexpr uint32_t kLate = 16 * kGivenUpStep;
  struct Sent {
    uint32_t call;
    uint32_t lines;  // of its message that have been put into the ring, or into the ones before
    uint64_t sent;   // behind the last of them; 0: none is in this ring
  };
  static bool is_response(const LineSlot& line) { return (line.flags & kLineResponse) != 0; }
  // A connection's requests and responses apart: a flow may have either.
  uint64_t place_of(const LineSlot& line, bool response) const {
    return uint64_t{line.connection} << 32 | (line.call & (window_ - 1)) | uint32_t{response} << 31;
  }

  const uint32_t window_;
  std::unordered_map<uint64_t, Sent> last_;  // by connection, place in the window, and which way
  uint64_t taken_ = 0;
};

}  // namespace drover::rtl
