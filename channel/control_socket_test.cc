#include "channel/control_socket.h"
#include "channel/raw_packet_testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <thread>

namespace drover {
namespace {

struct Pair {
  Pair() {
    ControlError error;
    EXPECT_TRUE(ControlSocket::pair(&host, &engine, &error)) << error.message;
  }
  ControlSocket host, engine;
};

size_t open_descriptors() {
  size_t count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

// Or else a host that was refused while it went on talking would never learn why.
TEST(ControlSocket, WhatAPeerSaidBeforeItClosedIsReadEvenIfItLeftPacketsUnread) {
  Pair pair;
  ControlError error;
  ASSERT_TRUE(pair.host.send(Start{}, 1000, &error));
  pair.engine.send_error({ControlCode::kPermissionDenied, "not you"}, ControlType::kHello);
  pair.engine.close();
  std::vector<UniqueFd> fds;
  auto message = pair.host.receive(&fds, 1000, &error);
  ASSERT_TRUE(message && std::holds_alternative<Error>(*message)) << error.message;
  EXPECT_EQ(std::get<Error>(*message).text, "not you");
  EXPECT_FALSE(pair.host.receive(&fds, 1000, &error));
  EXPECT_EQ(error.code, ControlCode::kClosed);
}

TEST(ControlSocket, AnAttachmentHandsOverARegionThatBothSidesUse) {
  Pair pair;
  ControlError error;
  std::vector<UniqueFd> fds;
  Hello hello;
  hello.name = "test";
  hello.cpus = {-1};
  ASSERT_TRUE(pair.host.send(hello, 1000, &error)) << error.message;
  auto received = pair.engine.receive(&fds, 1000, &error);
  ASSERT_TRUE(received) << error.message;
  EXPECT_EQ(std::get<Hello>(*received).name, "test");
  EXPECT_TRUE(fds.empty());
  EXPECT_EQ(pair.engine.peer_uid(), ::geteuid());

  Welcome welcome;
  welcome.name = "droverd test";
  welcome.channel = {1, 1, 16, 4096, 4096};
  welcome.cpus = {-1};
  std::string wrong;
  auto layout = RegionLayout::compute(welcome.channel, &wrong);
  ASSERT_TRUE(layout) << wrong;
  welcome.rx_size = layout->sizes().rx;
  welcome.tx_size = layout->sizes().tx;
  RegionError region_error;
  auto region = Region::create(layout->sizes(), &region_error);
  ASSERT_TRUE(region) << region_error.message;
  ASSERT_TRUE(layout->write(*region));
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  int out[] = {region->rx_fd(), region->tx_fd(), event.get()};
  ASSERT_TRUE(pair.engine.send(welcome, out, 1000, &error)) << error.message;

  received = pair.host.receive(&fds, 1000, &error);
  ASSERT_TRUE(received) << error.message;
  ASSERT_EQ(fds.size(), 3u);
  for (const UniqueFd& fd : fds) EXPECT_EQ(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  auto attached = Region::attach(std::move(fds[0]), std::move(fds[1]), &region_error);
  ASSERT_TRUE(attached) << region_error.message;
  auto host_layout = RegionLayout::read(*attached, &wrong);
  ASSERT_TRUE(host_layout) << wrong;
  EXPECT_EQ(host_layout->options(), std::get<Welcome>(*received).channel);
  region->rx()[5000] = 42;
  EXPECT_EQ(attached->rx()[5000], 42);
}

TEST(ControlSocket, WaitingEndsWithANamedError) {
  Pair pair;
  ControlError error;
  std::vector<UniqueFd> fds;
  EXPECT_FALSE(pair.host.receive(&fds, 0, &error));
  EXPECT_EQ(error.code, ControlCode::kWouldBlock);
  EXPECT_FALSE(pair.host.receive(&fds, 20, &error));
  EXPECT_EQ(error.code, ControlCode::kTimeout);
  // A peer that does not read: sending ends in kWouldBlock, it does not hang.
  while (pair.engine.send(Draining{1}, 0, &error)) {
  }
  EXPECT_EQ(error.code, ControlCode::kWouldBlock);
  pair.engine.close();
  while (pair.host.receive(&fds, 0, &error)) {
  }
  EXPECT_EQ(error.code, ControlCode::kClosed);
  EXPECT_FALSE(pair.host.send(Start{}, 0, &error));
  EXPECT_EQ(error.code, ControlCode::kClosed);
}

TEST(ControlSocket, UninvitedDescriptorsAreAnErrorAndTheCallersToClose) {
  Pair pair;
  ControlError error;
  std::string start = encode_control(Start{}, &error);
  std::string image = encode_control(RegisterImage{4}, &error);
  UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  size_t before = open_descriptors();
  std::vector<UniqueFd> fds;
  for (size_t count : {1, 2, 60, 253}) {  // 253 is what the kernel allows: it closes none of them in this thread
    send_raw_packet(pair.host.fd(), start, std::vector<int>(count, event.get()));
    EXPECT_FALSE(pair.engine.receive(&fds, 1000, &error));
    EXPECT_EQ(error.code, ControlCode::kBadDescriptor) << error.message;
    EXPECT_EQ(fds.size(), count);
  }
  send_raw_packet(pair.host.fd(), image, {});
  EXPECT_FALSE(pair.engine.receive(&fds, 1000, &error));
  EXPECT_EQ(error.code, ControlCode::kBadDescriptor);
  EXPECT_NE(error.message.find("0 descriptors, expected 1"), std::string::npos) << error.message;
  send_raw_packet(pair.host.fd(), "garbage", {event.get()});
  EXPECT_FALSE(pair.engine.receive(&fds, 1000, &error));
  EXPECT_EQ(error.code, ControlCode::kBadPacket);
  EXPECT_EQ(fds.size(), 1u);
  fds.clear();
  EXPECT_EQ(open_descriptors(), before);
  // The connection itself has survived all that.
  ASSERT_TRUE(pair.host.send(Start{}, 1000, &error));
  EXPECT_TRUE(pair.engine.receive(&fds, 1000, &error)) << error.message;
}

TEST(ControlSocket, OversizedPacketsAreRefused) {
  Pair pair;
  ControlError error;
  std::vector<UniqueFd> fds;
  send_raw_packet(pair.host.fd(), std::string(kMaxControlPacket + 1, 'D'), {});
  EXPECT_FALSE(pair.engine.receive(&fds, 1000, &error));
  EXPECT_EQ(error.code, ControlCode::kBadPacket);
}

TEST(ControlSocket, AnErrorCarriesItsNameAndText) {
  Pair pair;
  ControlError error;
  std::vector<UniqueFd> fds;
  pair.engine.send_error({ControlCode::kAddressInUse, std::string(10'000, 'x')}, ControlType::kListen);
  auto received = pair.host.receive(&fds, 1000, &error);
  ASSERT_TRUE(received) << error.message;
  auto& what = std::get<Error>(*received);
  EXPECT_EQ(what.code, ControlCode::kAddressInUse);
  EXPECT_EQ(what.in_reply_to, ControlType::kListen);
  EXPECT_EQ(what.text.size(), kMaxControlString);
}

class ControlListenerTest : public testing::TestWithParam<std::string> {
 protected:
  std::string address() const {
    std::string unique = std::to_string(::getpid());
    return GetParam() + (GetParam().find('@') != std::string::npos ? "drover-test-" : "/tmp/drover-test-") + unique;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, ControlListenerTest, testing::Values("unix:", "unix:@"));

TEST_P(ControlListenerTest, HostsConnectByAddress) {
  ControlError error;
  auto listener = ControlListener::listen(address(), &error);
  ASSERT_TRUE(listener) << error.message;
  EXPECT_FALSE(listener->accept(0, &error));
  EXPECT_EQ(error.code, ControlCode::kWouldBlock);
  auto host = ControlSocket::connect(address(), 1000, &error);
  ASSERT_TRUE(host) << error.message;
  auto engine = listener->accept(1000, &error);
  ASSERT_TRUE(engine) << error.message;
  EXPECT_EQ(engine->peer_pid(), ::getpid());
  std::vector<UniqueFd> fds;
  ASSERT_TRUE(host->send(Listen{"localhost:0", 0}, 1000, &error));
  auto received = engine->receive(&fds, 1000, &error);
  ASSERT_TRUE(received) << error.message;
  EXPECT_EQ(std::get<Listen>(*received).address, "localhost:0");

  EXPECT_FALSE(ControlListener::listen(address(), &error));
  EXPECT_EQ(error.code, ControlCode::kAddressInUse) << error.message;
}

TEST(ControlListenerFile, AFileLeftByADeadEngineIsReplacedAndAnotherFileIsNot) {
  std::string path = "/tmp/drover-test-stale-" + std::to_string(::getpid());
  std::string address = "unix:" + path;
  ControlError error;
  {
    // A socket file without a listener behind it.
    auto dead = ControlListener::listen(address, &error);
    ASSERT_TRUE(dead) << error.message;
    struct stat status;
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    ASSERT_EQ(::link(path.c_str(), (path + ".kept").c_str()), 0);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);  // removed by its owner
  ASSERT_EQ(::rename((path + ".kept").c_str(), path.c_str()), 0);
  {
    auto listener = ControlListener::listen(address, &error);
    EXPECT_TRUE(listener) << error.message;
  }
  UniqueFd file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  EXPECT_FALSE(ControlListener::listen(address, &error));
  EXPECT_EQ(error.code, ControlCode::kAddressInvalid);
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  ::unlink(path.c_str());
}

TEST(ControlListenerFile, ConnectingWaitsForAnEngineThatIsComingUp) {
  std::string address = "unix:@drover-test-late-" + std::to_string(::getpid());
  ControlError error;
  EXPECT_FALSE(ControlSocket::connect(address, 0, &error));
  EXPECT_EQ(error.code, ControlCode::kClosed);
  EXPECT_FALSE(ControlSocket::connect(address, 20, &error));
  EXPECT_EQ(error.code, ControlCode::kTimeout);
  std::optional<ControlListener> listener;
  std::thread engine([&] {
    ::usleep(30'000);
    ControlError ignored;
    listener = ControlListener::listen(address, &ignored);
  });
  auto host = ControlSocket::connect(address, 10'000, &error);
  engine.join();
  EXPECT_TRUE(host) << error.message;
}

TEST(ControlListenerFile, AddressesThatCannotBeAreRefused) {
  ControlError error;
  for (const std::string& address :
       {std::string(), std::string("unix:"), std::string("unix:@"), std::string("/run/drover.sock"),
        std::string("@drover"), std::string("127.0.0.1:80"), "unix:" + std::string(200, 'x'),
        std::string("unix:a\0b", 8)}) {
    EXPECT_FALSE(ControlListener::listen(address, &error));
    EXPECT_EQ(error.code, ControlCode::kAddressInvalid) << address;
    EXPECT_NE(error.message.find("expected unix:PATH or unix:@NAME"), std::string::npos) << error.message;
    EXPECT_FALSE(ControlSocket::connect(address, 0, &error));
    EXPECT_EQ(error.code, ControlCode::kAddressInvalid);
  }
}

TEST(ControlSocket, OnlySequencedPacketSocketsAreAdopted) {
  ControlError error;
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  UniqueFd other(fds[1]);
  EXPECT_FALSE(ControlSocket::adopt(UniqueFd(fds[0]), &error));
  EXPECT_EQ(error.code, ControlCode::kBadDescriptor);
}

}  // namespace
}  // namespace drover
