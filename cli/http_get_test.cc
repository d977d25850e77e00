#include "cli/http_get.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "object/unique_fd.h"

namespace drover::cli {
namespace {

using testing::HasSubstr;

// Takes one connection and sends `text`; then, if it drips, a byte each 20 ms until the client is gone.
class Server {
 public:
  Server(std::string text, bool drips) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), generic, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener_.get(), generic, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, text = std::move(text), drips] {
      const UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
      char request[1024];
      EXPECT_GT(::recv(client.get(), request, sizeof request, 0), 0);
      ::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
      while (drips && ::send(client.get(), "x", 1, MSG_NOSIGNAL) == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  }
  ~Server() { thread_.join(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  UniqueFd listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

TEST(HttpGet, TheBodyIsReturned) {
  Server server("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\n", false);
  std::string body;
  EXPECT_EQ(http_get(server.address(), "/metrics", &body), "");
  EXPECT_EQ(body, "body\n");
}

TEST(HttpGet, AServerThatSendsByteByByteIsLeftInTime) {
  Server server("HTTP/1.1 200 OK\r\n\r\n", true);
  std::string body;
  EXPECT_THAT(http_get(server.address(), "/metrics", &body, 0.2), HasSubstr("no whole answer in 0.2 s"));
}

TEST(HttpGet, AStatusLineDoesNotReachATerminal) {
  Server server("HTTP/1.1 500 \x1b[2J\n\x9b\r\n\r\n", false);
  std::string body;
  EXPECT_THAT(http_get(server.address(), "/metrics", &body), HasSubstr("'HTTP/1.1 500 \\x1b[2J\\x0a\\x9b'"));
}

}  // namespace
}  // namespace drover::cli
