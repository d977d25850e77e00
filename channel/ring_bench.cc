// ring_bench: what a round trip over a pair of Drover's rings costs, against the least that two cores can do.
//
// Two pinned threads. "ring" sends a 64-byte slot over one ring and gets one back over another; "ping-pong" does the
// same with bare 64-bit words, each alone on its cache line and written by one side only (two lines), or with one
// word that both write (one line). All of them pause between looks, which makes each of them faster. The peers run
// interleaved, round after round, so that what else happens on the machine hits them alike; a measurement during which
// the kernel took one of the threads off its CPU is made again. The table shows the median and the quietest round of
// each.
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "channel/doorbell.h"
#include "channel/ring.h"

namespace {

using namespace drover;

struct Options {
  int cpus[2] = {0, 1};
  uint32_t capacity = ChannelOptions{}.ring_slots;
  int rounds = 201;
  uint64_t trips = 2'000;       // a round trip measurement; short, to fit between two ticks of a busy machine
  uint64_t messages = 100'000;  // a one-way measurement
  std::string json;
};

bool pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set) == 0;
}

long preemptions() {
  rusage usage;
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

constexpr int kMostRepeats = 50;
int repeats_in_all = 0;

// Runs `near` here and `far` on the other CPU, both from a common start; the time that `near` took, in ns, and
// whether both threads kept their CPUs.
double run_once(const Options& options, const std::function<void()>& near, const std::function<void()>& far,
                bool* undisturbed) {
  std::atomic<int> arrived{0};
  long far_preempted = 0;
  auto meet = [&](int expected) {
    arrived.fetch_add(1);
    while (arrived.load() < expected) cpu_relax();
  };
  std::thread other([&] {
    pin(options.cpus[1]);
    meet(2);  // the new thread has moved to its CPU
    long before = preemptions();
    meet(4);
    far();
    far_preempted = preemptions() - before;
  });
  meet(2);
  long before = preemptions();
  meet(4);
  int64_t start = monotonic_ns();
  near();
  int64_t took = monotonic_ns() - start;
  long near_preempted = preemptions() - before;
  other.join();
  *undisturbed = near_preempted + far_preempted == 0;
  return static_cast<double>(took);
}

// `measure` sets up fresh shared memory and calls run_once. The first undisturbed result.
double repeat_until_undisturbed(const std::function<double(bool*)>& measure) {
  bool undisturbed = false;
  double result = measure(&undisturbed);
  for (int i = 0; i < kMostRepeats && !undisturbed; ++i, ++repeats_in_all) result = measure(&undisturbed);
  return result;
}

struct alignas(128) Line {
  std::atomic<uint64_t> word{0};
};

double two_lines(const Options& options, bool* undisturbed) {
  Line there, back;
  auto near = [&] {
    for (uint64_t i = 1; i <= options.trips; ++i) {
      there.word.store(i, std::memory_order_release);
      while (back.word.load(std::memory_order_acquire) != i) {
        cpu_relax();
      }
    }
  };
  auto far = [&] {
    for (uint64_t i = 1; i <= options.trips; ++i) {
      while (there.word.load(std::memory_order_acquire) != i) {
        cpu_relax();
      }
      back.word.store(i, std::memory_order_release);
    }
  };
  return run_once(options, near, far, undisturbed) / static_cast<double>(options.trips);
}

double one_line(const Options& options, bool* undisturbed) {
  Line line;
  auto side = [&](uint64_t parity) {
    for (uint64_t i = parity; i < 2 * options.trips; i += 2) {
      while (line.word.load(std::memory_order_acquire) != i) {
        cpu_relax();
      }
      line.word.store(i + 1, std::memory_order_release);
    }
  };
  auto near = [&] {
    side(0);
    while (line.word.load(std::memory_order_acquire) != 2 * options.trips) cpu_relax();
  };
  return run_once(options, near, [&] { side(1); }, undisturbed) / static_cast<double>(options.trips);
}

// A ring's shared memory, page-aligned as in a region. Each thread makes its own end, on its own stack, as two
// processes would: ends that lie side by side would share cache lines.
struct Ring {
  explicit Ring(uint32_t capacity)
      : slots(static_cast<Slot*>(std::aligned_alloc(4096, kSlotSize * capacity)), &std::free),
        position(new ConsumerPosition{}) {
    for (uint32_t i = 0; i < capacity; ++i) new (&slots.get()[i]) Slot{};
    slot_count = capacity;
  }
  RingProducer producer() { return {slots.get(), slot_count, position.get()}; }
  RingConsumer consumer() { return {slots.get(), slot_count, position.get()}; }
  std::unique_ptr<Slot, decltype(&std::free)> slots;
  std::unique_ptr<ConsumerPosition> position;
  uint32_t slot_count = 0;
};

// `bells`: also what a batch of one pays for looking whether the other side sleeps.
double ring_round_trip(const Options& options, bool bells, bool* undisturbed) {
  Ring there(options.capacity), back(options.capacity);
  WorkerShared awake[2] = {};  // a line each, never written
  auto near = [&] {
    RingProducer out = there.producer();
    RingConsumer in = back.consumer();
    Slot slot;
    for (uint64_t i = 0; i < options.trips; ++i) {
      __builtin_memcpy(slot.body + 2, &i, sizeof i);
      out.try_push(slot);
      if (bells) wake_worker(awake[0]);
      while (!in.try_pop(slot)) {
        cpu_relax();
      }
    }
  };
  auto far = [&] {
    RingProducer out = back.producer();
    RingConsumer in = there.consumer();
    Slot slot;
    for (uint64_t i = 0; i < options.trips; ++i) {
      while (!in.try_pop(slot)) {
        cpu_relax();
      }
      out.try_push(slot);
      if (bells) wake_worker(awake[1]);
    }
  };
  return run_once(options, near, far, undisturbed) / static_cast<double>(options.trips);
}

double one_way(const Options& options, bool* undisturbed) {
  Ring ring(options.capacity);
  auto near = [&] {
    RingProducer out = ring.producer();
    Slot slot;
    for (uint64_t i = 0; i < options.messages;) {
      __builtin_memcpy(slot.body + 2, &i, sizeof i);
      i += out.try_push(slot) == PushResult::kOk ? 1 : 0;
    }
    while (ring.position->position.load() + options.capacity / 4 < options.messages) cpu_relax();
  };
  auto far = [&] {
    RingConsumer in = ring.consumer();
    Slot slot;
    for (uint64_t i = 0; i < options.messages;) i += in.try_pop(slot) ? 1 : 0;
  };
  return run_once(options, near, far, undisturbed) / static_cast<double>(options.messages);
}

struct Series {
  const char* name;
  std::function<double(bool*)> measure;
  std::vector<double> ns;
  double median() const {
    std::vector<double> sorted = ns;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  double quietest() const { return *std::min_element(ns.begin(), ns.end()); }
};

int write_json(const std::string& path, double ring, double ping_pong, double one_line_ns, double messages) {
  FILE* out = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  if (out == nullptr) {
    std::perror(path.c_str());
    return 1;
  }
  std::fprintf(out,
               "{\"ring_rtt_ns\": %.1f, \"ping_pong_rtt_ns\": %.1f, \"ping_pong_one_line_rtt_ns\": %.1f, "
               "\"one_way_msgs_per_s\": %.0f}\n",
               ring, ping_pong, one_line_ns, messages);
  return out == stdout || std::fclose(out) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<int> cpus{0, 1};
  CLI::App app("Round trip and throughput of Drover's rings between two pinned threads");
  app.add_option("--cpus", cpus, "the two CPUs")->expected(2)->delimiter(',')->capture_default_str();
  app.add_option("--slots", options.capacity, "slots of a ring, a power of two")->capture_default_str();
  app.add_option("--rounds", options.rounds, "interleaved rounds")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--trips", options.trips, "round trips a measurement")->check(CLI::PositiveNumber);
  app.add_option("--messages", options.messages, "messages a one-way measurement")->check(CLI::PositiveNumber);
  app.add_option("--json", options.json, "write the medians to this file (- is the standard output)");
  CLI11_PARSE(app, argc, argv);
  if (!std::has_single_bit(options.capacity) || options.capacity < kMinRingSlots) {
    std::fprintf(stderr, "--slots is %u, expected a power of two from %u\n", options.capacity, kMinRingSlots);
    return 2;
  }
  options.cpus[0] = cpus[0];
  options.cpus[1] = cpus[1];
  if (cpus[0] == cpus[1] || !pin(cpus[1]) || !pin(cpus[0])) {
    std::fprintf(stderr, "--cpus %d,%d: expected two different CPUs that this process may use\n", cpus[0], cpus[1]);
    return 2;
  }

  Series series[] = {
      {"ping-pong, two lines", [&](bool* u) { return two_lines(options, u); }, {}},
      {"ring", [&](bool* u) { return ring_round_trip(options, false, u); }, {}},
      {"ring, looking at bells", [&](bool* u) { return ring_round_trip(options, true, u); }, {}},
      {"ping-pong, one line", [&](bool* u) { return one_line(options, u); }, {}},
      {"ring, one way", [&](bool* u) { return one_way(options, u); }, {}},
  };
  auto& [two, ring, bells, one, way] = series;
  for (auto& each : series) repeat_until_undisturbed(each.measure);  // warm
  for (int round = 0; round < options.rounds; ++round) {
    for (auto& each : series) each.ns.push_back(repeat_until_undisturbed(each.measure));
  }
  FILE* table = options.json == "-" ? stderr : stdout;
  std::fprintf(table, "CPUs %d and %d, %d rounds (%d disturbed measurements made again)\n%-24s %12s %12s %10s %10s\n",
               cpus[0], cpus[1], options.rounds, repeats_in_all, "round trip of 64 bytes", "median ns", "quietest ns",
               "ratio", "quietest");
  for (const Series* each : {&two, &one, &ring, &bells}) {
    std::fprintf(table, "%-24s %12.1f %12.1f %10.2f %10.2f\n", each->name, each->median(), each->quietest(),
                 each->median() / two.median(), each->quietest() / two.quietest());
  }
  std::fprintf(table, "%-24s %12.1f %12.1f   (%.1f M messages/s)\n", way.name, way.median(), way.quietest(),
               1e3 / way.median());
  std::fprintf(table, "ratio: to the ping-pong of two lines, the one with a line each way as the rings have\n");
  if (options.json.empty()) return 0;
  return write_json(options.json, ring.median(), two.median(), one.median(), 1e9 / way.median());
}
