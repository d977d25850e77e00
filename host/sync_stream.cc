// Reading and writing a stream from a synchronous handler: on the handler's own thread, up to the point where the
// leader has to learn of it (host/streams.h).
#include <grpcpp/support/sync_stream.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "channel/doorbell.h"
#include "host/call.h"
#include "host/streams.h"

namespace grpc::internal {
namespace {

using drover::host::Call;
using drover::host::ReplyQueue;
using drover::host::Resume;
using drover::host::Stream;
using drover::host::Streams;

constexpr int64_t kMemoryLookNs = 1'000'000;  // how often a writer looks for room in tx

bool is_over(const Call& call) { return call.cancelled.load(std::memory_order_acquire); }

// Null: the initial metadata alone.
bool put(Call& call, const drover::Message* message, bool as_it_is = false) {
  Stream& stream = *call.stream;
  int64_t deadline = 0;
  while (!is_over(call) && stream.failure.ok()) {
    if (!stream.replies.has_room()) {
      Streams::wait(&call, [&] { return stream.replies.has_room() || is_over(call); }, -1);
      continue;
    }
    ReplyQueue::Put result = stream.replies.put(call, message, as_it_is);
    if (result == ReplyQueue::Put::kDone) {
      call.initial_metadata_sent = true;
      Streams::announce(&call);
      return true;
    }
    if (message == nullptr && !call.method->reply_streams) return false;  // it goes with the answer
    int64_t now = drover::monotonic_ns();
    if (deadline == 0) deadline = now + call.reply_memory_wait_ns();
    if (result != ReplyQueue::Put::kNoMemory || (now >= deadline && stream.replies.all_reclaimed())) {
      stream.failure = Streams::failure_of(result);
      return false;
    }
    Streams::wait(&call, [&] { return is_over(call); }, kMemoryLookNs);
  }
  return false;
}

// Runs interceptors by a function of CallInterception. If they proceed later the handler waits, as in gRPC: it is the
// handler's own thread, and another one has the lead.
template <typename Run>
void intercept(Call* call, Run&& run) {
  std::mutex mutex;
  std::condition_variable wake;
  bool proceeded = false;
  const bool done = run([&] {
    std::lock_guard lock(mutex);
    proceeded = true;
    wake.notify_one();  // with the lock: it is gone without it
  });
  if (done) return;
  Streams::give_up_lead(call);
  std::unique_lock lock(mutex);
  wake.wait(lock, [&] { return proceeded; });
}

}  // namespace

void SyncStream::send_initial_metadata() {
  if (call_->initial_metadata_sent) return;
  if (drover::host::CallInterception* interception = call_->interception.get()) {
    intercept(call_, [&](Resume resume) { return interception->sends_initial_metadata(std::move(resume)); });
  }
  put(*call_, nullptr);
}

bool SyncStream::read(drover::Message* message) {
  const bool came = take(message);
  if (drover::host::CallInterception* interception = call_->interception.get()) {
    drover::Message* shown = came ? message : nullptr;
    intercept(call_, [&](Resume resume) { return interception->received_message(shown, std::move(resume)); });
  }
  return came && !call_->interceptor_threw();
}

bool SyncStream::take(drover::Message* message) {
  Stream& stream = *call_->stream;
  for (;;) {
    if (is_over(*call_)) return false;
    if (!stream.requests.empty()) {
      bool fine = call_->copy_request(stream.requests.front(), message);
      stream.requests.pop();
      Streams::announce_read(call_);
      return fine;
    }
    if (stream.requests.ended()) return false;
    Streams::wait(call_, [&] { return !stream.requests.empty() || stream.requests.ended() || is_over(*call_); }, -1);
  }
}

bool SyncStream::write(const drover::Message& message, const WriteOptions& options) {
  const bool as_it_is = options.get_no_compression();
  drover::host::CallInterception* interception = call_->interception.get();
  if (interception == nullptr) return put(*call_, &message, as_it_is);
  const drover::Message* shown = &message;
  intercept(call_, [&](Resume resume) { return interception->sends_message(&shown, std::move(resume)); });
  const bool sent = shown != nullptr && !call_->interceptor_threw() && put(*call_, shown, as_it_is);
  intercept(call_, [&](Resume resume) { return interception->message_sent(sent, std::move(resume)); });
  return sent;
}

}  // namespace grpc::internal
