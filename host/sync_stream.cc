// Reading and writing a stream from a synchronous handler: on the handler's own thread, up to the point where the
// leader has to learn of it (host/streams.h).
#include <grpcpp/support/sync_stream.h>

#include "channel/doorbell.h"
#include "host/call.h"
#include "host/streams.h"

namespace grpc::internal {
namespace {

using drover::host::Call;
using drover::host::ReplyQueue;
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

}  // namespace

void SyncStream::send_initial_metadata() {
  if (call_->initial_metadata_sent) return;
  if (call_->interception != nullptr) call_->interception->sends_initial_metadata();
  put(*call_, nullptr);
}

bool SyncStream::read(drover::Message* message) {
  const bool came = take(message);
  if (call_->interception != nullptr) call_->interception->received_message(came ? message : nullptr);
  return came;
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
  if (call_->interception == nullptr) return put(*call_, &message, as_it_is);
  const drover::Message* shown = call_->interception->sends_message(message);
  const bool sent = shown != nullptr && put(*call_, shown, as_it_is);
  call_->interception->message_sent(sent);
  return sent;
}

}  // namespace grpc::internal
