// Writes requests under the server's flow control, gathered in one buffer that is sent once a turn.

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "bench/load/connection.h"

namespace drover::bench {
namespace {

// Bounds how much request data waits in our own memory for the socket.
constexpr size_t kOutputLimit = 1 << 20;
constexpr uint32_t kLastStreamId = 0x7FFFFFFF;

void append(std::vector<uint8_t>* out, const std::vector<uint8_t>& bytes) {
  out->insert(out->end(), bytes.begin(), bytes.end());
}

}  // namespace

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void Connection::issue_calls() {
  if (state_ != State::kOpen || going_away_) return;
  while (!free_slots_.empty() && tally_->issuing && tally_->calls_left > 0) {
    if (next_id_ >= kLastStreamId) return fail("its stream identifiers are used up");
    const uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    --tally_->calls_left;
    issue(slot);
    send_pending_data();  // HEADERS and DATA of a call side by side, as other clients send them
  }
}

void Connection::issue(uint32_t slot) {
  Stream& stream = streams_[slot];
  const bool first_call = next_id_ == 1;
  enter(next_id_, slot);
  stream.id = next_id_;
  next_id_ += 2;
  stream.reply_wrong = false;
  stream.headers_seen = false;
  stream.number = tally_->next_number++;
  stream.sent = 0;
  stream.send_window = peer_initial_window_;
  stream.received = 0;
  stream.unacknowledged = 0;
  stream.headers.http_status = -1;
  stream.headers.grpc_status = -1;
  stream.headers.grpc_message.clear();
  stream.start_ns = INT64_MAX;  // until the flush
  ++in_flight_;
  if (!streams_messages()) {
    ++tally_->issued;
    started_.push_back(slot);
  }

  const std::vector<uint8_t>& block = first_call ? plan_->headers.first : plan_->headers.later;
  append_frame_header(&output_, block.size(), FrameType::kHeaders, kFlagEndHeaders, stream.id);
  append(&output_, block);
  if (!streams_messages()) return pending_.push_back({slot, stream.id});
  stream.messages_allowed = stream.messages_received = 0;
  stream.half_closed = false;
  stream.starts.resize(plan_->messages);
  const int64_t now = now_ns();
  for (uint32_t i = 0; i < plan_->messages && (i == 0 || tally_->calls_left > 0); ++i) {
    if (i != 0) --tally_->calls_left;  // the first is the call's
    allow_message(&stream, now);
  }
}

size_t Connection::to_send(const Stream& stream) const {
  return streams_messages() ? stream.messages_allowed * plan_->message.size() : plan_->message.size();
}

bool Connection::sent_all(const Stream& stream) const {
  return streams_messages() ? stream.half_closed : stream.sent == plan_->message.size();
}

void Connection::allow_message(Stream* stream, int64_t now) {
  const bool idle = stream->sent == to_send(*stream);
  stream->starts[stream->messages_allowed % plan_->messages] = now;
  ++stream->messages_allowed;
  ++tally_->issued;
  if (idle) pending_.push_back({static_cast<uint32_t>(stream - streams_.data()), stream->id});
}

void Connection::half_close(Stream* stream) {
  stream->half_closed = true;
  append_frame_header(&output_, 0, FrameType::kData, kFlagEndStream, stream->id);
}

// `from`: in the bytes of all its messages.
void Connection::append_messages(const Stream& stream, size_t from, size_t size) {
  const size_t one = plan_->message.size();
  while (size > 0) {
    const size_t part = std::min(size, one - from % one);
    append_message(stream.number + from / one, from % one, part);
    from += part;
    size -= part;
  }
}

void Connection::append_message(uint64_t number, size_t from, size_t size) {
  const uint8_t* bytes = plan_->message.data();
  output_.insert(output_.end(), bytes + from, bytes + from + size);
  if (!plan_->unique) return;
  const size_t tail = plan_->message.size() - sizeof(number);
  const size_t begin = std::max(from, tail);
  if (from + size <= begin) return;
  uint8_t* out = output_.data() + output_.size() - (from + size - begin);
  std::memcpy(out, reinterpret_cast<const uint8_t*>(&number) + (begin - tail), from + size - begin);
}

void Connection::send_pending_data() {
  while (!pending_.empty() && output_.size() - output_sent_ < kOutputLimit) {
    const auto [slot, id] = pending_.front();
    Stream& stream = streams_[slot];
    const size_t left = to_send(stream) - stream.sent;
    if (stream.id != id || left == 0 || stream.send_window <= 0) {
      pending_.pop_front();  // ended early, or comes back with its WINDOW_UPDATE
      continue;
    }
    if (send_window_ <= 0) return;
    const size_t window = static_cast<size_t>(std::min(stream.send_window, send_window_));
    const size_t size = std::min({left, window, peer_max_frame_size_});
    append_frame_header(&output_, size, FrameType::kData, size == left && !streams_messages() ? kFlagEndStream : 0, id);
    append_messages(stream, stream.sent, size);
    stream.sent += size;
    stream.send_window -= static_cast<int64_t>(size);
    send_window_ -= static_cast<int64_t>(size);
  }
}

void Connection::flush() {
  for (;;) {
    send_pending_data();
    if (!started_.empty()) {
      const int64_t now = now_ns();
      for (const uint32_t slot : started_) streams_[slot].start_ns = now;
      started_.clear();
    }
    if (output_.size() == output_sent_) break;
    const uint8_t* from = output_.data() + output_sent_;
    const size_t left = output_.size() - output_sent_;
    const ssize_t size = tls_ != nullptr ? tls_->write(from, left) : send(fd_, from, left, MSG_NOSIGNAL);
    if (size < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return fail(std::string("send: ") + std::strerror(errno));
      return watch(true);
    }
    if (tally_->measuring) tally_->bytes_sent += static_cast<uint64_t>(size);
    output_sent_ += static_cast<size_t>(size);
    if (output_sent_ < output_.size() && tls_ == nullptr) return watch(true);
    if (output_sent_ < output_.size()) continue;
    output_.clear();
    output_sent_ = 0;
  }
  watch(false);
}

void Connection::watch(bool writable) {
  if (output_sent_ > kOutputLimit / 2) {
    output_.erase(output_.begin(), output_.begin() + static_cast<ptrdiff_t>(output_sent_));
    output_sent_ = 0;
  }
  if (writable == watching_writable_) return;
  watching_writable_ = writable;
  epoll_event event = {};
  event.events = EPOLLIN | (writable ? EPOLLOUT : 0u);
  event.data.u64 = key_;
  if (epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd_, &event) != 0) fail(std::string("epoll_ctl: ") + std::strerror(errno));
}

}  // namespace drover::bench
