// core_costs: what the operations of an RPC line's port cost a core of this machine, as a [cores] table for a system
// file of `drover sim` (sim/platform/core.h). Part of `make fit-cpu-costs`.
//
//   poll   a look at a ring with nothing new, by the server's loop
//   push   RpcClient::begin of a line, into a ring whose other end is on the same core: the store's trip to another
//   core
//          is the store buffer's
//   take   what is left of a call: two pinned threads, client and server, echo 48 bytes as fast as they can over two
//          rings; a call costs each of them a push and a take, so that 1 / throughput is the sum of both
//
// Medians of several rounds; a round in which the kernel took a thread off its CPU is made again.
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "host/lines/ring_port.h"
#include "host/lines/rpc_client.h"
#include "host/lines/rpc_server.h"

namespace {

using namespace drover;
using Client = lines::BasicRpcClient<lines::RingPort>;
using Server = lines::BasicServerThread<lines::RingPort>;

constexpr uint32_t kSlots = 256;
constexpr uint64_t kCalls = 5'000;  // under 1 ms: short, to fit between what else the kernel does
constexpr int kRounds = 21, kMostRepeats = 200;

struct Ring {
  std::vector<Slot> slots = std::vector<Slot>(kSlots);
  ConsumerPosition position{};
  RingProducer producer() { return {slots.data(), kSlots, &position}; }
  RingConsumer consumer() { return {slots.data(), kSlots, &position}; }
};

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (::pthread_setaffinity_np(::pthread_self(), sizeof set, &set) != 0) std::perror("pthread_setaffinity_np");
}
long preemptions() {
  rusage usage;
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}
double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

lines::RpcThreadedServer echo_server() {
  lines::RpcThreadedServer server;
  server.handle(0, [](const lines::Request& request, lines::Response& response) {
    response.copy(request.arguments);
    return lines::kStatusOk;
  });
  return server;
}
const std::byte kRequest[kLineArguments] = {};

double poll_round() {
  Ring in, out;
  lines::RpcThreadedServer handlers = echo_server();
  lines::RingPort port(out.producer(), in.consumer());
  Server server(&handlers, &port);
  double began = now_ns();
  for (uint64_t i = 0; i < kCalls; ++i) server.serve(16);
  return (now_ns() - began) / kCalls;
}

double push_round() {
  Ring in, out;
  lines::RingPort port(out.producer(), in.consumer());
  Client client(&port, 0, {.window = 65536});
  RingConsumer drain = out.consumer();
  double spent = 0;
  uint64_t pushed = 0;
  Slot slot;
  while (pushed < 60'000) {
    double began = now_ns();
    for (uint32_t i = 0; i < kSlots / 2; ++i) pushed += client.begin(0, kRequest, i) == lines::BeginResult::kOk ? 1 : 0;
    spent += now_ns() - began;
    while (drain.try_pop(slot)) {
    }
    drain.publish();
  }
  return spent / static_cast<double>(pushed);
}

// The time of a call with both threads at work; 0: disturbed.
double call_round() {
  Ring requests, responses;
  lines::RpcThreadedServer handlers = echo_server();
  std::atomic<bool> ready{false}, stop{false};
  std::atomic<long> server_preempted{0};
  std::thread other([&] {
    pin(1);
    lines::RingPort port(responses.producer(), requests.consumer());
    Server server(&handlers, &port);
    long before = preemptions();
    ready = true;
    while (!stop.load(std::memory_order_relaxed)) server.serve(16);
    server_preempted = preemptions() - before;
  });
  pin(0);
  while (!ready) {  // its move to the other CPU interrupts this one
  }
  lines::RingPort port(requests.producer(), responses.consumer());
  Client client(&port, 0, {.window = 64});
  long before = preemptions();
  uint64_t ended = 0;
  double began = 0;
  auto count = [&](const lines::Completion&) { ++ended; };
  for (bool warm = false; ended < kCalls;) {
    if (!warm && ended >= kCalls / 10) {
      warm = true;
      ended = 0;
      began = now_ns();
    }
    while (client.begin(0, kRequest, 0) == lines::BeginResult::kOk) {
    }
    client.poll(16, count);
  }
  double took = (now_ns() - began) / static_cast<double>(ended);
  long preempted = preemptions() - before;
  stop = true;
  other.join();
  return preempted + server_preempted == 0 ? took : 0;
}

double median_of(const std::function<double()>& round) {
  std::vector<double> all;
  for (int i = 0; i < kRounds + kMostRepeats && all.size() < kRounds; ++i) {
    double took = round();
    if (took > 0) all.push_back(took);
  }
  if (all.size() < kRounds) return 0;
  std::nth_element(all.begin(), all.begin() + kRounds / 2, all.end());
  return all[kRounds / 2];
}

}  // namespace

int main() {
  if (std::thread::hardware_concurrency() < 2) return std::fputs("core_costs needs two CPUs\n", stderr), 1;
  double poll = median_of(poll_round), push = median_of(push_round), call = median_of(call_round);
  if (call == 0) return std::fputs("core_costs: the machine is too busy: every round was disturbed\n", stderr), 1;
  std::printf("[cores]  # a call costs %.1f ns: %.1f million calls/s of a core\n", call, 1e3 / call);
  std::printf("source = \"measured by make fit-cpu-costs\"\n");
  std::printf("push = \"%.0fps\"\ntake = \"%.0fps\"\npoll = \"%.0fps\"\n", push * 1e3, std::max(call - push, 0.0) * 1e3,
              poll * 1e3);
  return 0;
}
