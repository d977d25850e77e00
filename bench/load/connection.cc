// Opens, reads and closes a connection. connection_send.cc writes.

#include "bench/load/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace drover::bench {
namespace {

constexpr uint32_t kStreamWindow = 16 << 20;
constexpr uint32_t kConnectionWindow = 1 << 30;
constexpr uint32_t kFirstConnectionWindow = 65535;
constexpr uint32_t kNoSlot = UINT32_MAX;
constexpr size_t kMaxHeaderBlock = 1 << 20;
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

}  // namespace

Connection::Connection(const LoadPlan* plan, LoadTally* tally, std::vector<uint8_t>* scratch)
    : plan_(plan),
      tally_(tally),
      scratch_(scratch),
      reader_(plan->max_frame_size),
      streams_(plan->streams),
      by_id_(64, kNoSlot) {
  for (uint32_t slot = plan->streams; slot > 0; --slot) free_slots_.push_back(slot - 1);
}

Connection::~Connection() {
  if (fd_ >= 0) close(fd_);
}

void Connection::start(int epoll_fd, uint64_t key) {
  epoll_fd_ = epoll_fd;
  key_ = key;
  fd_ = socket(plan_->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return fail(std::string("socket: ") + std::strerror(errno));
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const auto* address = reinterpret_cast<const sockaddr*>(&plan_->address);
  if (connect(fd_, address, plan_->address_size) != 0 && errno != EINPROGRESS) {
    return fail(std::string("connect: ") + std::strerror(errno));
  }
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLOUT;
  event.data.u64 = key_;
  watching_writable_ = true;
  if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd_, &event) != 0) fail(std::string("epoll_ctl: ") + std::strerror(errno));
}

void Connection::fail(const std::string& reason) {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  tls_.reset();
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  ++tally_->failures["connection: " + reason];
  for (Stream& stream : streams_) {
    if (stream.id != 0) end_call_in_failure(&stream, "call: its connection was lost");
  }
}

int64_t Connection::oldest_start() const {
  int64_t oldest = INT64_MAX;
  for (const Stream& stream : streams_) {
    if (stream.id == 0) continue;
    if (!streams_messages()) {
      oldest = std::min(oldest, stream.start_ns);
    } else if (stream.messages_received < stream.messages_allowed) {
      oldest = std::min(oldest, stream.starts[stream.messages_received % plan_->messages]);
    }
  }
  return oldest;
}

void Connection::on_event(uint32_t epoll_events) {
  if (state_ == State::kConnecting) {
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail(std::string("connect: ") + std::strerror(error));
    if ((epoll_events & EPOLLOUT) == 0) return;
    if (plan_->tls == nullptr) return greet();
    tls_ = std::make_unique<TlsClient>(*plan_->tls, fd_);
    state_ = State::kTls;
  }
  if (state_ == State::kTls) return shake_hands();
  if ((epoll_events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) on_readable();
  if (state_ == State::kClosed) return;
  issue_calls();
  flush();
}

void Connection::shake_hands() {
  switch (tls_->shake_hands()) {
    case TlsClient::Progress::kDone:
      return greet();
    case TlsClient::Progress::kFailed:
      return fail("TLS: " + TlsClient::error());
    case TlsClient::Progress::kReads:
      return watch(false);
    case TlsClient::Progress::kWrites:
      return watch(true);
  }
}

// The connection's preface.
void Connection::greet() {
  state_ = State::kHandshake;
  output_.insert(output_.end(), kPreface, kPreface + sizeof(kPreface) - 1);
  const std::pair<Setting, uint32_t> settings[] = {
      {Setting::kEnablePush, 0},
      {Setting::kInitialWindowSize, kStreamWindow},
      {Setting::kMaxFrameSize, static_cast<uint32_t>(plan_->max_frame_size)}};
  append_settings(&output_, settings);
  append_window_update(&output_, 0, kConnectionWindow - kFirstConnectionWindow);
  flush();
}

void Connection::on_readable() {
  do {
    read_some();
  } while (tls_ != nullptr && state_ != State::kClosed && tls_->pending());
}

void Connection::read_some() {
  const ssize_t size = tls_ != nullptr ? tls_->read(scratch_->data(), scratch_->size())
                                       : recv(fd_, scratch_->data(), scratch_->size(), 0);
  if (size == 0) return fail("closed by the server");
  if (size < 0) {
    if (errno != EAGAIN && errno != EINTR) fail(std::string("recv: ") + std::strerror(errno));
    return;
  }
  batch_ns_ = now_ns();
  if (tally_->measuring) tally_->bytes_received += static_cast<uint64_t>(size);
  reader_.feed(std::span(*scratch_).first(static_cast<size_t>(size)));
  Frame frame;
  for (;;) {
    const FrameReader::Result result = reader_.next(&frame);
    if (result == FrameReader::Result::kNeedMore) break;
    if (result == FrameReader::Result::kError) return fail(reader_.error());
    on_frame(frame);
    if (state_ == State::kClosed) return;
  }
  if (going_away_ && in_flight_ == 0) fail("GOAWAY from the server");
}

void Connection::on_frame(const Frame& frame) {
  if (block_stream_ != 0 && frame.type != FrameType::kContinuation) return fail("a header block was interrupted");
  if (state_ == State::kHandshake && frame.type != FrameType::kSettings) return fail("SETTINGS do not come first");
  switch (frame.type) {
    case FrameType::kData:
      return on_data(frame);
    case FrameType::kHeaders:
    case FrameType::kContinuation:
      return on_header_fragment(frame);
    case FrameType::kRstStream:
      return on_reset(frame);
    case FrameType::kSettings:
      return on_settings(frame);
    case FrameType::kPushPromise:
      return fail("PUSH_PROMISE, though pushing is switched off");
    case FrameType::kPing:
      if (frame.payload.size() != 8) return fail("a PING frame is not of 8 bytes");
      if ((frame.flags & kFlagAck) != 0) return;
      append_frame_header(&output_, 8, FrameType::kPing, kFlagAck, 0);
      output_.insert(output_.end(), frame.payload.begin(), frame.payload.end());
      return;
    case FrameType::kGoaway:
      return on_goaway(frame);
    case FrameType::kWindowUpdate:
      return on_window_update(frame);
    case FrameType::kPriority:
      return;
  }
  // Unknown types are ignored (RFC 9113, section 4.1).
}

void Connection::on_data(const Frame& frame) {
  unacknowledged_ += frame.flow_controlled;
  if (unacknowledged_ >= kConnectionWindow / 2) {
    append_window_update(&output_, 0, static_cast<uint32_t>(unacknowledged_));
    unacknowledged_ = 0;
  }
  Stream* stream = find(frame.stream);
  if (stream == nullptr) return;
  check_reply(stream, frame.payload);
  if ((frame.flags & kFlagEndStream) != 0) return end_call(stream);
  stream->unacknowledged += frame.flow_controlled;
  if (stream->unacknowledged >= kStreamWindow / 2) {
    append_window_update(&output_, stream->id, static_cast<uint32_t>(stream->unacknowledged));
    stream->unacknowledged = 0;
  }
}

void Connection::check_reply(Stream* stream, std::span<const uint8_t> piece) {
  if (streams_messages()) return take_messages(stream, piece);
  const size_t at = stream->received;
  stream->received += piece.size();
  if (!plan_->expect_echo) {
    for (size_t i = at; i < kGrpcPrefixSize && i - at < piece.size(); ++i) stream->prefix[i] = piece[i - at];
    return;
  }
  if (stream->received > plan_->message.size() || !equals_message(*stream, at, piece)) stream->reply_wrong = true;
}

// Whether that piece of the reply is what was sent, from `at` on.
bool Connection::equals_message(const Stream& stream, size_t at, std::span<const uint8_t> piece) const {
  const std::vector<uint8_t>& expected = plan_->message;
  const size_t tail = plan_->unique ? expected.size() - sizeof(stream.number) : expected.size();
  const size_t fixed = at < tail ? std::min(piece.size(), tail - at) : 0;
  if (std::memcmp(piece.data(), expected.data() + at, fixed) != 0) return false;
  if (fixed == piece.size()) return true;
  const uint64_t number_of = stream.number + stream.messages_received;
  const auto* number = reinterpret_cast<const uint8_t*>(&number_of);
  return std::memcmp(piece.data() + fixed, number + (at + fixed - tail), piece.size() - fixed) == 0;
}

void Connection::take_messages(Stream* stream, std::span<const uint8_t> piece) {
  const size_t size = plan_->message.size();
  while (!piece.empty()) {
    const size_t at = stream->received % size;
    const size_t take = std::min(piece.size(), size - at);
    if (stream->messages_received == stream->messages_allowed || !equals_message(*stream, at, piece.first(take))) {
      stream->reply_wrong = true;
      return;
    }
    stream->received += take;
    piece = piece.subspan(take);
    if (at + take == size) end_message(stream);
  }
}

void Connection::end_message(Stream* stream) {
  const int64_t start = stream->starts[stream->messages_received % plan_->messages];
  ++stream->messages_received;
  ++tally_->succeeded;
  if (tally_->measuring) {
    ++tally_->measured;
    tally_->latency_ns.record(static_cast<uint64_t>(std::max<int64_t>(0, batch_ns_ - start)));
  }
  if (tally_->issuing && tally_->calls_left > 0) {
    --tally_->calls_left;
    allow_message(stream, batch_ns_);
  } else if (stream->messages_received == stream->messages_allowed) {
    half_close(stream);
  }
}

void Connection::on_header_fragment(const Frame& frame) {
  const bool first = frame.type == FrameType::kHeaders;
  if (!first && (block_stream_ == 0 || block_stream_ != frame.stream)) return fail("a stray CONTINUATION");
  const bool last = (frame.flags & kFlagEndHeaders) != 0;
  if (first && last) return on_header_block(frame.stream, (frame.flags & kFlagEndStream) != 0, frame.payload);
  if (first) {
    block_.clear();
    block_stream_ = frame.stream;
    block_end_stream_ = (frame.flags & kFlagEndStream) != 0;
  }
  if (block_.size() + frame.payload.size() > kMaxHeaderBlock) return fail("a header block is too long");
  block_.insert(block_.end(), frame.payload.begin(), frame.payload.end());
  if (!last) return;
  block_stream_ = 0;
  on_header_block(frame.stream, block_end_stream_, block_);
}

void Connection::on_header_block(uint32_t id, bool end_stream, std::span<const uint8_t> block) {
  Stream* stream = find(id);
  ResponseHeaders ignored;  // a block for a stream that has ended must still pass the decoder
  if (!decoder_.decode(block, stream != nullptr ? &stream->headers : &ignored)) return fail("a malformed header block");
  if (stream == nullptr) return;
  stream->headers_seen = true;
  if (end_stream) end_call(stream);
}

void Connection::end_call(Stream* stream) {
  const ResponseHeaders& headers = stream->headers;
  if (!stream->headers_seen || headers.http_status != 200) {
    return end_call_in_failure(stream, "call: HTTP status " + std::to_string(headers.http_status));
  }
  if (headers.grpc_status < 0) return end_call_in_failure(stream, "call: no grpc-status");
  if (headers.grpc_status != 0) {
    ++tally_->grpc_errors[headers.grpc_status];
    if (!sent_all(*stream)) return end_call_in_failure(stream, "");
    return release(stream);
  }
  if (streams_messages()) {
    if (stream->reply_wrong || !stream->half_closed) {
      return end_call_in_failure(stream, "call: the reply is not what was expected");
    }
    return release(stream);
  }
  size_t expected = plan_->message.size();
  if (!plan_->expect_echo) {
    expected = kGrpcPrefixSize + load_u32(stream->prefix + 1);
    stream->reply_wrong = stream->received < kGrpcPrefixSize || stream->prefix[0] != 0;
  }
  if (stream->reply_wrong || stream->received != expected) {
    return end_call_in_failure(stream, "call: the reply is not what was expected");
  }
  ++tally_->succeeded;
  if (tally_->measuring) {
    ++tally_->measured;
    tally_->latency_ns.record(static_cast<uint64_t>(std::max<int64_t>(0, batch_ns_ - stream->start_ns)));
  }
  release(stream);
}

// An empty reason: counted already. A request that was not sent to its end is reset.
void Connection::end_call_in_failure(Stream* stream, const std::string& reason) {
  if (!reason.empty()) ++tally_->failures[reason];
  if (state_ == State::kOpen && !sent_all(*stream)) {
    constexpr uint8_t kCancel[4] = {0, 0, 0, 8};
    append_frame_header(&output_, sizeof(kCancel), FrameType::kRstStream, 0, stream->id);
    output_.insert(output_.end(), kCancel, kCancel + sizeof(kCancel));
  }
  release(stream);
}

void Connection::release(Stream* stream) {
  const uint32_t slot = static_cast<uint32_t>(stream - streams_.data());
  by_id_[(stream->id / 2) & (by_id_.size() - 1)] = kNoSlot;
  stream->id = 0;
  free_slots_.push_back(slot);
  --in_flight_;
}

void Connection::on_settings(const Frame& frame) {
  if ((frame.flags & kFlagAck) != 0) return;
  if (frame.payload.size() % engine::http2::kSettingBytes != 0) return fail("a SETTINGS frame is not of whole entries");
  uint32_t header_table_size = 4096;
  for (size_t at = 0; at < frame.payload.size(); at += engine::http2::kSettingBytes) {
    const auto id = static_cast<Setting>(load_u16(&frame.payload[at]));
    const uint32_t value = load_u32(&frame.payload[at + 2]);
    if (id == Setting::kHeaderTableSize) header_table_size = value;
    apply_setting(id, value);
    if (state_ == State::kClosed) return;
  }
  if (header_table_size < plan_->headers.table_size) {
    return fail("the server's header table is too small for --hpack indexed");
  }
  append_frame_header(&output_, 0, FrameType::kSettings, kFlagAck, 0);
  if (state_ == State::kHandshake) state_ = State::kOpen;
}

void Connection::apply_setting(Setting id, uint32_t value) {
  switch (id) {
    case Setting::kMaxConcurrentStreams:
      if (value < plan_->streams) fail("the server allows only " + std::to_string(value) + " streams");
      break;
    case Setting::kInitialWindowSize: {
      if (value > INT32_MAX) return fail("an initial window over 2^31-1");
      const int64_t change = int64_t{value} - peer_initial_window_;
      peer_initial_window_ = value;
      for (uint32_t slot = 0; slot < streams_.size(); ++slot) {
        Stream& stream = streams_[slot];
        if (stream.id == 0) continue;
        const bool was_blocked = stream.send_window <= 0;
        stream.send_window += change;
        if (was_blocked && stream.send_window > 0 && stream.sent < to_send(stream)) {
          pending_.push_back({slot, stream.id});
        }
      }
      break;
    }
    case Setting::kMaxFrameSize:
      if (value < kDefaultFrameSize || value >= 1 << 24) return fail("a maximum frame size out of range");
      peer_max_frame_size_ = value;
      break;
    default:
      break;
  }
}

void Connection::on_window_update(const Frame& frame) {
  if (frame.payload.size() != 4) return fail("a WINDOW_UPDATE frame is not of 4 bytes");
  const uint32_t increment = load_u32(frame.payload.data()) & 0x7FFFFFFF;
  if (frame.stream == 0) {
    send_window_ += increment;
    return;
  }
  Stream* stream = find(frame.stream);
  if (stream == nullptr) return;
  const bool was_blocked = stream->send_window <= 0;
  stream->send_window += increment;
  if (was_blocked && stream->send_window > 0 && stream->sent < to_send(*stream)) {
    pending_.push_back({static_cast<uint32_t>(stream - streams_.data()), stream->id});
  }
}

void Connection::on_reset(const Frame& frame) {
  if (frame.payload.size() != 4) return fail("a RST_STREAM frame is not of 4 bytes");
  Stream* stream = find(frame.stream);
  if (stream == nullptr) return;
  stream->sent = plan_->message.size();  // nothing is left to reset
  stream->half_closed = true;
  end_call_in_failure(stream, "call: reset by the server, code " + std::to_string(load_u32(frame.payload.data())));
}

void Connection::on_goaway(const Frame& frame) {
  if (frame.payload.size() < 8) return fail("a GOAWAY frame is under 8 bytes");
  const uint32_t last = load_u32(frame.payload.data()) & 0x7FFFFFFF;
  const uint32_t code = load_u32(frame.payload.data() + 4);
  going_away_ = true;
  if (code != 0) {
    const std::string text(frame.payload.begin() + 8, frame.payload.end());
    return fail("GOAWAY from the server, code " + std::to_string(code) + " " + text);
  }
  for (Stream& stream : streams_) {
    if (stream.id > last) end_call_in_failure(&stream, "call: refused by GOAWAY");
  }
}

Connection::Stream* Connection::find(uint32_t id) {
  const uint32_t slot = by_id_[(id / 2) & (by_id_.size() - 1)];
  return slot != kNoSlot && streams_[slot].id == id ? &streams_[slot] : nullptr;
}

void Connection::enter(uint32_t id, uint32_t slot) {
  while (by_id_[(id / 2) & (by_id_.size() - 1)] != kNoSlot) {
    by_id_.assign(by_id_.size() * 2, kNoSlot);
    for (uint32_t other = 0; other < streams_.size(); ++other) {
      if (streams_[other].id != 0) by_id_[(streams_[other].id / 2) & (by_id_.size() - 1)] = other;
    }
  }
  by_id_[(id / 2) & (by_id_.size() - 1)] = slot;
}

}  // namespace drover::bench
