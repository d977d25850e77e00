// LongParse: a large request, or a large message of a stream, that is parsed on a Fiber, in slices, while its call
// waits for it. The wire bytes must stay where they are meanwhile.
//
// Until it is over, it has memory of the host's rx: the part of the object that is there. stop() gives it back.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/fiber.h"
#include "engine/dispatch/call_table.h"
#include "engine/dispatch/host_link.h"
#include "engine/dispatch/request_builder.h"

namespace drover::engine {

class LongParse {
 public:
  struct Request {
    CallState* state = nullptr;
    bool of_stream = false;  // a message of a stream: without metadata
    HostLink* link = nullptr;
    uint32_t method = 0;  // its number at that host
    uint32_t worker = 0;
    std::string_view wire;
    bool alias = false;  // as build_request
  };
  // How much memory of the engine one takes that is suspended: about what it touches of its stack.
  static constexpr size_t kStackBytes = 32 << 10;

  // What RxShares counts of one whose object has not become larger: its wire bytes, and as a large one.
  static size_t least_rx(const Request& request) { return request.wire.size() + 1; }

  LongParse() = default;
  ~LongParse() { stop(); }
  LongParse(const LongParse&) = delete;
  LongParse& operator=(const LongParse&) = delete;

  // The request that it is for from now on; the one before is over.
  void take(const Request& request) {
    request_ = request;
    built_ = BuiltRequest();
    begun_ = stopped_ = false;
    taken_chunks_ = 0;
  }
  const Request& request() const { return request_; }
  // Goes on until it is over or that time has come (CLOCK_MONOTONIC); but always by one slice. True: it is over.
  bool step(int64_t end_ns);
  bool begun() const { return begun_; }
  // Ends it, and gives its memory back. built() fails.
  void stop();
  // Of rx, for the object so far.
  size_t taken_bytes() const { return static_cast<size_t>(taken_chunks_) * kChunkSize; }
  // Once it is over.
  BuiltRequest& built() { return built_; }

  // ---- LongParses
  LongParse* next = nullptr;
  LongParse* previous = nullptr;
  bool charged = false;       // for its stack
  int64_t over_since_ns = 0;  // 0: it is not over
  size_t counted = 0;         // of taken_bytes, in RxShares

 private:
  bool go_on();
  static bool pause(void* self) { return static_cast<LongParse*>(self)->pause_if_due(); }
  bool pause_if_due();
  void run();

  Request request_;
  BuiltRequest built_;
  Fiber fiber_;
  int64_t end_ns_ = 0;
  int64_t taken_chunks_ = 0;
  bool begun_ = false;
  bool stopped_ = false;
};

}  // namespace drover::engine
