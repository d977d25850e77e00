// udp_lines_bench: 64-byte echoes as RPC lines between two droverd over UDP on the loopback, beside bare UDP echoes by
// sendmmsg and recvmmsg, in one run.
//
//   drover            client, engine | loopback | engine, server   a line each way; lines of a turn share datagrams
//   bare-udp          client         | loopback |         server   one message of 64 bytes a datagram, as eRPC's
//   bare-udp-batched  the same with 22 messages a datagram (1,430 bytes), as many as a link's datagrams have
//
// All have the same number of messages outstanding, move all that they can by one system call, and sleep when they have
// nothing to do; the calling side has one CPU, the serving side the other. Measured is the CPU time of all threads of
// all processes that take part, user and kernel, for each echo. Every answer is compared with its call, in all three.
//
// A measurement in which the machine was busy with others cannot be told from the counters here, since the threads
// sleep; rounds are interleaved, and the table shows the median and the quietest round of each.
// --json FILE writes rows of build/bench/dagger.json: {case, metric, unit, drover, peer, peer_name, ratio}.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "bench/lines_bench.h"
#include "object/unique_fd.h"

namespace {

using namespace drover;
using namespace drover::bench;

struct Options {
  int here_cpu = 0, there_cpu = 1;
  uint32_t window = 64;
  int rounds = 21;
  uint64_t calls = 100'000;
  int64_t engine_spin_us = 0;
  std::string io = "auto";
  std::string droverd = DROVER_DROVERD;
  std::string json;
};

// ---- drover

uint16_t free_port() {
  UniqueFd fd(::socket(AF_INET, SOCK_DGRAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) fail("no UDP port");
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

class Lines {
 public:
  explicit Lines(const Options& options)
      : at_("127.0.0.1:" + std::to_string(free_port())),
        there_(options.droverd, options.there_cpu, flags(options, "--lines.listen=" + at_)),
        here_(options.droverd, options.here_cpu, flags(options, "--lines.peers=echo=" + at_)),
        server_engine_(there_.attach(512, true)),
        client_engine_(here_.attach(512, false)) {
    serve_echoes(&handlers_);
    server_ = std::thread([this, &options] {
      pin(options.there_cpu);
      lines::ServerThread thread(&handlers_, &server_engine_->port(0));
      while (!stop_.load(std::memory_order_relaxed)) {
        if (thread.serve(options.window) == 0) server_engine_->port(0).idle();
      }
    });
    lines::RpcClientOptions wish;
    wish.window = options.window;
    client_.emplace(&client_engine_->port(0), connect(*client_engine_, 10'000'000'000), wish);
  }
  ~Lines() {
    stop_ = true;
    server_.join();
  }
  double cpu_ns() const { return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + here_.cpu_ns() + there_.cpu_ns(); }

  void run(uint64_t calls, uint32_t window) {
    run_echoes(*client_, calls, window, [&](auto& taken) {
      if (client_->poll(window, taken) == 0) client_engine_->port(0).idle();
      if (client_engine_->gone()) fail(client_engine_->failure());
    });
  }

 private:
  static std::vector<std::string> flags(const Options& options, const std::string& more) {
    return {more, "--engine.spin_us=" + std::to_string(options.engine_spin_us), "--engine.io=" + options.io};
  }
  const std::string at_;
  Droverd there_, here_;
  lines::RpcThreadedServer handlers_;
  std::unique_ptr<lines::LinesEngine> server_engine_, client_engine_;
  std::optional<lines::RpcClient> client_;
  std::atomic<bool> stop_{false};
  std::thread server_;
};

// ---- bare UDP

constexpr size_t kMessage = 64, kMostMessages = 22, kHead = 22, kMostBatch = 256;

// Datagrams for one call of sendmmsg or recvmmsg.
struct Batch {
  explicit Batch(size_t bytes) {
    for (size_t i = 0; i < kMostBatch; ++i) {
      parts[i] = {data[i].data(), bytes};
      headers[i].msg_hdr.msg_iov = &parts[i];
      headers[i].msg_hdr.msg_iovlen = 1;
    }
  }
  std::array<std::array<char, kHead + kMostMessages * kMessage>, kMostBatch> data{};
  std::array<iovec, kMostBatch> parts{};
  std::array<mmsghdr, kMostBatch> headers{};
};

// An echo of datagrams of `messages` messages each.
class BareUdp {
 public:
  BareUdp(const Options& options, size_t messages)
      : messages_(messages), bytes_(messages == 1 ? kMessage : kHead + messages * kMessage) {
    sockaddr_in ends[2];
    for (int i = 0; i < 2; ++i) {
      sockets_[i] = UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      ends[i] = sockaddr_in{};
      ends[i].sin_family = AF_INET;
      ends[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof ends[i];
      if (::bind(sockets_[i].get(), reinterpret_cast<sockaddr*>(&ends[i]), size) != 0) fail("bind");
      ::getsockname(sockets_[i].get(), reinterpret_cast<sockaddr*>(&ends[i]), &size);
      int buffer = 4 << 20;
      ::setsockopt(sockets_[i].get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    }
    for (int i = 0; i < 2; ++i) {
      if (::connect(sockets_[i].get(), reinterpret_cast<sockaddr*>(&ends[1 - i]), sizeof ends[0]) != 0) fail("connect");
    }
    server_ = std::thread([this, cpu = options.there_cpu] {
      pin(cpu);
      serve();
    });
  }
  ~BareUdp() {
    stop_ = true;
    char end = 0;
    ::send(sockets_[0].get(), &end, 1, 0);
    server_.join();
  }

  void run(uint64_t calls, uint32_t window) {
    const size_t most = std::min<size_t>((window + messages_ - 1) / messages_, kMostBatch);
    uint64_t sent = 0, came = 0;
    while (came < calls) {
      size_t count = 0;
      for (; count < most - (sent - came) / messages_ && sent < calls; ++count) {
        for (size_t i = 0; i < messages_; ++i, ++sent) std::memcpy(at(out_, count, i), &sent, sizeof sent);
      }
      send(sockets_[0].get(), out_, count);
      const size_t got = receive(sockets_[0].get(), in_);
      for (size_t d = 0; d < got; ++d) {
        for (size_t i = 0; i < messages_; ++i, ++came) {
          if (std::memcmp(at(in_, d, i), &came, sizeof came) != 0) fail("an answer is not its message's");
        }
      }
    }
  }

 private:
  char* at(Batch& batch, size_t datagram, size_t message) const {
    return batch.data[datagram].data() + (messages_ == 1 ? 0 : kHead) + message * kMessage;
  }
  static void send(int fd, Batch& batch, size_t count) {
    for (size_t done = 0; done < count;) {
      const int n = ::sendmmsg(fd, &batch.headers[done], static_cast<unsigned>(count - done), 0);
      if (n <= 0) fail("sendmmsg");
      done += static_cast<size_t>(n);
    }
  }
  static size_t receive(int fd, Batch& batch) {
    const int n = ::recvmmsg(fd, batch.headers.data(), kMostBatch, MSG_WAITFORONE, nullptr);
    if (n <= 0) fail("recvmmsg");
    return static_cast<size_t>(n);
  }
  void serve() {
    Batch batch(bytes_);
    while (!stop_.load(std::memory_order_relaxed)) {
      const size_t count = receive(sockets_[1].get(), batch);
      if (!stop_.load(std::memory_order_relaxed)) send(sockets_[1].get(), batch, count);
    }
  }

  const size_t messages_, bytes_;
  std::array<UniqueFd, 2> sockets_;
  Batch out_{bytes_}, in_{bytes_};
  std::atomic<bool> stop_{false};
  std::thread server_;
};

std::string number(double value, const char* form) {
  char text[32];
  std::snprintf(text, sizeof text, form, value);
  return text;
}
std::string row(const char* metric, double drover, const char* peer_name, double peer) {
  return std::string("  {\"case\": \"real-udp-64B\", \"metric\": \"") + metric +
         "\", \"unit\": \"ns\", \"drover\": " + number(drover, "%.1f") + ", \"peer\": " + number(peer, "%.1f") +
         ", \"peer_name\": \"" + peer_name + "\", \"ratio\": " + number(drover / peer, "%.3f") + "}";
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("RPC lines between two engines over UDP, beside bare UDP echoes");
  app.add_option("--here-cpu", options.here_cpu, "of the client and its engine")->capture_default_str();
  app.add_option("--there-cpu", options.there_cpu, "of the server and its engine")->capture_default_str();
  app.add_option("--window", options.window, "messages outstanding, a power of two")->capture_default_str();
  app.add_option("--rounds", options.rounds, "interleaved rounds")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--calls", options.calls, "echoes of a measurement")->check(CLI::PositiveNumber);
  app.add_option("--engine-spin-us", options.engine_spin_us, "engine.spin_us of both engines")->capture_default_str();
  app.add_option("--io", options.io, "engine.io of both engines")->capture_default_str();
  app.add_option("--droverd", options.droverd, "the engine's executable")->capture_default_str();
  app.add_option("--json", options.json, "write rows to this file (- is the standard output)");
  CLI11_PARSE(app, argc, argv);
  if (!pin(options.there_cpu) || !pin(options.here_cpu)) fail("--here-cpu, --there-cpu: not this process's");

  Lines lines(options);
  BareUdp bare(options, 1), batched(options, kMostMessages);
  struct Measured {
    const char* name;
    std::function<void(uint64_t, uint32_t)> run;
    std::vector<double> cpu_ns = {}, wall_ns = {};
  };
  std::array<Measured, 3> all{
      {{"drover", [&](uint64_t calls, uint32_t window) { lines.run(calls, window); }},
       {"bare-udp", [&](uint64_t calls, uint32_t window) { bare.run(calls, window); }},
       {"bare-udp-batched", [&](uint64_t calls, uint32_t window) { batched.run(calls, window); }}}};
  // A whole number of datagrams of every kind.
  const uint64_t calls = std::max<uint64_t>(options.calls / kMostMessages, 1) * kMostMessages;
  for (int round = -1; round < options.rounds; ++round) {
    for (Measured& each : all) {
      each.run(calls / 20 / kMostMessages * kMostMessages, options.window);
      const double cpu = lines.cpu_ns();
      const auto wall = static_cast<double>(monotonic_ns());
      each.run(calls, options.window);
      const double cpu_ns = lines.cpu_ns() - cpu, wall_ns = static_cast<double>(monotonic_ns()) - wall;
      if (round < 0) continue;  // warm
      each.cpu_ns.push_back(cpu_ns / static_cast<double>(calls));
      each.wall_ns.push_back(wall_ns / static_cast<double>(calls));
    }
  }
  FILE* table = options.json == "-" ? stderr : stdout;
  std::fprintf(table,
               "client and its engine on CPU %d, server and its engine on CPU %d, window %u, %d rounds of %llu echoes\n"
               "%-20s %16s %16s %16s\n",
               options.here_cpu, options.there_cpu, options.window, options.rounds,
               static_cast<unsigned long long>(calls), "64-byte echo over UDP", "CPU ns, median", "CPU ns, quietest",
               "wall ns, median");
  auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  for (const Measured& each : all) {
    std::fprintf(table, "%-20s %16.1f %16.1f %16.1f\n", each.name, median(each.cpu_ns),
                 *std::min_element(each.cpu_ns.begin(), each.cpu_ns.end()), median(each.wall_ns));
  }
  const double drover = median(all[0].cpu_ns), peer = median(all[1].cpu_ns), batch = median(all[2].cpu_ns);
  std::fprintf(table, "drover / bare-udp: %.3f (goal: 1.3); drover / bare-udp-batched: %.3f\n", drover / peer,
               drover / batch);
  if (options.json.empty()) return 0;
  FILE* out = options.json == "-" ? stdout : std::fopen(options.json.c_str(), "w");
  if (out == nullptr) fail("cannot write " + options.json);
  std::fprintf(out, "[\n%s,\n%s\n]\n", row("cpu_total", drover, "bare-udp", peer).c_str(),
               row("cpu_total_batched", drover, "bare-udp-batched", batch).c_str());
  return 0;
}
