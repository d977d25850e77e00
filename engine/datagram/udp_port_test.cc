// Sockets of links on both kinds of Io: batches go out by few system calls and come in one by one, and what the kernel
// does not take is counted.
#include "engine/datagram/udp_port.h"

#include <gtest/gtest.h>

#include "engine/base/clock.h"

namespace drover::engine {
namespace {

struct Came {
  UdpAddress from;
  std::string bytes;
};

class UdpPortTest : public ::testing::TestWithParam<IoKind> {
 protected:
  UdpPortTest() {
    std::string why;
    io = make_io(GetParam(), &why);
    for (auto& port : ports) {
      port = UdpPort::open(
          parse_listen_address("127.0.0.1:0").candidates.at(0), false, *io, buffers,
          [this](UdpPort& ready) {
            ready.receive([this](const UdpAddress& from, std::span<const std::byte> bytes, bool cut) {
              came.push_back({from, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
              truncated |= cut;
            });
          },
          &why);
      EXPECT_NE(port, nullptr) << why;
    }
  }
  void run_until(size_t count) {
    for (int64_t end = monotonic_ns() + 5'000'000'000; came.size() < count && monotonic_ns() < end;) {
      io->submit();
      io->wait(10'000'000);
      io->dispatch();
    }
    ASSERT_EQ(came.size(), count);
  }

  std::unique_ptr<Io> io;
  UdpBuffers buffers;
  std::array<std::unique_ptr<UdpPort>, 2> ports;
  std::vector<Came> came;
  bool truncated = false;
};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST_P(UdpPortTest, DatagramsOfOneTurnGoOutByOneCallAndComeInTheirOrder) {
  UdpBatch batch(ports);
  const Slot slot{};
  std::vector<std::string> sent;
  for (int i = 0; i < 100; ++i) {
    const bool full = i % 10 != 9;
    const std::string head = std::string(1, static_cast<char>(i)) + (full ? std::string(21, 'h') : "short");
    batch.send(0, ports[1]->address(), bytes_of(head), {&slot, full ? 1u : 0u}, {});
    sent.push_back(head + std::string(full ? sizeof slot : 0, '\0'));
  }
  batch.finish();
  EXPECT_EQ(batch.calls(), 1u);
  EXPECT_EQ(batch.sent(), 100u);
  EXPECT_EQ(batch.failed(), 0u);
  run_until(100);
  for (size_t i = 0; i < came.size(); ++i) {
    EXPECT_EQ(came[i].bytes, sent[i]) << i;
    EXPECT_EQ(came[i].from, ports[0]->address());
  }
  EXPECT_FALSE(truncated);
}

TEST_P(UdpPortTest, ATurnOfMoreThanABatchGoesOutWhole) {
  UdpBatch batch(ports);
  const std::vector<Slot> slots(22);
  for (int i = 0; i < 1000; ++i) batch.send(0, ports[1]->address(), bytes_of("0123456789012345678901"), slots, {});
  batch.finish();
  EXPECT_EQ(batch.sent(), 1000u);
  EXPECT_LT(batch.calls(), 10u);
  run_until(1000);
  for (const Came& each : came) EXPECT_EQ(each.bytes.size(), 22u + 22 * sizeof(Slot));
}

TEST_P(UdpPortTest, WhatTheKernelDoesNotTakeIsCountedAndTheRestGoesOut) {
  UdpBatch batch(ports);
  UdpAddress nowhere = ports[1]->address();
  nowhere.ip = {255, 255, 255, 255};  // a socket may not broadcast
  batch.send(0, ports[1]->address(), bytes_of("first"), {}, {});
  batch.send(0, nowhere, bytes_of("second"), {}, {});
  batch.send(0, ports[1]->address(), bytes_of("third"), {}, {});
  batch.finish();
  EXPECT_EQ(batch.failed(), 1u);
  run_until(2);
  EXPECT_EQ(came[1].bytes, "third");
}

TEST_P(UdpPortTest, AnAddressInUseIsAnError) {
  sockaddr_storage storage;
  SocketAddress address;
  address.size = ports[0]->address().to(&storage);
  address.storage = storage;
  std::string error;
  EXPECT_EQ(UdpPort::open(address, false, *io, buffers, [](UdpPort&) {}, &error), nullptr);
  EXPECT_EQ(error, "bind: Address already in use");
}

INSTANTIATE_TEST_SUITE_P(Io, UdpPortTest, ::testing::Values(IoKind::kEpoll, IoKind::kAuto),
                         [](const auto& each) { return each.param == IoKind::kEpoll ? "epoll" : "auto"; });

}  // namespace
}  // namespace drover::engine
