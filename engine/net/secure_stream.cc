#include "engine/net/secure_stream.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "engine/base/pace.h"

namespace drover::engine {

namespace {

// Of work, as Pace counts: so many bytes of a record, and a step of the handshake.
constexpr size_t kRecordBytesAUnit = 2048;
constexpr size_t kStepUnits = Pace::kUnits;

}  // namespace

bool SecureStream::open(Io& io, UniqueFd socket) {
  socket_ = io.open_stream(std::move(socket), *this);
  return socket_ != nullptr;
}

void SecureStream::close() {
  closed_ = true;
  if (socket_) socket_->close();
}

// ---- From the socket.

void SecureStream::on_bytes(const char* bytes, size_t size) {
  if (closed_ || ended_) return;
  got_ += size;
  if (writes_ended_) return handler_.on_bytes(bytes, size);  // drops them
  const bool waits = worked_ < backlog_.size() || (paused_ && !reading_);
  if (!waits && (reading_ || handler_.may_decrypt(session_.state() == tls::Session::State::kHandshake))) {
    const size_t taken = decrypt(bytes, size);
    if (taken == size || closed_ || ended_) return;
    bytes += taken;
    size -= taken;
    if (!reading_) handler_.wait_for_time();
  }
  keep(bytes, size);
}

void SecureStream::keep(const char* bytes, size_t size) {
  try {
    backlog_.erase(0, worked_);
    worked_ = 0;
    backlog_.append(bytes, size);
  } catch (const std::bad_alloc&) {
    end(ENOMEM);
  }
}

// As many records as there is time for, one at least; returns the bytes that it took.
size_t SecureStream::decrypt(const char* bytes, size_t size) {
  size_t taken = 0;
  plain_ = 0;
  while (taken < size) {
    const bool shakes_hands = session_.state() == tls::Session::State::kHandshake;
    const size_t record = session_.take(bytes + taken, size - taken);
    taken += record;
    if (!decrypt_record()) break;
    if (shakes_hands && session_.state() == tls::Session::State::kOpen) break;  // its peer waits for our settings
    if (taken < size && !handler_.go_on(shakes_hands ? kStepUnits : record / kRecordBytesAUnit)) break;
  }
  if (plain_ > 0) hand_over(plain_);
  if (closed_) return size;
  using State = tls::Session::State;
  if (session_.state() == State::kFailed) {
    flush_own();
    end(EPROTO);
    return size;
  }
  if (session_.state() == State::kEnded) return end(0), size;
  if (session_.state() == State::kOpen && !open_told_) {
    open_told_ = true;
    handler_.on_open();
  }
  if (session_.has_own() && !closed_) handler_.on_writable();
  return taken;
}

// The plaintext of the record at hand: where it belongs, or behind that of the records before it. False: the handler
// takes no more.
bool SecureStream::decrypt_record() {
  for (;;) {
    const std::span<char> place = plain_ == 0 ? handler_.place() : std::span<char>();
    if (place.size() >= tls::kRecordBytes) {
      const size_t size = session_.read(place.data(), place.size());
      if (size == 0) return session_.state() <= tls::Session::State::kOpen;
      handler_.on_bytes(place.data(), size);
      if (closed_) return false;
      continue;
    }
    const size_t room = tls::Scratch::kPlain - plain_;
    const size_t size = session_.read(scratch_.plain.get() + plain_, room);
    plain_ += size;
    if (size == 0) break;
    // A long record is probably part of a message that has a place.
    if (size >= tls::kRecordBytes / 2 || tls::Scratch::kPlain - plain_ < tls::kRecordBytes) hand_over(plain_);
    if (closed_) return false;
  }
  return session_.state() <= tls::Session::State::kOpen;
}

void SecureStream::hand_over(size_t size) {
  plain_ = 0;
  handler_.on_bytes(scratch_.plain.get(), size);
}

void SecureStream::on_end(int error) { end(error); }

void SecureStream::end(int error) {
  if (ended_ || closed_) return;
  ended_ = true;
  handler_.on_end(error);
}

void SecureStream::pause_reading() {
  paused_ = true;
  if (socket_) socket_->pause_reading();
}

bool SecureStream::read_paused(size_t most) {
  if (closed_ || ended_) return false;
  reading_ = true;
  bool some = true;
  if (worked_ < backlog_.size()) {
    worked_ += decrypt(backlog_.data() + worked_, std::min(backlog_.size() - worked_, most));
    if (worked_ >= backlog_.size()) {
      backlog_ = std::string();
      worked_ = 0;
      unread_ = true;  // whatever has come to the socket meanwhile
    }
  } else {
    got_ = 0;
    some = socket_->read_paused(most);
    unread_ = some && got_ >= most;
  }
  reading_ = false;
  return some;
}

void SecureStream::resume_reading() {
  paused_ = false;
  if (socket_ && !closed_ && !ended_) socket_->resume_reading();
}

// ---- To the socket.

void SecureStream::keep_unsent(const char* bytes, size_t size) {
  out_.erase(0, out_sent_);
  out_sent_ = 0;
  out_.append(bytes, size);
  socket_->want_writable();
}

ssize_t SecureStream::write(const iovec* pieces, size_t count) {
  if (in_flight_ || !out_.empty() || session_.state() != tls::Session::State::kOpen) return errno = EAGAIN, -1;
  tls::CipherBatch& batch = scratch_.out;
  const char* begin = batch.end();
  const size_t plain = session_.encrypt(pieces, count, kMostAtOnce, scratch_);
  if (session_.state() == tls::Session::State::kFailed) return errno = EPROTO, -1;
  if (plain == 0) return errno = EAGAIN, -1;  // no room in the batch
  const auto size = static_cast<size_t>(batch.end() - begin);
  const iovec cipher{const_cast<char*>(begin), size};
  const ssize_t n = socket_->write(&cipher, 1);
  if (n < 0 && errno == EINPROGRESS) {
    in_flight_ = true;
    flight_is_out_ = false;
    flight_ = begin;
    flight_size_ = size;
    flight_plain_ = plain;
    return errno = EINPROGRESS, -1;
  }
  if (n < 0 && errno != EAGAIN) return n;
  const auto taken = static_cast<size_t>(std::max<ssize_t>(n, 0));
  took(taken);
  if (taken < size) keep_unsent(begin + taken, size - taken);
  return static_cast<ssize_t>(plain);
}

// Whatever kept the protocol from writing: if it is not the socket, it may go on.
void SecureStream::want_writable() {
  if (!in_flight_ && out_.empty() && session_.state() == tls::Session::State::kOpen) handler_.on_writable();
}

bool SecureStream::flush_own() {
  if (in_flight_ || closed_) return false;
  if (session_.has_own()) {
    try {
      out_.erase(0, out_sent_);
      out_sent_ = 0;
      session_.take_own(&out_);
    } catch (const std::bad_alloc&) {
      return end(ENOMEM), false;
    }
  }
  if (out_.empty()) return session_.state() == tls::Session::State::kOpen;
  flight_ = out_.data() + out_sent_;
  flight_size_ = out_.size() - out_sent_;
  const iovec rest{const_cast<char*>(flight_), flight_size_};
  ssize_t n = socket_->write(&rest, 1);
  flight_is_out_ = true;
  flight_plain_ = 0;
  in_flight_ = n < 0 && errno == EINPROGRESS;
  if (in_flight_) return false;
  const int error = n < 0 ? errno : 0;
  if (error != 0 && error != EAGAIN) return end(error), false;
  on_written(error != 0 ? -error : n);
  return out_.empty() && !closed_ && session_.state() == tls::Session::State::kOpen;
}

// Of a queued write, or of one of flush_own().
void SecureStream::on_written(ssize_t result) {
  const bool queued = in_flight_;
  in_flight_ = false;
  if (closed_) return;
  if (result < 0 && result != -EAGAIN) {
    if (flight_plain_ > 0) return handler_.on_written(result);
    return end(static_cast<int>(-result));
  }
  const auto taken = static_cast<size_t>(std::max<ssize_t>(result, 0));
  took(taken);
  try {
    if (flight_is_out_) {
      out_sent_ += taken;
      if (out_sent_ < out_.size()) {
        socket_->want_writable();
      } else {
        out_ = std::string();
        out_sent_ = 0;
        if (queued) handler_.on_writable();
      }
    } else if (taken < flight_size_) {
      keep_unsent(flight_ + taken, flight_size_ - taken);
    }
  } catch (const std::bad_alloc&) {
    return end(ENOMEM);
  }
  if (flight_plain_ > 0) handler_.on_written(static_cast<ssize_t>(std::exchange(flight_plain_, 0)));
}

void SecureStream::on_writable() {
  if (!closed_) handler_.on_writable();  // who calls flush_own()
}

bool SecureStream::say_goodbye() {
  session_.say_goodbye();
  return !in_flight_ && out_.empty() && !session_.has_own();
}

void SecureStream::end_writes() {
  writes_ended_ = true;
  socket_->end_writes();
}

}  // namespace drover::engine
