// StreamRequests: the messages of calls whose requests stream, from the transport to the host, in order.
//
//   message --> room at the host: an object in rx, MESSAGE -------------------------> consumed --> memory free,
//          '--> else StreamState::input --> again after CONSUMED, or when stalled          window to the client
//
// A large message is parsed from the input, in slices (LongParses); those behind it wait there.
//
// A host has at most kMaxStreamMessages of a call that it has not consumed: then its input waits for CONSUMED, for as
// long as the handler likes. Input that finds no room in the worker's ring or in rx, or whose client holds its share
// (RxShares), is *stalled*: it is offered again each turn, and after wait_ns, if the host has nothing of the call left
// to consume, the call ends in RESOURCE_EXHAUSTED. Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/queue.h"
#include "engine/call/call.h"
#include "engine/dispatch/calls.h"
#include "engine/dispatch/request_builder.h"
#include "engine/dispatch/stream_state.h"

namespace drover::engine {

class StreamRequests {
 public:
  // Both outlive it. `wait_ns`: how long a message waits for room.
  StreamRequests(Calls& calls, ReplySink& replies, int64_t wait_ns)
      : calls_(calls), replies_(replies), wait_ns_(wait_ns) {}
  StreamRequests(const StreamRequests&) = delete;
  StreamRequests& operator=(const StreamRequests&) = delete;

  // ---- from the transport; the call may be over when they return
  void message(CallState& state, std::string_view wire, More more);
  void half_close(CallState& state);

  // ---- from the host
  // A worker has the call from now on: gives it what has come. The call may be over when it returns.
  void started(CallState& state) { give(state); }
  // The oldest message of its input is an object now, or the parse failed. False: the worker's ring has no room.
  bool parsed(CallState& state, LongParse& parse);
  // The host is done with the oldest `count` messages. False: it does not have as many.
  bool consumed(CallState& state, uint32_t count);

  // ---- turns
  // Offers stalled input again, for Calls::kServeNs at most. True: any was taken.
  bool serve();
  int64_t next_ns() const;

 private:
  static constexpr size_t kStalledPerTurn = 64;
  static constexpr size_t kBytesAUnit = 2048;       // of parsing messages
  static constexpr size_t kGivenAtOnce = 64 << 10;  // bytes of one call: at 25 ns a byte, within 1.6 ms
  struct Stalled {
    uint32_t call = 0, generation = 0;
  };

  void give(CallState& state);
  bool push(CallState& state, std::string_view wire, bool last);
  static void pushed(CallState& state, const BuiltRequest& built, size_t wire_bytes, bool last);
  static void tell(CallState& state, uint64_t object, bool last);
  void keep(CallState& state, std::string_view wire);
  bool refuse(CallState& state, const BuiltRequest& built);
  void stall(CallState& state);
  void stall_for_memory(CallState& state);
  void fail_for_room(CallState& state);
  bool retry(CallState& state);

  Calls& calls_;
  ReplySink& replies_;
  const int64_t wait_ns_;
  Queue<Stalled> stalled_;  // also calls that are over
};

}  // namespace drover::engine
