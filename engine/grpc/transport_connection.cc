#include "engine/grpc/transport_connection.h"

#include <new>

#include "engine/net/io.h"

namespace drover::engine {

namespace {

// A connection that we end is read for so long, and so far, so that GOAWAY arrives.
constexpr int64_t kLingerNs = 1'000'000'000;
constexpr size_t kLingerBytes = 256 << 10;

}  // namespace

Transport::Connection::Connection(Transport& transport, std::string peer, uint32_t listener)
    : http2(*transport.context_, *this, Peer{std::move(peer), {}}, listener),
      transport_(transport),
      share_(http2.account().parent()->share()) {}

bool Transport::Connection::open(UniqueFd socket) {
  stream_ = transport_.loop_.io().open_stream(std::move(socket), *this);
  return stream_ != nullptr;
}

void Transport::Connection::close() {
  closed = true;
  if (stream_) stream_->close();
}

void Transport::Connection::linger(int64_t now_ns) {
  stream_->end_writes();
  linger_until_ns = now_ns + kLingerNs;
  drop_backlog();
  resume();
}

void Transport::Connection::on_bytes(const char* bytes, size_t size) {
  if (closed || (linger_until_ns != 0 && drop_lingering(size))) return;
  // Bytes that lie where they belong have been copied: the rest of the work is small.
  if (backlog_.empty() && (transport_.may_work(*this) || bytes == http2.receive_into().data())) [[likely]] {
    const size_t taken = http2.receive(bytes, size);
    transport_.mark_dirty(*this);
    if (taken == size) [[likely]]
      return;
    bytes += taken;
    size -= taken;
  }
  postpone(bytes, size);
}

bool Transport::Connection::drop_lingering(size_t size) {
  lingered_ += size;
  if (lingered_ > kLingerBytes) transport_.close(*this);
  return true;
}

void Transport::Connection::postpone(const char* bytes, size_t size) {
  try {
    backlog_.erase(0, worked_);
    worked_ = 0;
    backlog_.append(bytes, size);
  } catch (const std::bad_alloc&) {
    http2.cut_off("no memory");
    drop_backlog();
    transport_.mark_dirty(*this);
  }
  pause();
  transport_.charge(*this);
}

// Until work() has come to the end of what there is.
void Transport::Connection::pause() {
  if (!paused_) stream_->pause_reading();
  paused_ = true;
  transport_.wait_for_time(*this);
}

void Transport::Connection::work() {
  if (!paused_) return;
  if (backlog_.empty() && !stream_->read_paused(kReadBytes)) return resume();
  if (closed || backlog_.empty()) return;
  worked_ += http2.receive(backlog_.data() + worked_, backlog_.size() - worked_);
  transport_.mark_dirty(*this);
  if (worked_ == backlog_.size()) drop_backlog();
}

void Transport::Connection::drop_backlog() {
  backlog_ = std::string();
  worked_ = 0;
}

void Transport::Connection::resume() {
  if (!paused_ || ended_) return;
  paused_ = false;
  stream_->resume_reading();
}

std::span<char> Transport::Connection::place() {
  return closed || linger_until_ns != 0 || !backlog_.empty() ? std::span<char>() : http2.receive_into();
}

// What the peer sends while its address waits for time stays with the kernel.
bool Transport::Connection::may_read() {
  if (closed || linger_until_ns != 0 || !share_.waits()) return true;
  pause();
  return false;
}

void Transport::Connection::on_end(int) {
  if (closed || ended_) return;
  if (transport_.may_work(*this, kCloseUnits)) return transport_.close(*this);
  ended_ = true;
  pause();
}

}  // namespace drover::engine
