#include "host/async_call.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <utility>

#include "generated/generated_message.h"
#include "host/event_queue.h"
#include "host/generic_service.h"
#include "host/streams.h"
#include "message/operations.h"

namespace drover::host {

AsyncCall::AsyncCall(Call& call) : call_of_(call) {
  call_ = &call;
  match_event_ = {nullptr, &call, CallEvent::Kind::kMatched};
}

void AsyncCall::match(const CallRequest& request) {
  request_ = request;
  call_of_.post(match_event_);
}

void AsyncCall::refuse() {
  refused_ = true;
  call_of_.post(match_event_);
}

// ---- the leader

void AsyncCall::bind(const CallRequest& request) {
  request_ = request;
  if (request.message != nullptr) {
    generated::copy_from(call_of_.method->request_type(), request.message,
                         *static_cast<const Message*>(call_of_.request));
  }
  unbound_ = false;
  queue_ = request.call_queue;
  context_ = request.context;
  context_->drover_bind(call_of_);
  if (call_of_.method->any) GenericCalls::name(static_cast<grpc::GenericServerContext&>(*context_), call_of_);
  done_due_ = context_->drover_done_tag(&done_tag_);
  if (done_due_) queue_->begin();
  request.responder->drover_call_ = this;
  asked_.store(0, std::memory_order_relaxed);
}

void AsyncCall::announce() { request_.notification_queue->push(request_.tag, true); }

void AsyncCall::cancelled() {
  if (std::exchange(done_due_, false)) queue_->push(done_tag_, true);
}

void AsyncCall::unbind_context() {
  if (std::exchange(unbound_, true)) return;
  was_cancelled_ = call_of_.cancelled.load(std::memory_order_acquire);
  if (context_ != nullptr) context_->drover_unbind(was_cancelled_);
  context_ = nullptr;
}

void AsyncCall::over() {
  unbind_context();
  kept_.reset();
  EventQueue* queue = queue_;
  bool finish_due = std::exchange(finish_due_, false);
  if (std::exchange(done_due_, false)) queue->push(done_tag_, true);
  if (finish_due) queue->push(finish_tag_, !was_cancelled_);
}

void AsyncCall::recycle() {
  refused_ = false;
  put_ = kNotPut;
  metadata_put_ = false;
}

void AsyncCall::OnSendInitialMetadataDone(bool ok) { queue_->push(metadata_tag_, ok); }
void AsyncCall::OnReadDone(bool ok) { queue_->push(read_tag_, ok); }
void AsyncCall::OnWriteDone(bool ok) { queue_->push(write_tag_, ok); }

// ---- the application's threads

void AsyncCall::send_initial_metadata(void* tag) {
  queue_->begin();
  call_of_.take_metadata(*context_, false);
  metadata_tag_ = tag;
  if (call_of_.stream == nullptr) return call_of_.post(call_of_.initial_metadata_event);
  metadata_put_ = call_of_.interception == nullptr && !call_of_.cancelled.load(std::memory_order_relaxed) &&
                  call_of_.stream->replies.put(call_of_, nullptr) == ReplyQueue::Put::kDone;
  start_initial_metadata();
}

void AsyncCall::read(Message* message, void* tag) {
  queue_->begin();
  read_tag_ = tag;
  start_read(message);
}

// As far as it can be done here; the rest is the leader's.
void AsyncCall::put(const Message& message, const grpc::WriteOptions& options) {
  write_as_it_is_ = options.get_no_compression();
  call_of_.take_metadata(*context_, false);
  kept_.reset();
  write_from_ = nullptr;
  put_ = kPut;
  if (call_of_.cancelled.load(std::memory_order_relaxed)) return;
  ReplyQueue& replies = call_of_.stream->replies;
  const bool here = call_of_.interception == nullptr;  // interceptors see it first
  if (here && replies.has_room() && replies.put(call_of_, &message, write_as_it_is_) == ReplyQueue::Put::kDone) return;
  kept_ = std::make_unique<Arena>();
  write_from_ = message::deep_copy_into(call_of_.method->reply_type(), message, kept_.get());
  put_ = write_from_ == nullptr ? kCannotBePut : kNotPut;
}

void AsyncCall::write(const Message& message, const grpc::WriteOptions& options, void* tag) {
  queue_->begin();
  write_tag_ = tag;
  put(message, options);
  ask(kWriteAsked);
}

void AsyncCall::write_and_finish(const Message& message, const grpc::WriteOptions& options, const grpc::Status& status,
                                 void* tag) {
  put(message, options);
  begin_finish(nullptr, status, tag);
  status_ = status;
  ask(kLastWriteAsked | kFinishAsked);
}

void AsyncCall::begin_finish(const Message* reply, const grpc::Status& status, void* tag) {
  queue_->begin();
  finish_tag_ = tag;
  finish_due_ = true;
  call_of_.take_metadata(*context_, true);
  if (reply != nullptr && status.ok() && !call_of_.cancelled.load(std::memory_order_relaxed)) {
    call_of_.copy_reply(*reply);
  }
}

void AsyncCall::finish(const Message* reply, const grpc::Status& status, void* tag) {
  begin_finish(reply, status, tag);
  bool sendable = !status.ok() || call_of_.reply != nullptr;
  if (call_of_.stream == nullptr) {
    if (sendable) [[likely]] {
      call_of_.status = status;
    } else {
      call_of_.status = Streams::failure_of(ReplyQueue::Put::kTooDeep);
    }
    return call_of_.post(call_of_.finish_event);
  }
  StreamReactor::finish(sendable ? status : Streams::failure_of(ReplyQueue::Put::kTooDeep));
}

void AsyncCall::abandon() {
  context_ = nullptr;
  grpc::Status status(grpc::StatusCode::CANCELLED, "the service has let go of the call");
  if (call_of_.stream != nullptr) return StreamReactor::finish(std::move(status));
  call_of_.status = std::move(status);
  call_of_.post(call_of_.finish_event);
}

}  // namespace drover::host

namespace grpc::internal {

void ServerAsyncStreamingInterface::send_initial_metadata(void* tag) { drover_call_->send_initial_metadata(tag); }
void ServerAsyncStreamingInterface::read(drover::Message* message, void* tag) { drover_call_->read(message, tag); }
void ServerAsyncStreamingInterface::write(const drover::Message& message, const WriteOptions& options, void* tag) {
  drover_call_->write(message, options, tag);
}
void ServerAsyncStreamingInterface::write_and_finish(const drover::Message& message, const WriteOptions& options,
                                                     const Status& status, void* tag) {
  drover_call_->write_and_finish(message, options, status, tag);
}
void ServerAsyncStreamingInterface::finish(const drover::Message* reply, const Status& status, void* tag) {
  drover_call_->finish(reply, status, tag);
}

}  // namespace grpc::internal
