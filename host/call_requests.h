// CallRequests: where the calls of a server's asynchronous methods meet what the application has asked for with
// RequestX.
//
//   RequestX before the call:   request() ... arrive() -> kMatched
//   the call before RequestX:   arrive() -> kWaits ... request() hands it to the call by match()
//
// Calls that wait stay where they are, in the region and in their worker; at most kMostWaiting of a server
// do, and no more than have a first chunk in half of tx. The engine counts them as calls that the host has. Requests
// wait as long as the server lives, across the death of an engine. close() ends all of them: requests with ok = false,
// calls with UNAVAILABLE.
//
// Thread-safe; arrive and forget are for the leader of the call's worker.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "message/message.h"

namespace grpc {
class ServerContext;
namespace internal {
class ServerAsyncStreamingInterface;
struct Method;
}  // namespace internal
}  // namespace grpc

namespace drover::host {

class EventQueue;
class TurnWork;

// One RequestX, until its call has come.
struct CallRequest {
  uint32_t method = 0;
  grpc::ServerContext* context = nullptr;
  grpc::internal::ServerAsyncStreamingInterface* responder = nullptr;
  Message* message = nullptr;  // null: the request streams
  EventQueue* call_queue = nullptr;
  EventQueue* notification_queue = nullptr;
  void* tag = nullptr;
};

// A call, as far as it may have to wait for its request.
class WaitingCall {
 public:
  // By the thread that has taken it from those that wait.
  virtual void match(const CallRequest& request) = 0;
  virtual void refuse() = 0;

 protected:
  ~WaitingCall() = default;

 private:
  friend class CallRequests;
  uint32_t method_ = 0;
  bool waits_ = false;
  WaitingCall* earlier_ = nullptr;
  WaitingCall* later_ = nullptr;
};

class CallRequests {
 public:
  static constexpr uint32_t kMostWaiting = 8192;

  // Sets the members of asynchronous methods that lead here. They keep their places as long as calls come.
  // Queues that come with a request join the work, if there is some.
  explicit CallRequests(std::vector<grpc::internal::Method>& methods, std::shared_ptr<TurnWork> work = nullptr);
  CallRequests(const CallRequests&) = delete;
  CallRequests& operator=(const CallRequests&) = delete;

  // Begins an operation of the notification queue.
  void request(const CallRequest& request);
  void close();

  enum class Arrival { kMatched, kWaits, kTooMany, kClosed };
  // With `most_waiting` calls that wait, a further one does not.
  Arrival arrive(WaitingCall& call, uint32_t method, uint32_t most_waiting, CallRequest* request);
  // A call that waits does so no longer; false: it does not, its match_event is on the way.
  bool forget(WaitingCall& call);

 private:
  struct OfMethod {
    std::deque<CallRequest> requests;
    WaitingCall* first = nullptr;  // the oldest call that waits
    WaitingCall* last = nullptr;
  };
  WaitingCall* take_oldest(OfMethod& method);
  void unlink(OfMethod& method, WaitingCall& call);

  const std::shared_ptr<TurnWork> work_;
  std::mutex mutex_;
  std::vector<OfMethod> methods_;
  uint32_t waiting_ = 0;
  bool closed_ = false;
};

}  // namespace drover::host
