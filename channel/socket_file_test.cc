#include "channel/socket_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace drover {
namespace {

UniqueFd make_socket(int type = SOCK_STREAM) { return UniqueFd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)); }

// 0, or why not.
int connect_to(const std::string& path, int type = SOCK_STREAM) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  UniqueFd socket = make_socket(type | SOCK_NONBLOCK);
  return ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

class SocketFileTest : public testing::Test {
 protected:
  SocketFileTest() {
    char name[] = "/tmp/socket_file.XXXXXX";
    directory = ::mkdtemp(name);
    path = directory + "/s";
  }
  ~SocketFileTest() override { std::filesystem::remove_all(directory); }

  // A socket file whose process has ended.
  void leave_a_dead_socket(int type = SOCK_STREAM) {
    UniqueFd socket = make_socket(type);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(socket.get(), 1), 0);
  }
  int listen_error(const std::string& at) {
    UniqueFd socket = make_socket();
    SocketFile file;
    SocketFileError error;
    bool listens = file.listen(socket.get(), at, 4, &error);
    EXPECT_EQ(listens, error.os_error == 0);
    if (!listens) {
      EXPECT_NE(error.message.find(at), std::string::npos) << error.message;
    }
    return error.os_error;
  }

  std::string directory, path;
};

TEST_F(SocketFileTest, ListensAndRemovesItsName) {
  {
    UniqueFd socket = make_socket();
    SocketFile file;
    SocketFileError error;
    ASSERT_TRUE(file.listen(socket.get(), path, 4, &error)) << error.message;
    EXPECT_EQ(connect_to(path), 0);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SocketFileTest, TakesThePlaceOfADeadSocketOfAnyType) {
  for (int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    leave_a_dead_socket(type);
    EXPECT_EQ(listen_error(path), 0);
  }
}

TEST_F(SocketFileTest, ASocketThatSomebodyListensAtStays) {
  for (int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    UniqueFd socket = make_socket(type);
    SocketFile file;
    SocketFileError error;
    ASSERT_TRUE(file.listen(socket.get(), path, 4, &error)) << error.message;
    EXPECT_EQ(listen_error(path), EADDRINUSE);
    EXPECT_FALSE(remove_dead_socket(path));
    EXPECT_EQ(connect_to(path, type), 0);
  }
}

TEST_F(SocketFileTest, AFileADirectoryAndALinkStay) {
  std::ofstream(path) << "precious";
  EXPECT_EQ(listen_error(path), ENOTSOCK);
  EXPECT_FALSE(remove_dead_socket(path));
  std::string content;
  std::ifstream(path) >> content;
  EXPECT_EQ(content, "precious");

  std::string inner = directory + "/d";
  std::filesystem::create_directory(inner);
  EXPECT_EQ(listen_error(inner), ENOTSOCK);
  EXPECT_TRUE(std::filesystem::is_directory(inner));

  std::string link = directory + "/l";
  for (const std::string& target : {path, directory + "/nothing"}) {  // to a file, and to nothing
    std::filesystem::create_symlink(target, link);
    EXPECT_EQ(listen_error(link), ENOTSOCK);
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    std::filesystem::remove(link);
  }
  EXPECT_FALSE(std::filesystem::exists(directory + "/nothing"));
}

TEST_F(SocketFileTest, ALinkToADeadSocketStaysAndSoDoesTheSocket) {
  leave_a_dead_socket();
  std::string link = directory + "/l";
  std::filesystem::create_symlink(path, link);
  EXPECT_EQ(listen_error(link), ENOTSOCK);
  EXPECT_FALSE(remove_dead_socket(link));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_socket(path));
  EXPECT_TRUE(remove_dead_socket(path));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SocketFileTest, WhatHasTakenItsPlaceIsNotRemovedWithIt) {
  UniqueFd socket = make_socket(), other_socket = make_socket();
  SocketFile file, other;
  SocketFileError error;
  ASSERT_TRUE(file.listen(socket.get(), path, 4, &error)) << error.message;
  socket.reset();  // as an acceptor does before the name goes; the inode's number is not used again
  ASSERT_TRUE(other.listen(other_socket.get(), path, 4, &error)) << error.message;
  file.remove();
  EXPECT_EQ(connect_to(path), 0);
  std::filesystem::remove(path);
  std::ofstream(path) << "precious";
  other.remove();
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

TEST_F(SocketFileTest, OfManyThatStartAtOnceOneListensAndStaysReachable) {
  for (int round = 0; round < 200; ++round) {
    leave_a_dead_socket();
    constexpr int kMany = 4;
    std::vector<UniqueFd> sockets(kMany);
    std::vector<SocketFile> files(kMany);
    std::atomic<int> listening{0}, ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kMany; ++i) {
      threads.emplace_back([&, i] {
        sockets[i] = make_socket();
        SocketFileError error;
        for (++ready; ready < kMany;) std::this_thread::yield();
        if (files[i].listen(sockets[i].get(), path, 4, &error)) ++listening;
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(listening, 1);
    ASSERT_EQ(connect_to(path), 0);
  }
}

TEST_F(SocketFileTest, ALockThatSomebodyHoldsCostsLittleTimeAndNoFile) {
  leave_a_dead_socket();
  UniqueFd held(::open(directory.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(listen_error(path), EADDRINUSE);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  EXPECT_TRUE(std::filesystem::is_socket(path));
}

TEST_F(SocketFileTest, NamesThatCannotBeAreErrors) {
  EXPECT_EQ(listen_error(directory + "/no/such/directory"), ENOENT);
  EXPECT_EQ(listen_error(directory + "/" + std::string(200, 'x')), ENAMETOOLONG);
  EXPECT_NE(listen_error(directory + "/"), 0);
}

}  // namespace
}  // namespace drover
