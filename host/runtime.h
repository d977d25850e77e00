// Runtime: everything behind a grpc::Server: the offer, the attachment to an engine, the worker threads, and the
// control thread that watches the engine.
//
//   starting -> serving <-> reattaching (the engine has died) -> draining (shutdown) -> stopped
//
// When the engine dies, the calls in flight become cancelled and their answers are dropped; their memory stays mapped
// until their handlers are done. Meanwhile the Runtime starts another engine or attaches to one, on the same ports, and
// retries with growing pauses.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/attachment.h"
#include "host/crew.h"

namespace drover::host {

class Runtime {
 public:
  // Serves `offer` from now on. `ports` gets the bound ports. Null: `error` says why not.
  static std::unique_ptr<Runtime> start(Offer offer, std::vector<uint32_t>* ports, std::string* error);
  // Shuts down if that has not happened.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Takes no new calls, waits for those in flight, cancels what is left at the deadline, waits for the handlers, and
  // detaches. Returns when all that is done. Of several callers, the earliest deadline counts.
  void shutdown(std::chrono::steady_clock::time_point deadline);
  // Returns once shutdown has finished.
  void wait();

  const Crew& crew() const { return *crew_; }

 private:
  using Clock = std::chrono::steady_clock;

  explicit Runtime(Offer offer);
  // Attachment::open, with as much shared memory as the engine has room for.
  std::unique_ptr<Attachment> attach(std::vector<uint32_t>* ports, AttachError* error,
                                     const std::function<bool()>& give_up);
  void adopt(std::unique_ptr<Attachment> attachment, const std::vector<uint32_t>& ports);
  void control_main();
  void serve_until_change();
  void take_messages();
  void abandon_engine(const char* why);
  void reattach();
  void drain();
  // Refuses what asynchronous methods have not asked for. Until the engine knows of the shutdown it sends new calls,
  // and these are served: another process may have the address, so that their clients must not notice.
  void close_requests();
  void finish();
  void wake_workers();
  uint32_t calls_in_flight() const;
  uint32_t asynchronous_calls() const;
  bool shutting_down();
  bool poll_control(int timeout_ms);  // true if the engine sent a message or closed
  void nudge();

  Offer offer_;
  std::unique_ptr<Crew> crew_;  // null: the workers are led by queues
  // Used by the control thread alone once it runs.
  std::unique_ptr<Attachment> attachment_;
  std::vector<std::shared_ptr<Worker>> workers_;
  bool engine_drained_ = false;
  uint32_t engine_errors_ = 0;  // Errors that it has sent

  std::mutex mutex_;
  std::condition_variable stopped_wake_;
  bool shutdown_asked_ = false;
  bool stopped_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
  UniqueFd nudge_;  // an eventfd that wakes the control thread
  std::thread control_;
};

}  // namespace drover::host
