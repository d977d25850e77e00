// What the gRPC connections of one engine thread share: options, metrics, the dispatcher, pooled calls, and scratch
// memory that is used within one turn.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/account.h"
#include "engine/base/metrics.h"
#include "engine/binary_log/call_logger.h"
#include "engine/call/call.h"
#include "engine/grpc/call_auth.h"
#include "engine/grpc/call_stream.h"
#include "engine/grpc/coder_pool.h"
#include "engine/grpc/transport_options.h"
#include "engine/http2/session.h"
#include "engine/net/send_batch.h"

namespace drover::engine {

class GrpcContext {
 public:
  // `now_ns` points at the loop's clock (CLOCK_MONOTONIC), kept current by its owner.
  GrpcContext(const TransportOptions& options, ThreadMetrics& metrics, const int64_t* now_ns);
  ~GrpcContext();  // all connections must be gone
  GrpcContext(const GrpcContext&) = delete;
  GrpcContext& operator=(const GrpcContext&) = delete;

  // Calls are checked from now on; `checker` outlives this. Before the first connection.
  void check_tokens(auth::TokenChecker& checker) { auth = std::make_unique<CallAuth>(checker, scratch.pace); }

  int64_t now_ns() const { return *now_ns_; }
  const int64_t* clock() const { return now_ns_; }

  CallStream* take_stream();
  // Its memory stays until free_dying(), or longer: who calls this may be inside a function of the stream.
  void recycle(CallStream* stream) noexcept;
  // Frees the recycled streams that the pool had no room for. Call at the end of a turn, outside all connections.
  void free_dying();
  // Frees the pooled streams that no call has needed since the last time. Each may keep a page of the heap. Call about
  // once a second.
  void shrink();
  size_t spare_streams() const { return spare_streams_.size(); }

  const TransportOptions options;
  const http2::SessionOptions session_options;
  ThreadMetrics& metrics;
  Ledger ledger;
  CallSink* sink = nullptr;
  SendBatch batch;
  http2::SessionScratch scratch;
  CoderPool coders;
  trace::Tracer* tracer = nullptr;        // null: no call gets a span; outlives this
  binary_log::CallLogger* log = nullptr;  // null: no call is logged; outlives this
  std::unique_ptr<CallAuth> auth;         // null: no call needs a token

 private:
  const int64_t* now_ns_;
  std::vector<CallStream*> spare_streams_;
  size_t least_spare_ = 0;       // since the last shrink()
  CallStream* dying_ = nullptr;  // a list, by next_dying
};

}  // namespace drover::engine
