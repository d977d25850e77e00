// AnsweredLines: how far a flow's TX ring has been taken, by what comes back. Synchronous threading has this in place
// of positions that the NIC publishes (docs/nic.md, hard configuration).
//
//   client   request of call 7   --> TX ring    its response comes: the NIC has taken the request's lines
//   server   response to call 7  --> TX ring    request 7 + window comes: the client has the response
//
// A NIC takes a ring's lines in order, so that all lines in front of these were taken, too. `window`, a power of two,
// is how many calls a connection may have under way at once. Both ends know it, and a call has the number of the one
// whose place in the window it takes, plus the window (host/lines/rpc_client.h). With a window of 1 a connection is
// blocked until its call is answered, as in Dagger's paper.
//
// What this asks of the hosts: no call is given up (a time-out) while its connection goes on; the server's ring has
// room for the responses to all calls that may be under way on its flow, since a server without room takes no request;
// and the server trusts its clients: a request that comes too early frees lines that the NIC has not taken.
//
// Thread-safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "channel/layout.h"

namespace drover::rtl {

class AnsweredLines {
 public:
  explicit AnsweredLines(uint32_t window) : window_(window) {}

  // The line is in the ring, as the `sent`th of all.
  void sent(const LineSlot& line, uint64_t sent) { last_[place_of(line)] = {line.call, sent}; }
  // A line has come. How many of the ring's lines have been taken for sure.
  uint64_t came(const LineSlot& line) {
    auto found = last_.find(place_of(line));
    if (found == last_.end()) return taken_;
    const Sent& last = found->second;
    if (last.call == line.call || last.call + window_ == line.call) taken_ = std::max(taken_, last.sent);
    return taken_;
  }

 private:
  struct Sent {
    uint32_t call;
    uint64_t sent;
  };
  uint64_t place_of(const LineSlot& line) const {
    return uint64_t{line.connection} << 32 | (line.call & (window_ - 1));
  }

  const uint32_t window_;
  std::unordered_map<uint64_t, Sent> last_;  // by connection and place in the window
  uint64_t taken_ = 0;
};

}  // namespace drover::rtl
