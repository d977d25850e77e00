// Both kinds of Io do the same: readiness as epoll tells of it, streams that keep every byte in order.
#include "engine/net/io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/net/uring_io.h"

namespace drover::engine {
namespace {

constexpr int64_t kSoonNs = 2'000'000'000;
constexpr int64_t kShortNs = 20'000'000;

struct Counter : FdHandler {
  void on_ready(uint32_t ready) override {
    events |= ready;
    ++calls;
    if (then) then();
  }
  uint32_t events = 0;
  int calls = 0;
  std::function<void()> then;
};

std::pair<UniqueFd, UniqueFd> socket_pair() {
  int fds[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// Sends `text` through its stream and keeps what it receives.
struct Client final : StreamHandler {
  void on_bytes(const char* bytes, size_t size) override {
    if (!place_.empty() && bytes == place_.data()) placed += size;
    received.append(bytes, size);
    ++pieces;
    if (then) then();
  }
  void on_end(int e) override {
    ended = true;
    error = e;
  }
  void on_written(ssize_t result) override {
    queued = false;
    took(result);
  }
  void on_writable() override { blocked = false; }
  void took(ssize_t result) {
    if (result == -EAGAIN) {
      blocked = true;
      stream->want_writable();
    } else if (result < 0) {
      write_error = static_cast<int>(-result);
    } else {
      sent += static_cast<size_t>(result);
    }
  }
  // In parts of `step` bytes, of which at most `count` are written at once.
  void write(size_t step, size_t count) {
    if (queued || blocked || write_error != 0 || sent == text.size()) return;
    parts.clear();
    for (size_t at = sent; at < text.size() && parts.size() < count; at += step) {
      parts.push_back({text.data() + at, std::min(step, text.size() - at)});
    }
    ssize_t n = stream->write(parts.data(), parts.size());
    if (n < 0 && errno == EINPROGRESS) {
      queued = true;
    } else {
      took(n < 0 ? -errno : n);
    }
  }
  // Of the bytes that are to come, those up to `placed_until` have a place of their own.
  std::span<char> place() override {
    if (received.size() >= placed_until) return {};
    place_.resize(placed_until - received.size());
    return {place_.data(), place_.size()};
  }
  std::unique_ptr<ByteStream> stream;
  std::string text, received;
  size_t placed_until = 0, placed = 0;
  std::vector<iovec> parts;
  size_t sent = 0;
  int pieces = 0, error = -1, write_error = 0;
  bool queued = false, blocked = false, ended = false;
  std::function<void()> then;

 private:
  std::string place_;
};

class IoTest : public testing::TestWithParam<IoKind> {
 protected:
  void SetUp() override {
    std::string why;
    io = make_io(GetParam(), &why);
    if (!io) GTEST_SKIP() << why;
    io->wait(0);  // this thread's from here on
  }
  void turn(int64_t wait_ns = kSoonNs) {
    io->wait(wait_ns);
    io->dispatch();
    io->submit();
  }
  std::unique_ptr<Io> io;
};

INSTANTIATE_TEST_SUITE_P(Kinds, IoTest, testing::Values(IoKind::kEpoll, IoKind::kUring),
                         [](const auto& p) { return p.param == IoKind::kEpoll ? "epoll" : "uring"; });

TEST_P(IoTest, AReadyDescriptorIsToldOfUntilItIsDrained) {
  UniqueFd fd(eventfd(1, EFD_NONBLOCK));
  Counter counter;
  ASSERT_TRUE(io->add(fd.get(), EPOLLIN, &counter));
  for (int i = 1; i <= 3; ++i) {
    turn();
    EXPECT_EQ(counter.calls, i);
  }
  EXPECT_EQ(counter.events, static_cast<uint32_t>(EPOLLIN));
  uint64_t count;
  ASSERT_EQ(::read(fd.get(), &count, 8), 8);
  turn(kShortNs);
  EXPECT_LE(counter.calls, 4) << "at most what was under way";
  const int before = counter.calls;
  turn(kShortNs);
  EXPECT_EQ(counter.calls, before);
}

TEST_P(IoTest, AnEdgeIsToldOfOnce) {
  UniqueFd fd(eventfd(0, EFD_NONBLOCK));
  Counter counter;
  ASSERT_TRUE(io->add(fd.get(), EPOLLIN | EPOLLET, &counter));
  for (int i = 1; i <= 3; ++i) {
    uint64_t one = 1;
    ASSERT_EQ(::write(fd.get(), &one, 8), 8);
    turn();
    EXPECT_EQ(counter.calls, i);
    turn(kShortNs);
    EXPECT_EQ(counter.calls, i);
  }
}

TEST_P(IoTest, AWatchCanPauseGoOnAndBeRemovedByItsHandler) {
  UniqueFd fd(eventfd(1, EFD_NONBLOCK));
  Counter counter;
  ASSERT_TRUE(io->add(fd.get(), EPOLLIN, &counter));
  ASSERT_TRUE(io->modify(fd.get(), 0, &counter));
  turn(kShortNs);
  EXPECT_EQ(counter.calls, 0);
  counter.then = [&] { io->remove(fd.get()); };
  ASSERT_TRUE(io->modify(fd.get(), EPOLLIN, &counter));
  turn();
  EXPECT_EQ(counter.calls, 1);
  turn(kShortNs);
  EXPECT_EQ(counter.calls, 1);
}

TEST_P(IoTest, WaitingEndsAfterItsTime) {
  turn(0);
  int64_t before = monotonic_ns();
  turn(kShortNs);
  EXPECT_GE(monotonic_ns() - before, kShortNs / 2) << "some kernels wake early by milliseconds";
  EXPECT_LT(monotonic_ns() - before, kSoonNs);
}

TEST_P(IoTest, BytesGoBothWaysInOrderThroughSmallSocketBuffers) {
  std::mt19937 random(7);
  for (size_t step : {size_t{1}, size_t{100}, size_t{5000}, size_t{1} << 20}) {
    auto [a, b] = socket_pair();
    for (int fd : {a.get(), b.get()}) {
      int size = 8192;
      ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    }
    Client left, right;
    left.stream = io->open_stream(std::move(a), left);
    right.stream = io->open_stream(std::move(b), right);
    for (char& c : left.text = std::string(step == 1 ? 5000 : 700'000, 0)) c = static_cast<char>(random());
    for (char& c : right.text = std::string(step == 1 ? 3000 : 300'000, 0)) c = static_cast<char>(random());
    const int64_t end = monotonic_ns() + 10 * kSoonNs;
    while (monotonic_ns() < end && (left.received != right.text || right.received != left.text)) {
      left.write(step, 1200);
      right.write(step, 3);
      io->submit();
      turn(kShortNs);
    }
    EXPECT_TRUE(left.received == right.text);
    EXPECT_TRUE(right.received == left.text);
  }
}

TEST_P(IoTest, BytesThatHaveAPlaceAreReceivedThere) {
  std::mt19937 random(3);
  auto [a, b] = socket_pair();
  Client left, right;
  left.stream = io->open_stream(std::move(a), left);
  right.stream = io->open_stream(std::move(b), right);
  for (char& c : left.text = std::string(8'000'000, 0)) c = static_cast<char>(random());
  right.then = [&] {  // some of the stream has a place, some has none
    if (right.received.size() < right.placed_until) return;
    right.placed_until = right.received.size() + (random() % 2 ? 400'000 : 0);
  };
  const int64_t end = monotonic_ns() + 10 * kSoonNs;
  while (monotonic_ns() < end && right.received.size() < left.text.size()) {
    left.write(100'000, 10);
    io->submit();
    turn(kShortNs);
  }
  EXPECT_TRUE(right.received == left.text);
  EXPECT_GT(right.placed, left.text.size() / 4);
  EXPECT_LT(right.placed, left.text.size());
}

TEST_P(IoTest, TheEndOfAStreamComesAfterItsBytes) {
  auto [a, b] = socket_pair();
  Client left;
  left.stream = io->open_stream(std::move(a), left);
  ASSERT_EQ(::write(b.get(), "last words", 10), 10);
  b.reset();
  for (int i = 0; i < 10 && !left.ended; ++i) turn();
  EXPECT_EQ(left.received, "last words");
  EXPECT_TRUE(left.ended);
  EXPECT_EQ(left.error, 0);
  left.text = "too late";
  left.write(100, 1);
  io->submit();
  EXPECT_EQ(left.write_error, EPIPE);
}

TEST_P(IoTest, AHalfClosedStreamStillReceives) {
  auto [a, b] = socket_pair();
  Client left;
  left.stream = io->open_stream(std::move(a), left);
  turn(0);
  left.stream->end_writes();
  char byte;
  EXPECT_EQ(::read(b.get(), &byte, 1), 0);
  ASSERT_EQ(::write(b.get(), "more", 4), 4);
  turn();
  EXPECT_EQ(left.received, "more");
}

TEST_P(IoTest, AClosedStreamLetsGoOfItsSocketAndIsNotCalled) {
  auto [a, b] = socket_pair();
  Client left;
  left.stream = io->open_stream(std::move(a), left);
  turn(0);
  left.text = "said before";
  left.write(100, 1);
  left.stream->close();
  turn(kShortNs);
  EXPECT_FALSE(left.ended);
  char bytes[100];
  EXPECT_EQ(::read(b.get(), bytes, sizeof bytes), 11);
  EXPECT_EQ(::read(b.get(), bytes, sizeof bytes), 0);
}

TEST_P(IoTest, AHandlerMayCloseItsStreamAndTheSlotIsUsedAgain) {
  for (int i = 0; i < 50; ++i) {
    auto [a, b] = socket_pair();
    Client left;
    left.stream = io->open_stream(std::move(a), left);
    left.then = [&] { left.stream->close(); };
    ASSERT_EQ(::write(b.get(), "one", 3), 3);
    turn();
    ASSERT_EQ(::send(b.get(), "two", 3, MSG_NOSIGNAL), -1);
    turn(0);
    EXPECT_EQ(left.received, "one");
    EXPECT_EQ(left.pieces, 1);
  }
}

TEST_P(IoTest, ManyStreamsAtOnceAllAreServed) {
  constexpr size_t kStreams = 700;
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<UniqueFd> others;
  for (size_t i = 0; i < kStreams; ++i) {
    auto [a, b] = socket_pair();
    clients.push_back(std::make_unique<Client>());
    clients.back()->stream = io->open_stream(std::move(a), *clients.back());
    clients.back()->text = "from " + std::to_string(i);
    others.push_back(std::move(b));
  }
  turn(0);
  for (size_t i = 0; i < kStreams; ++i) {
    const std::string text = "to " + std::to_string(i);
    ASSERT_EQ(::write(others[i].get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    clients[i]->write(3, 100);
  }
  io->submit();
  for (int i = 0; i < 100; ++i) turn(0);
  for (size_t i = 0; i < kStreams; ++i) {
    char bytes[100];
    const ssize_t n = ::read(others[i].get(), bytes, sizeof bytes);
    EXPECT_EQ(std::string_view(bytes, static_cast<size_t>(std::max<ssize_t>(n, 0))), clients[i]->text);
    EXPECT_EQ(clients[i]->received, "to " + std::to_string(i));
  }
}

TEST(Io, TheKindIsReadFromItsName) {
  EXPECT_EQ(parse_io_kind("uring"), IoKind::kUring);
  EXPECT_EQ(parse_io_kind("epoll"), IoKind::kEpoll);
  EXPECT_EQ(parse_io_kind("auto"), IoKind::kAuto);
  EXPECT_EQ(parse_io_kind("kqueue"), std::nullopt);
  std::string why;
  EXPECT_EQ(make_io(IoKind::kEpoll, &why)->name(), "epoll");
  EXPECT_NE(make_io(IoKind::kAuto, &why), nullptr);
}

TEST_P(IoTest, AStreamThatPausesReadsOnlyWhatItIsAskedFor) {
  auto [ours, theirs] = socket_pair();
  Client client;
  client.stream = io->open_stream(std::move(ours), client);
  ASSERT_TRUE(client.stream);
  turn(0);
  client.stream->pause_reading();
  turn(0);  // the end of the receive that was under way
  const std::string text(10'000, 'x');
  ASSERT_EQ(::send(theirs.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  turn(kShortNs);
  EXPECT_EQ(client.received.size(), 0u);
  EXPECT_TRUE(client.stream->read_paused(3'000));
  EXPECT_EQ(client.received.size(), 3'000u);
  EXPECT_TRUE(client.stream->read_paused(1'000'000));
  EXPECT_EQ(client.received, text);
  EXPECT_FALSE(client.stream->read_paused(1'000'000)) << "nothing is there";
  ASSERT_EQ(::send(theirs.get(), "y", 1, 0), 1);
  client.stream->resume_reading();
  for (int i = 0; i < 10 && client.received.size() == text.size(); ++i) turn();
  EXPECT_EQ(client.received, text + "y");
}

TEST_P(IoTest, AStreamMayPauseAndResumeAtAnyTimeWithoutLoss) {
  auto [ours, theirs] = socket_pair();
  Client client;
  client.stream = io->open_stream(std::move(ours), client);
  ASSERT_TRUE(client.stream);
  std::string text;
  for (int i = 0; i < 200; ++i) {
    const std::string piece = std::to_string(i) + ' ';
    ASSERT_EQ(::send(theirs.get(), piece.data(), piece.size(), 0), static_cast<ssize_t>(piece.size()));
    text += piece;
    if (i % 3 != 0) client.stream->pause_reading();
    if (i % 2 != 0) turn(0);
    if (i % 5 == 0) client.stream->read_paused(7);
    if (i % 4 != 0) client.stream->resume_reading();
    if (i % 7 == 0) turn(0);
  }
  client.stream->resume_reading();
  for (int i = 0; i < 10 && client.received.size() < text.size(); ++i) turn();
  EXPECT_EQ(client.received, text);
}

TEST_P(IoTest, APausedStreamIsToldOfTheEndWhenItAsks) {
  auto [ours, theirs] = socket_pair();
  Client client;
  client.stream = io->open_stream(std::move(ours), client);
  ASSERT_TRUE(client.stream);
  turn(0);
  client.stream->pause_reading();
  turn(0);
  theirs.reset();
  for (int i = 0; i < 10 && !client.ended; ++i) {
    client.stream->read_paused(100);
    turn(kShortNs);
  }
  EXPECT_TRUE(client.ended);
}

// ---- what a ring may be asked for

TEST(UringIo, ARingTakesNoRequestsButItsOwn) {
  std::string why;
  if (!make_uring_io(&why)) GTEST_SKIP() << why;
  io_uring ring{};
  io_uring_params params{};
  params.flags = IORING_SETUP_R_DISABLED;
  ASSERT_EQ(io_uring_queue_init_params(8, &ring, &params), 0);
  ASSERT_EQ(uring::restrict_requests(ring), "");
  ASSERT_EQ(io_uring_enable_rings(&ring), 0);
  auto result_of = [&ring](int op, unsigned flags = 0) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring);
    io_uring_prep_rw(op, sqe, -1, nullptr, 0, 0);
    sqe->flags = static_cast<uint8_t>(flags);
    io_uring_submit(&ring);
    io_uring_cqe* cqe = nullptr;
    if (io_uring_wait_cqe(&ring, &cqe) != 0) return 1;
    const int result = cqe->res;
    io_uring_cqe_seen(&ring, cqe);
    return result;
  };
  EXPECT_EQ(result_of(IORING_OP_NOP), 0);
  EXPECT_EQ(result_of(IORING_OP_RECV), -EBADF) << "taken; -1 is no socket";
  for (int op : {IORING_OP_OPENAT, IORING_OP_OPENAT2, IORING_OP_CONNECT, IORING_OP_SOCKET, IORING_OP_READ,
                 IORING_OP_WRITE, IORING_OP_UNLINKAT, IORING_OP_RENAMEAT, IORING_OP_MADVISE, IORING_OP_URING_CMD}) {
    EXPECT_EQ(result_of(op), -EACCES) << op;
  }
  EXPECT_EQ(result_of(IORING_OP_NOP, IOSQE_ASYNC), -EACCES);
  std::vector<char> probe(sizeof(io_uring_probe) + 256 * sizeof(io_uring_probe_op));
  EXPECT_EQ(io_uring_register_probe(&ring, reinterpret_cast<io_uring_probe*>(probe.data()), 256), -EACCES);
  io_uring_queue_exit(&ring);
}

}  // namespace
}  // namespace drover::engine
