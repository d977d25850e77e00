// AsyncCall: what a Call has beside itself if the application serves it through completion queues. It is made at the
// first such call and kept with its Call for later ones.
//
// The application's objects (ServerContext, ServerAsync...) point to it from the event that announces the call until
// the event of Finish, or until the context is destroyed. Each operation stores what it needs, and then asks the leader
// as a callback reactor does (host/streams.h); the leader's reactions put events into the application's queue.
//
//   application's thread                                    leader
//   Write(message): a copy in tx, or on the heap
//   if tx is full; ask                            ----->    MESSAGE; push(tag, ok)
//   Finish(reply, status): a copy in tx; ask      ----->    COMPLETE; push(tag, ok), and that of AsyncNotifyWhenDone
//
// The application may change or destroy a message as soon as Write or Finish has returned.
#pragma once

#include <memory>

#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include "host/call.h"
#include "host/call_requests.h"
#include "object/arena.h"

namespace grpc {
class ServerContextBase;
}

namespace drover::host {

class EventQueue;

class AsyncCall final : public grpc::internal::StreamReactor, public WaitingCall, public CallPart {
 public:
  explicit AsyncCall(Call& call);

  // ---- CallRequests: posts match_event
  void match(const CallRequest& request) override;
  void refuse() override;

  // ---- the leader
  // What match has stored; null: the call was refused.
  const CallRequest* matched() const { return refused_ ? nullptr : &request_; }
  // Fills in the application's objects.
  void bind(const CallRequest& request);
  // The event of RequestX; the application may use its objects from here on.
  void announce();
  void cancelled();
  // Of a call without a stream: the event of SendInitialMetadata.
  void headers_sent() { OnSendInitialMetadataDone(!call_of_.cancelled.load(std::memory_order_acquire)); }
  // The application's context shows nothing of the call's memory from here on.
  void unbind_context();
  // The call is completed. The last look at the application's objects.
  void over();
  void recycle() override;

  // ---- the application's threads
  void send_initial_metadata(void* tag);
  void read(Message* message, void* tag);
  void write(const Message& message, const grpc::WriteOptions& options, void* tag);
  void write_and_finish(const Message& message, const grpc::WriteOptions& options, const grpc::Status& status,
                        void* tag);
  // Null: no reply, or one that streams.
  void finish(const Message* reply, const grpc::Status& status, void* tag);
  // The context is destroyed before the call has ended.
  void abandon();

 private:
  void begin_finish(const Message* reply, const grpc::Status& status, void* tag);
  void put(const Message& message, const grpc::WriteOptions& options);

  void OnSendInitialMetadataDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { cancelled(); }
  void OnDone() override { over(); }

  Call& call_of_;
  CallEvent match_event_;
  CallRequest request_;
  bool refused_ = false;

  EventQueue* queue_ = nullptr;
  grpc::ServerContextBase* context_ = nullptr;  // null: abandoned
  void* metadata_tag_ = nullptr;
  void* read_tag_ = nullptr;
  void* write_tag_ = nullptr;
  void* finish_tag_ = nullptr;
  void* done_tag_ = nullptr;
  bool finish_due_ = false;      // Finish was called, and its event is due
  bool done_due_ = false;        // AsyncNotifyWhenDone was called, and its event is due
  bool unbound_ = true;          // unbind_context was called, or bind was not
  bool was_cancelled_ = false;   // as unbind_context has found it
  std::unique_ptr<Arena> kept_;  // a message that found no room in tx
};

}  // namespace drover::host
