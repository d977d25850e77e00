// Sockets as systemd passes them: bound, listening, from some descriptor on.
#include "engine/net/activated_sockets.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <map>

namespace drover::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kFirst = 400;  // none of the test's own is there

struct Variables {
  std::map<std::string, std::string> all;
  const char* operator()(const char* name) const {
    auto found = all.find(name);
    return found == all.end() ? nullptr : found->second.c_str();
  }
};

int listening(int family, const void* address, socklen_t size, int at) {
  const int fd = ::socket(family, SOCK_STREAM, 0);
  int on = 1;
  if (family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  EXPECT_EQ(::bind(fd, static_cast<const sockaddr*>(address), size), 0) << std::strerror(errno);
  EXPECT_EQ(::listen(fd, 8), 0);
  EXPECT_EQ(::dup2(fd, at), at);
  ::close(fd);
  return at;
}

uint16_t listening_any(int family, uint16_t port, int at) {
  sockaddr_storage storage{};
  if (family == AF_INET) {
    auto& in = reinterpret_cast<sockaddr_in&>(storage);
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
  } else {
    auto& in = reinterpret_cast<sockaddr_in6&>(storage);
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
  }
  const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  listening(family, &storage, size, at);
  socklen_t length = sizeof storage;
  ::getsockname(at, reinterpret_cast<sockaddr*>(&storage), &length);
  return ntohs(reinterpret_cast<sockaddr_in&>(storage).sin_port);  // at the same place for IPv6
}

TEST(ActivatedSockets, AreFoundByTheAddressHoweverItIsSpelled) {
  const uint16_t port = listening_any(AF_INET, 0, kFirst);
  std::vector<std::string> wrong;
  const ActivatedSockets sockets = ActivatedSockets::take(kFirst, 1, "", &wrong);
  EXPECT_THAT(wrong, IsEmpty());
  const std::string digits = std::to_string(port);
  for (const std::string& text : {"0.0.0.0:" + digits, "[::]:" + digits, "*:" + digits, "dns:///0.0.0.0:" + digits}) {
    EXPECT_THAT(sockets.at(text), ElementsAre(kFirst)) << text;
  }
  for (const std::string& text : {"127.0.0.1:" + digits, std::string("0.0.0.0:0"), std::string("unix:/x")}) {
    EXPECT_THAT(sockets.at(text), IsEmpty()) << text;
  }
}

TEST(ActivatedSockets, OfBothFamiliesAreOneAddress) {
  const uint16_t port = listening_any(AF_INET, 0, kFirst);
  listening_any(AF_INET6, port, kFirst + 1);
  std::vector<std::string> wrong;
  const ActivatedSockets sockets = ActivatedSockets::take(kFirst, 2, "four:six", &wrong);
  EXPECT_THAT(sockets.at("[::]:" + std::to_string(port)), ElementsAre(kFirst, kFirst + 1));
  EXPECT_EQ(sockets.describe(), "*:" + std::to_string(port) + " (four), *:" + std::to_string(port) + " (six)");
}

TEST(ActivatedSockets, OfUnixPathsAndAbstractNamesAreFound) {
  sockaddr_un path{}, name{};
  path.sun_family = name.sun_family = AF_UNIX;
  const std::string text = "/tmp/drover-activated-" + std::to_string(::getpid());
  std::memcpy(path.sun_path, text.c_str(), text.size() + 1);
  std::memcpy(name.sun_path + 1, text.c_str(), text.size());
  listening(AF_UNIX, &path, sizeof path, kFirst);
  listening(AF_UNIX, &name, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size()), kFirst + 1);
  std::vector<std::string> wrong;
  const ActivatedSockets sockets = ActivatedSockets::take(kFirst, 2, "", &wrong);
  EXPECT_THAT(sockets.at("unix:" + text), ElementsAre(kFirst));
  EXPECT_THAT(sockets.at("unix://" + text), ElementsAre(kFirst));
  EXPECT_THAT(sockets.at("unix-abstract:" + text), ElementsAre(kFirst + 1));
  ::unlink(text.c_str());
}

TEST(ActivatedSockets, AreNotInheritedFurtherAndDoNotBlock) {
  listening_any(AF_INET, 0, kFirst);
  std::vector<std::string> wrong;
  const ActivatedSockets sockets = ActivatedSockets::take(kFirst, 1, "", &wrong);
  EXPECT_NE(::fcntl(kFirst, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(kFirst, F_GETFL) & O_NONBLOCK, 0);
}

TEST(ActivatedSockets, WhatDoesNotListenForStreamsIsToldAndClosed) {
  const int datagrams = ::socket(AF_INET, SOCK_DGRAM, 0);
  const int unbound = ::socket(AF_INET, SOCK_STREAM, 0);
  ::dup2(datagrams, kFirst);
  ::dup2(unbound, kFirst + 1);
  ::close(datagrams);
  ::close(unbound);
  const uint16_t port = listening_any(AF_INET, 0, kFirst + 3);  // kFirst + 2 is no descriptor
  std::vector<std::string> wrong;
  const ActivatedSockets sockets = ActivatedSockets::take(kFirst, 4, "udp:", &wrong);
  EXPECT_THAT(wrong,
              ElementsAre("descriptor 400 (udp): not a listening stream socket",
                          "descriptor 401: not a listening stream socket", "descriptor 402: Bad file descriptor"));
  EXPECT_THAT(sockets.at("0.0.0.0:" + std::to_string(port)), SizeIs(1));
  EXPECT_EQ(::fcntl(kFirst, F_GETFD), -1);
}

TEST(ActivatedSockets, OfAnotherProcessAreNotTaken) {
  std::vector<std::string> wrong;
  Variables variables;
  EXPECT_TRUE(ActivatedSockets::from_environment(variables, &wrong).empty());
  variables.all = {{"LISTEN_PID", std::to_string(::getppid())}, {"LISTEN_FDS", "1"}};
  EXPECT_TRUE(ActivatedSockets::from_environment(variables, &wrong).empty());
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(ActivatedSockets, VariablesThatCannotBeAreTold) {
  const std::string self = std::to_string(::getpid());
  const std::map<std::string, std::string> cases[] = {
      {{"LISTEN_PID", "x"}, {"LISTEN_FDS", "1"}},   {{"LISTEN_PID", "-1"}, {"LISTEN_FDS", "1"}},
      {{"LISTEN_PID", self}, {"LISTEN_FDS", "-1"}}, {{"LISTEN_PID", self}, {"LISTEN_FDS", "1025"}},
      {{"LISTEN_PID", self}, {"LISTEN_FDS", ""}},   {{"LISTEN_PID", self}, {"LISTEN_FDS", "99999999999999999999"}},
  };
  for (const auto& variables : cases) {
    std::vector<std::string> wrong;
    EXPECT_TRUE(ActivatedSockets::from_environment(Variables{variables}, &wrong).empty());
    EXPECT_THAT(wrong, ElementsAre(HasSubstr("LISTEN_")));
  }
}

}  // namespace
}  // namespace drover::engine
