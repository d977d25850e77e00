// RpcClient: calls on one connection through a port of its own, as Dagger's (paper, section 3): asynchronous with as
// many outstanding as the window allows, or synchronous.
//
//   client.begin(kEcho, request, tag);  ...  client.flush();
//   client.poll(16, [&](const Completion& done) { ... done.tag ... done.response ... });
//
// A call may have a time-out of its own, and an end of its own (CallEnd) in place of poll's visitor; generated clients
// (service_client.h) are made of these.
//
// A call number is the call's place in the window and how the calls before it in that place ended (kGivenUpStep,
// channel/line.h), so that a late or repeated response matches no call: it is counted and dropped. Responses are
// hostile input. Over a transport that may lose lines, give calls a time-out and call expire() now and then: a response
// of which a line is missing is counted and dropped, and its call ends at its deadline. Nothing is sent again: a call
// runs at most once, unless the transport repeats lines.
//
// Thread-safety: one thread. Ownership: the port must outlive the client. Costs no allocation for messages of one line.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "channel/layout.h"
#include "channel/line.h"
#include "host/lines/line_message.h"
#include "host/lines/port.h"
#include "host/lines/status.h"

namespace drover::lines {

struct Completion {
  uint64_t tag;
  uint16_t status;                      // gRPC's code
  std::span<const std::byte> response;  // until the visitor returns; empty unless the status is kStatusOk
};

// What is told of a call's end in place of poll's visitor. It may begin other calls, and must not poll.
class CallEnd {
 public:
  virtual void ended(const Completion& done) = 0;

 protected:
  ~CallEnd() = default;
};

enum class BeginResult {
  kOk,
  kWindowFull,  // as many calls outstanding as the window holds: poll first
  kNoRoom,      // the port has no room now: poll first
  kTooLong,     // more than kMaxMessageBytes
  kClosed,      // the connection has been closed: the server or the engine has gone
  // Of generated clients only:
  kNotBound,    // the server has not said yet which functions it has (ServiceClient::bind)
  kNoFunction,  // the server does not have this function, or with another layout of its messages
  kBadMessage,  // a required field is missing
};

struct ClientCounters {
  uint64_t calls = 0, completed = 0, expired = 0;
  uint64_t unknown = 0;     // lines of no outstanding call: late, repeated, or of another connection
  uint64_t malformed = 0;   // lines that no sender makes
  uint64_t incomplete = 0;  // responses of several lines that were dropped, because one of them is missing
};

struct RpcClientOptions {
  uint32_t window = 64;  // calls outstanding at once, if the port keeps their responses (Port::lines_kept); a power of
                         // two up to 65,536
  int64_t timeout_ns = 0;  // of each call; 0: never
};

template <Port P>
class BasicRpcClient {
 public:
  BasicRpcClient(P* port, uint16_t connection, const RpcClientOptions& options = {})
      : port_(*port),
        connection_(connection),
        options_(options),
        calls_(std::bit_ceil(options.window)),
        most_(std::min(static_cast<uint32_t>(calls_.size()), lines_kept(*port))) {
    for (uint32_t i = 0; i < calls_.size(); ++i) calls_[i].number = i;
    free_.reserve(most_);
    for (uint32_t i = most_; i-- > 0;) free_.push_back(i);
  }

  // Begins a call; its lines may stay unseen until flush(). `timeout_ns`: 0 is the options'. `end`, if given, is told
  // of the call's end, and outlives the call.
  BeginResult begin(uint16_t function, std::span<const std::byte> arguments, uint64_t tag, int64_t timeout_ns = 0,
                    CallEnd* end = nullptr) {
    if (arguments.size() > kMaxMessageBytes) return BeginResult::kTooLong;
    if (closed_) [[unlikely]]
      return BeginResult::kClosed;
    if (free_.empty()) return BeginResult::kWindowFull;
    uint32_t lines = lines_of(arguments.size());
    if (!port_.has_room(lines)) return BeginResult::kNoRoom;
    Call& call = calls_[free_.back()];
    free_.pop_back();
    call.tag = tag;
    call.active = true;
    call.end = end;
    set_deadline(&call, timeout_ns != 0 ? timeout_ns : options_.timeout_ns);
    LineHead head{connection_, function, call.number, 0};
    for (uint32_t i = 0; i < lines; ++i) port_.try_push(slot_view(line_of(head, arguments, i)));
    ++counters_.calls;
    return BeginResult::kOk;
  }
  void flush() { port_.flush(); }

  // Takes at most `limit` lines; `completed(Completion)` for each call that ended with one. Returns how many ended.
  template <typename Visitor>
  uint32_t poll(uint32_t limit, Visitor&& completed) {
    uint32_t ended = 0;
    Slot slot;
    for (uint32_t i = 0; i < limit && port_.try_pop(slot); ++i) ended += take(line_view(slot), completed);
    return ended;
  }

  // Ends the calls whose time-out has passed in kStatusDeadlineExceeded. Looks at the whole window, but only once the
  // earliest deadline has passed; without deadlines, not even at the clock.
  template <typename Visitor>
  uint32_t expire(Visitor&& completed) {
    if (earliest_ns_ == kNever) return 0;
    const int64_t now = port_.now_ns();
    if (earliest_ns_ > now) return 0;
    uint32_t ended = 0;
    earliest_ns_ = kNever;  // calls that the visitor begins make it earlier, too
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      if (!calls_[i].active) continue;
      if (calls_[i].deadline_ns > now) {
        earliest_ns_ = std::min(earliest_ns_, calls_[i].deadline_ns);
        continue;
      }
      ++counters_.expired;
      ++ended;
      calls_[i].number += kGivenUpStep;
      end(i, {calls_[i].tag, kStatusDeadlineExceeded, {}}, completed);
    }
    return ended;
  }

  // One call, waited for: no other may be outstanding. The response is copied, as far as it fits, into `response`, and
  // *size is its whole size.
  uint16_t call(uint16_t function, std::span<const std::byte> arguments, std::span<std::byte> response, size_t* size) {
    while (true) {
      BeginResult begun = begin(function, arguments, 0);
      if (begun == BeginResult::kOk) break;
      if (begun == BeginResult::kClosed) return kStatusUnavailable;
      if (begun == BeginResult::kTooLong || outstanding() != 0) return kStatusInternal;
      flush();
      port_.idle();
      poll(1, [](const Completion&) {});
    }
    flush();
    uint16_t status = 0;
    auto take_it = [&](const Completion& done) {
      status = done.status;
      *size = done.response.size();
      std::copy_n(done.response.begin(), std::min(response.size(), done.response.size()), response.begin());
    };
    while (poll(1, take_it) + expire(take_it) == 0) port_.idle();
    return status;
  }

  uint32_t outstanding() const { return most_ - static_cast<uint32_t>(free_.size()); }
  // The most calls outstanding at once: the options' window, or as many as the port keeps responses for.
  uint32_t window() const { return most_; }
  const ClientCounters& counters() const { return counters_; }
  uint16_t connection() const { return connection_; }
  // Its calls have ended in kStatusUnavailable, and no other can begin.
  bool closed() const { return closed_; }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // Port::lines_kept, of a port that has a bound.
  static uint32_t lines_kept(const P& port) {
    if constexpr (requires { port.lines_kept(); }) return port.lines_kept();
    return std::numeric_limits<uint32_t>::max();
  }

  struct Call {
    uint64_t tag = 0;
    int64_t deadline_ns = kNever;
    CallEnd* end = nullptr;
    uint32_t number = 0;  // the place in the window, plus the window or more for each use of the place
    bool active = false;
    std::unique_ptr<LineAssembly> longer;  // of a response of several lines
  };

  void set_deadline(Call* call, int64_t timeout_ns) {
    call->deadline_ns = kNever;
    if (timeout_ns == 0) [[likely]]
      return;
    const int64_t now = port_.now_ns();
    call->deadline_ns = timeout_ns < kNever - now ? now + timeout_ns : kNever;
    earliest_ns_ = std::min(earliest_ns_, call->deadline_ns);
  }

  template <typename Visitor>
  uint32_t take(const LineSlot& line, Visitor& completed) {
    if (!well_formed(line) || (line.flags & kLineResponse) == 0) [[unlikely]]
      return take_other(line, completed);
    uint32_t place = line.call & (static_cast<uint32_t>(calls_.size()) - 1);
    Call& call = calls_[place];
    if (!call.active || call.number != line.call || line.connection != connection_) return ++counters_.unknown, 0;
    std::span<const std::byte> message{reinterpret_cast<const std::byte*>(line.arguments), line.length};
    if (line.index != 0 || (line.flags & kLineLast) == 0) [[unlikely]] {
      if (call.longer == nullptr) call.longer = std::make_unique<LineAssembly>();
      LineAssembly::Taken taken = call.longer->take(line);
      if (taken == LineAssembly::Taken::kIncomplete) {
        ++counters_.incomplete;
        // Nothing else would end it.
        if (call.deadline_ns == kNever) {
          call.number += kGivenUpStep;
          return end(place, {call.tag, kStatusDataLoss, {}}, completed), 1;
        }
      }
      if (taken != LineAssembly::Taken::kWhole) return 0;
      message = call.longer->message();
    }
    uint16_t status = kStatusOk;
    if ((line.flags & kLineFailed) != 0) {
      status = line.function;
      if (status == kStatusOk) [[unlikely]] {  // a failed line with status OK
        ++counters_.malformed;
        status = kStatusInternal;
      }
    }
    return end(place, {call.tag, status, message}, completed), 1;
  }

  // No response, or the end of the connection: no response follows.
  template <typename Visitor>
  uint32_t take_other(const LineSlot& line, Visitor& completed) {
    if (line.type != kLineCloseType) return ++counters_.malformed, 0;
    if (line.connection != connection_) return ++counters_.unknown, 0;
    closed_ = true;
    uint32_t ended = outstanding();
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      if (calls_[i].active) end(i, {calls_[i].tag, kStatusUnavailable, {}}, completed);
    }
    return ended;
  }

  template <typename Visitor>
  void end(uint32_t place, const Completion& done, Visitor& completed) {
    Call& call = calls_[place];
    call.active = false;
    call.number += static_cast<uint32_t>(calls_.size());
    ++counters_.completed;
    if (call.end != nullptr) {
      call.end->ended(done);
    } else {
      completed(done);
    }
    free_.push_back(place);
  }

  P& port_;
  const uint16_t connection_;
  const RpcClientOptions options_;
  std::vector<Call> calls_;
  const uint32_t most_;           // outstanding; of the window's places the first ones
  std::vector<uint32_t> free_;    // places
  int64_t earliest_ns_ = kNever;  // no deadline of a call that is outstanding is earlier
  ClientCounters counters_;
  bool closed_ = false;
};

}  // namespace drover::lines
