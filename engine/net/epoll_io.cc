// Io by epoll: a recv and a sendmsg a stream and turn.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <memory>

#include "engine/net/io.h"

namespace drover::engine {

namespace {

constexpr int kMaxEvents = 256;
constexpr size_t kReceiveBuffer = 256 << 10;

class EpollIo;

class EpollStream final : public ByteStream, private FdHandler {
 public:
  EpollStream(EpollIo& io, UniqueFd fd, StreamHandler& handler) : io_(io), fd_(std::move(fd)), handler_(handler) {}
  ~EpollStream() override { close(); }

  bool start();
  ssize_t write(const iovec* parts, size_t count) override;
  void want_writable() override { watch(true); }
  void pause_reading() override { read_events(0); }
  bool read_paused(size_t most) override { return fd_ && read(most); }
  void resume_reading() override { read_events(EPOLLIN); }
  void end_writes() override { ::shutdown(fd_.get(), SHUT_WR); }
  void close() override;

 private:
  void on_ready(uint32_t events) override;
  bool read(size_t most);
  void watch(bool writable);
  void read_events(uint32_t events);

  EpollIo& io_;
  UniqueFd fd_;
  StreamHandler& handler_;
  bool writable_wanted_ = false;
  uint32_t read_events_ = EPOLLIN;  // 0: paused
};

class EpollIo final : public Io {
 public:
  EpollIo() : epoll_(epoll_create1(EPOLL_CLOEXEC)), receive_buffer_(new char[kReceiveBuffer]) {}

  std::string_view name() const override { return "epoll"; }
  bool add(int fd, uint32_t events, FdHandler* handler) override { return control(EPOLL_CTL_ADD, fd, events, handler); }
  bool modify(int fd, uint32_t events, FdHandler* handler) override {
    return control(EPOLL_CTL_MOD, fd, events, handler);
  }
  void remove(int fd) override { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }
  std::unique_ptr<ByteStream> open_stream(UniqueFd socket, StreamHandler& handler) override;
  size_t wait(int64_t wait_ns) override;
  void dispatch() override;
  void submit() override {}

  char* receive_buffer() { return receive_buffer_.get(); }

 private:
  bool control(int operation, int fd, uint32_t events, FdHandler* handler) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = handler;
    return epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
  }

  UniqueFd epoll_;
  const std::unique_ptr<char[]> receive_buffer_;  // of all streams: its bytes are used before the next read
  std::array<epoll_event, kMaxEvents> events_;
  int ready_ = 0;
};

// ---- Streams.

bool EpollStream::start() {
  set_stream_options(fd_.get());
  return io_.add(fd_.get(), EPOLLIN, this);
}

void EpollStream::close() {
  if (!fd_) return;
  io_.remove(fd_.get());
  fd_.reset();
}

ssize_t EpollStream::write(const iovec* parts, size_t count) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = std::min<size_t>(count, IOV_MAX);
  ssize_t n;
  do {
    n = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  return n;
}

void EpollStream::watch(bool writable) {
  if (writable == writable_wanted_) return;
  writable_wanted_ = writable;
  io_.modify(fd_.get(), read_events_ | (writable ? EPOLLOUT : 0u), this);
}

void EpollStream::read_events(uint32_t events) {
  if (!fd_ || events == read_events_) return;
  read_events_ = events;
  io_.modify(fd_.get(), read_events_ | (writable_wanted_ ? EPOLLOUT : 0u), this);
}

void EpollStream::on_ready(uint32_t events) {
  if (!fd_) return;  // closed by a handler of this turn
  if (events & EPOLLOUT) {
    watch(false);
    handler_.on_writable();
  }
  if (fd_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) {
    if (handler_.may_read(false)) {
      read(kReceiveBuffer);
    } else {
      pause_reading();
    }
  }
}

bool EpollStream::read(size_t most) {
  const std::span<char> buffer(io_.receive_buffer(), std::min(most, kReceiveBuffer));
  const Received got = receive_into_place(fd_.get(), handler_.place(), buffer);
  if (got.result < 0 && errno == EAGAIN) return false;
  if (got.result <= 0) {
    handler_.on_end(got.result < 0 ? errno : 0);
    return true;
  }
  if (!got.place.empty()) handler_.on_bytes(got.place.data(), got.place.size());
  if (fd_ && !got.rest.empty()) handler_.on_bytes(got.rest.data(), got.rest.size());
  return true;
}

// ---- The loop's side.

std::unique_ptr<ByteStream> EpollIo::open_stream(UniqueFd socket, StreamHandler& handler) {
  auto stream = std::make_unique<EpollStream>(*this, std::move(socket), handler);
  if (!stream->start()) return nullptr;
  return stream;
}

// In nanoseconds where the kernel can (5.11), else in milliseconds, rounded up.
size_t EpollIo::wait(int64_t wait_ns) {
  static std::atomic<bool> no_pwait2{false};
  int count = -1;
  if (wait_ns == 0) {
    count = epoll_wait(epoll_.get(), events_.data(), kMaxEvents, 0);
  } else {
    if (!no_pwait2.load(std::memory_order_relaxed)) {
      timespec timeout{wait_ns / 1'000'000'000, wait_ns % 1'000'000'000};
      count = epoll_pwait2(epoll_.get(), events_.data(), kMaxEvents, &timeout, nullptr);
      if (count < 0 && errno == ENOSYS) no_pwait2.store(true, std::memory_order_relaxed);
    }
    if (no_pwait2.load(std::memory_order_relaxed)) {
      count = epoll_wait(epoll_.get(), events_.data(), kMaxEvents, static_cast<int>((wait_ns + 999'999) / 1'000'000));
    }
  }
  ready_ = std::max(count, 0);
  return static_cast<size_t>(ready_);
}

void EpollIo::dispatch() {
  for (int i = 0; i < ready_; ++i) {
    static_cast<FdHandler*>(events_[static_cast<size_t>(i)].data.ptr)->on_ready(events_[static_cast<size_t>(i)].events);
  }
  ready_ = 0;
}

}  // namespace

std::unique_ptr<Io> make_epoll_io() { return std::make_unique<EpollIo>(); }

}  // namespace drover::engine
