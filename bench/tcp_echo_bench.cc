// tcp_echo_bench: what the kernel alone costs. One thread echoes messages of a given size over loopback TCP with
// plain recv and send, and no RPC, no parsing and no second buffer: the least that any server on sockets pays for a
// message of that size, whatever it does with it.
//
//   tcp_echo_bench [--bytes N] [--connections N] [--in-flight N] [--seconds S] [--server-cpu N] [--client-cpu N]
//
// Prints messages/s and the echoing thread's CPU time a message. Compare with cpu_total of the same size in echo.json.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <ctime>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBuffer = 256 << 10;

struct Options {
  size_t bytes = 324753;
  int connections = 4;
  int in_flight = 4;
  double seconds = 2;
  int server_cpu = 0;
  int client_cpu = 1;
};

double thread_cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
    std::fprintf(stderr, "tcp_echo_bench: cannot pin to CPU %d; figures are of a thread that moves\n", cpu);
  }
}

// Sockets of one side, and how many bytes each may still send.
class Side {
 public:
  explicit Side(const std::vector<int>& sockets) : sockets_(sockets), to_send_(sockets.size()) {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    for (uint32_t i = 0; i < sockets.size(); ++i) {
      epoll_event event{EPOLLIN | EPOLLOUT | EPOLLET, {.u32 = i}};
      epoll_ctl(epoll_, EPOLL_CTL_ADD, sockets[i], &event);
    }
  }
  ~Side() { close(epoll_); }
  void allow(uint32_t i, size_t bytes) { to_send_[i] += bytes; }

  // Moves what can be moved; `received(socket, bytes)` says how many bytes the socket may send for them.
  template <typename Received>
  void turn(Received received) {
    epoll_event events[64];
    int count = epoll_wait(epoll_, events, 64, 50);
    for (int k = 0; k < count; ++k) {
      uint32_t i = events[k].data.u32;
      while (move(i, received)) {
      }
    }
  }

 private:
  template <typename Received>
  bool move(uint32_t i, Received received) {
    bool moved = false;
    ssize_t got = recv(sockets_[i], buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got > 0) {
      allow(i, received(i, static_cast<size_t>(got)));
      moved = true;
    }
    while (to_send_[i] != 0) {
      ssize_t sent = send(sockets_[i], buffer_.data(), std::min(to_send_[i], kBuffer), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent <= 0) break;
      to_send_[i] -= static_cast<size_t>(sent);
      moved = true;
    }
    return moved;
  }

  std::vector<int> sockets_;
  std::vector<size_t> to_send_;
  std::vector<char> buffer_ = std::vector<char>(kBuffer);
  int epoll_;
};

bool connect_pairs(int count, std::vector<int>* servers, std::vector<int>* clients) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener, count) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return false;
  }
  for (int i = 0; i < count; ++i) {
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(client, reinterpret_cast<sockaddr*>(&address), size) != 0) return false;
    int server = accept(listener, nullptr, nullptr);
    if (server < 0) return false;
    int on = 1;
    for (int fd : {client, server}) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    clients->push_back(client);
    servers->push_back(server);
  }
  close(listener);
  return true;
}

int run(const Options& options) {
  std::vector<int> server_sockets, client_sockets;
  if (!connect_pairs(options.connections, &server_sockets, &client_sockets)) {
    std::perror("tcp_echo_bench: loopback sockets");
    return 1;
  }
  std::atomic<bool> stop{false};
  uint64_t echoed_bytes = 0;
  double cpu_seconds = 0;
  std::thread server([&] {
    pin(options.server_cpu);
    Side side(server_sockets);
    double start = thread_cpu_seconds();
    while (!stop) {
      side.turn([&](uint32_t, size_t bytes) {
        echoed_bytes += bytes;
        return bytes;
      });
    }
    cpu_seconds = thread_cpu_seconds() - start;
  });
  std::thread client([&] {
    pin(options.client_cpu);
    Side side(client_sockets);
    for (uint32_t i = 0; i < client_sockets.size(); ++i) side.allow(i, options.bytes * options.in_flight);
    while (!stop) side.turn([](uint32_t, size_t bytes) { return bytes; });
  });
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  stop = true;
  server.join();
  client.join();
  double messages = static_cast<double>(echoed_bytes) / static_cast<double>(options.bytes);
  std::printf("%zu bytes, %d x %d: %.0f messages/s, %.2f us CPU a message\n", options.bytes, options.connections,
              options.in_flight, messages / options.seconds, cpu_seconds / messages * 1e6);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What an echo over loopback TCP costs with no RPC at all");
  app.add_option("--bytes", options.bytes, "size of a message")->check(CLI::PositiveNumber);
  app.add_option("--connections", options.connections)->check(CLI::Range(1, 1000));
  app.add_option("--in-flight", options.in_flight, "messages on the way, each connection")->check(CLI::Range(1, 1000));
  app.add_option("--seconds", options.seconds)->check(CLI::PositiveNumber);
  app.add_option("--server-cpu", options.server_cpu);
  app.add_option("--client-cpu", options.client_cpu);
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
