// CompletionQueue: where an application waits for the ends of asynchronous operations, each named by a tag. gRPC's
// class.
//
//   while (queue.Next(&tag, &ok)) ...       ok: the operation has succeeded; Next returns false after Shutdown, once
//                                           every operation's tag was taken
//
// The threads that wait in Next or AsyncNext do the server's work; a server whose methods are all asynchronous has no
// threads of its own. Calls are taken up only while some thread waits, as in gRPC.
//
// Thread-safe. Different from gRPC: an operation that is begun on a queue that was shut down and drained is lost
// without a word, where gRPC ends the process.
#pragma once

#include <grpc/support/log.h>  // gRPC's headers bring it, and services rely on that
#include <grpcpp/support/time.h>

#include <memory>
#include <utility>

namespace drover::host {
class EventQueue;
}

struct grpc_completion_queue;

namespace grpc {

class CompletionQueue {
 public:
  CompletionQueue();
  // Shut down and drained, or never used.
  virtual ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  enum NextStatus {
    SHUTDOWN,   // shut down and drained
    GOT_EVENT,  // *tag and *ok are set
    TIMEOUT,    // the deadline has passed
  };

  bool Next(void** tag, bool* ok) { return next(tag, ok, gpr_inf_future(GPR_CLOCK_REALTIME)) == GOT_EVENT; }
  // A deadline that has passed already: looks once, and does not wait.
  template <typename T>
  NextStatus AsyncNext(void** tag, bool* ok, const T& deadline) {
    return next(tag, ok, TimePoint<T>(deadline).raw_time());
  }
  template <typename T, typename F>
  NextStatus DoThenAsyncNext(F&& f, void** tag, bool* ok, const T& deadline) {
    std::forward<F>(f)();
    return AsyncNext(tag, ok, deadline);
  }
  // No operation may be begun with it afterwards.
  void Shutdown();

  // There is no gRPC core beneath.
  grpc_completion_queue* cq() { return nullptr; }
  drover::host::EventQueue& drover_events() { return *events_; }

 private:
  NextStatus next(void** tag, bool* ok, gpr_timespec deadline);

  const std::unique_ptr<drover::host::EventQueue> events_;
};

// From ServerBuilder::AddCompletionQueue.
class ServerCompletionQueue : public CompletionQueue {
 public:
  bool IsFrequentlyPolled() const { return frequently_polled_; }

 private:
  friend class ServerBuilder;
  explicit ServerCompletionQueue(bool frequently_polled) : frequently_polled_(frequently_polled) {}

  const bool frequently_polled_;
};

}  // namespace grpc
