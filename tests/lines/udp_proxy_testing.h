// UdpProxy: a bad network between two engines on one machine: relays datagrams both ways, and loses, repeats and holds
// back some of them, by a seeded random generator. It records what it has relayed, for replays.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "object/unique_fd.h"

namespace drover::lines {

inline sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}
// A UDP socket on the loopback; *port is its own.
inline UniqueFd loopback_socket(uint16_t* port) {
  UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  *port = ntohs(address.sin_port);
  return fd;
}
// One that nothing uses now.
inline uint16_t free_udp_port() {
  uint16_t port = 0;
  loopback_socket(&port);
  return port;
}

class UdpProxy {
 public:
  struct Weather {
    int loss = 0, repeat = 0, hold = 0;  // per cent
  };
  struct Datagram {
    bool to_server;
    uint16_t client;  // port of the engine that has opened the link
    std::vector<char> bytes;
  };

  UdpProxy(uint16_t server, const Weather& weather, uint32_t seed = 1)
      : server_(server), weather_(weather), random_(seed), front_(loopback_socket(&port_)) {
    thread_ = std::thread([this] { run(); });
  }
  ~UdpProxy() {
    stop_ = true;
    thread_.join();
  }
  uint16_t port() const { return port_; }
  void cut(bool on) { cut_ = on; }  // nothing passes
  std::vector<Datagram> recorded() {
    std::lock_guard lock(mutex_);
    return recorded_;
  }
  // Once more, from the address that it came from.
  void replay(const Datagram& datagram) {
    std::lock_guard lock(mutex_);
    send(datagram);
  }

 private:
  void run() {
    while (!stop_) {
      std::vector<pollfd> fds{{front_.get(), POLLIN, 0}};
      std::vector<uint16_t> clients{0};
      for (auto& [client, back] : backs_) {
        fds.push_back({back.get(), POLLIN, 0});
        clients.push_back(client);
      }
      const int ready = ::poll(fds.data(), fds.size(), held_.empty() ? 20 : 1);
      std::lock_guard lock(mutex_);
      if (ready == 0) {
        for (const Datagram& each : std::exchange(held_, {})) send(each);
      }
      for (size_t i = 0; i < fds.size(); ++i) {
        if (fds[i].revents != 0) take(fds[i].fd, i == 0, clients[i]);
      }
    }
  }
  void take(int fd, bool to_server, uint16_t client) {
    char bytes[2048];
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const ssize_t got = ::recvfrom(fd, bytes, sizeof bytes, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 0 || cut_) return;
    if (to_server) client = ntohs(from.sin_port);
    Datagram datagram{to_server, client, {bytes, bytes + got}};
    if (recorded_.size() < 20'000) recorded_.push_back(datagram);
    if (chance(weather_.loss)) return;
    if (chance(weather_.repeat)) send(datagram);
    if (chance(weather_.hold)) {
      held_.push_back(std::move(datagram));
      return;
    }
    send(datagram);
    if (held_.size() > 3) {
      for (const Datagram& each : std::exchange(held_, {})) send(each);
    }
  }
  void send(const Datagram& datagram) {
    UniqueFd& back = backs_[datagram.client];
    uint16_t port;
    if (!back) back = loopback_socket(&port);
    const sockaddr_in to = loopback(datagram.to_server ? server_ : datagram.client);
    ::sendto(datagram.to_server ? back.get() : front_.get(), datagram.bytes.data(), datagram.bytes.size(), 0,
             reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  bool chance(int per_cent) { return static_cast<int>(random_() % 100) < per_cent; }

  const uint16_t server_;
  const Weather weather_;
  std::mt19937 random_;
  uint16_t port_ = 0;
  UniqueFd front_;
  std::map<uint16_t, UniqueFd> backs_;  // a socket towards the server for each client
  std::vector<Datagram> held_, recorded_;
  std::mutex mutex_;
  std::atomic<bool> stop_{false}, cut_{false};
  std::thread thread_;
};

}  // namespace drover::lines
