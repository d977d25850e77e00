// EngineLink: one engine, as its workers see it.
//
// What the engine writes (the rings, the records and objects in rx) is checked like bytes from a stranger before it is
// used, so that an engine that was taken over through the network does not take the host. A violation is reported here;
// the Runtime then leaves that engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <grpcpp/impl/drover_service.h>

#include "channel/chunk_pool.h"
#include "channel/doorbell.h"
#include "channel/layout.h"
#include "host/call_interception.h"
#include "object/region.h"
#include "object/unique_fd.h"

namespace drover::host {

// Of ServerBuilder: how replies are compressed.
struct ReplyCompressionDefaults {
  ReplyCompression standard = ReplyCompression::kNone;  // of calls whose context says nothing
  bool off = false;                                     // no reply is compressed, whatever its context says
};

// Immutable but for the atomics and the pool, which is thread-safe.
struct EngineLink {
  EngineLink(Region shared, const RegionLayout& region_layout, std::vector<UniqueFd> eventfds,
             const std::vector<grpc::internal::Method>* served, const SpinPolicy::Options& worker_spin)
      : region(std::move(shared)),
        layout(region_layout),
        bells(std::move(eventfds)),
        methods(*served),
        spin(worker_spin),
        tx(layout.tx_chunks_of_host(), ChunkPool::Threads::kMany) {}

  const Region region;
  const RegionLayout layout;
  const std::vector<UniqueFd> bells;                  // an eventfd for each engine thread
  const std::vector<grpc::internal::Method> methods;  // by the number in CALL; calls may outlive the server
  const SpinPolicy::Options spin;
  int64_t reply_memory_wait_ns = 1'000'000'000;
  bool check_requests = false;                               // HostOptions::check_requests
  std::shared_ptr<const LoadReports> load_reports;           // of each call; may be null
  std::shared_ptr<const InterceptorFactories> interceptors;  // of each call; null: none
  ReplyCompressionDefaults compression;
  ChunkPool tx;
  std::atomic<bool> gone{false};             // the engine is dead or detached
  std::atomic<uint32_t> drains{0};           // DRAIN slots that its workers have taken
  std::atomic<bool> cancel_all{false};       // shutting down, and the deadline has passed
  std::atomic<const char*> broken{nullptr};  // a violation of the channel's rules was found

  // Any thread. `what` is a static string; the first one stays, and is logged.
  void report_broken(const char* what);
};

}  // namespace drover::host
