// lines_bench: calls as RPC lines through droverd over shared memory, beside the bare ring that they travel in,
// measured side by side in one run.
//
//   asynchronous   a window of 64-byte echoes (one line there, one line back): CPU time of the hosts' thread for a call
//   stub           the same by the client and the server generated from lines_bench.proto: five members are set and
//                  compared on both sides; calls by tag, and calls with callbacks
//   round trip     one call at a time: client -> engine -> server -> engine -> client; and a slot over a bare ring
//                  to the other CPU and back
//
// Three actors and, on a small machine, two CPUs: the client and the server take turns on one thread (--host-cpu), each
// on an attachment and a port of its own, and droverd's engine thread has the other CPU (--engine-cpu). The thread's
// CPU time is that of client and server together; it never sleeps, so that time in which it looks in vain is counted,
// too. A measurement during which the kernel took one of the threads off its CPU is made again. The rounds of all peers
// are interleaved; the table shows the median and the quietest round of each.
//
// --json FILE writes rows of build/bench/dagger.json: {case, metric, unit, drover, peer, peer_name, ratio}.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/lines_bench.h"
#include "channel/doorbell.h"
#include "channel/ring.h"
#include "lines_bench.lines.pb.h"

namespace {

using namespace drover;
using namespace drover::bench;

struct Options {
  int host_cpu = 0;
  int engine_cpu = 1;
  uint32_t ring_slots = ChannelOptions{}.ring_slots;
  uint32_t window = 64;
  int rounds = 101;
  uint64_t trips = 2'000;   // a round trip measurement; short, to fit between two ticks of a busy machine
  uint64_t calls = 50'000;  // an asynchronous measurement
  std::string droverd = DROVER_DROVERD;
  std::string json;
};

double thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

long preemptions() {
  rusage usage;
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

using EchoLines = lines_bench::EchoLines;
using lines_bench::LineFixed;

constexpr std::string_view kKey = "key-of-15-bytes", kValue = "value, 15 bytes";
static_assert(sizeof(LineFixed) == kLineArguments && kKey.size() == 15 && kValue.size() == 15);

LineFixed line_of_tag(uint64_t tag) {
  LineFixed line;
  line.set_tag(tag);
  line.set_shard(static_cast<uint32_t>(tag >> 3));
  line.set_flags(static_cast<uint32_t>(tag) ^ 0x5a5a5a5a);
  if (!line.set_key(kKey) || !line.set_value(kValue)) fail("a string that does not fit");
  return line;
}
bool is_line_of_tag(const LineFixed& line, uint64_t tag) {
  return line.tag() == tag && line.shard() == static_cast<uint32_t>(tag >> 3) &&
         line.flags() == (static_cast<uint32_t>(tag) ^ 0x5a5a5a5a) && line.key() == kKey && line.value() == kValue;
}

// The generated server's side: reads each member of the request and sets each of the response.
class EchoService final : public EchoLines::Service {
 public:
  uint16_t Echo(const LineFixed& request, LineFixed* response) override {
    response->set_tag(request.tag());
    response->set_shard(request.shard());
    response->set_flags(request.flags());
    const bool good = response->set_key(request.key()) && response->set_value(request.value());
    return good ? lines::kStatusOk : lines::kStatusInternal;
  }
};

// The client and the server, which take turns on this thread. The generated client has the same connection as the
// other one: each has no call outstanding when it is the other's turn.
class Hosts {
 public:
  Hosts(const Options& options, const Droverd& droverd)
      : server_engine_(droverd.attach(options.ring_slots, true)),
        client_engine_(droverd.attach(options.ring_slots, false)),
        thread_(&handlers_, &server_engine_->port(0)) {
    serve_echoes(&handlers_);
    const uint16_t connection = connect(*client_engine_, 0);
    lines::RpcClientOptions wish;
    wish.window = options.window;
    client_.emplace(&client_engine_->port(0), connection, wish);
    if (!service_.add_to(&handlers_)) fail("the generated service finds no numbers");
    stub_.emplace(&client_engine_->port(0), connection, wish);
    if (stub_->begin_bind() != lines::BeginResult::kOk) fail("cannot ask for the server's functions");
    while (!stub_->bound()) {
      thread_.serve(1);
      stub_->poll(1);
      if (client_engine_->gone()) fail(client_engine_->failure());
    }
  }

  // As run(), by the generated client: each call ends in the visitor, or in a callback of its own.
  void run_stub(uint64_t calls, uint32_t window, bool callbacks) {
    uint64_t ended = 0;
    auto taken = [&ended](uint64_t tag, const lines::Status& status, const LineFixed& response) {
      ++ended;
      if (!status.ok() || !is_line_of_tag(response, tag)) fail("an answer is not its call's");
    };
    auto by_tag = [&](const lines::Completion& done) {
      LineFixed response;
      lines::Status status = EchoLines::Client<lines::LanePort>::FinishEcho(done, &response);
      taken(done.tag, status, response);
    };
    auto begin = [&](uint64_t tag) {
      if (!callbacks) return stub_->BeginEcho(line_of_tag(tag), tag) == lines::BeginResult::kOk;
      auto callback = [tag, taken](const lines::Status& status, const LineFixed& response) {
        taken(tag, status, response);
      };
      return stub_->AsyncEcho(line_of_tag(tag), callback) == lines::BeginResult::kOk;
    };
    keep_window(calls, window, ended, begin, [&](bool any) {
      if (any) stub_->flush();
      rest_if_none(thread_.serve(window) + stub_->poll(window, by_tag));
    });
  }

  // What the client keeps outstanding at the most: less than --window where the rings are small (Port::lines_kept).
  uint32_t window() const { return client_->window(); }

  // `window` calls outstanding, `calls` in all; each answer is compared with its call.
  void run(uint64_t calls, uint32_t window) {
    run_echoes(*client_, calls, window,
               [&](auto& taken) { rest_if_none(thread_.serve(window) + client_->poll(window, taken)); });
  }

 private:
  void rest_if_none(size_t lines) {
    if (lines != 0) return;
    cpu_relax();
    if (client_engine_->gone()) fail(client_engine_->failure());
  }

  lines::RpcThreadedServer handlers_;
  std::unique_ptr<lines::LinesEngine> server_engine_, client_engine_;
  lines::ServerThread thread_;
  std::optional<lines::RpcClient> client_;
  EchoService service_;
  std::optional<EchoLines::Client<lines::LanePort>> stub_;
};

// A ring's shared memory, page-aligned as in a region (as channel/ring_bench.cc).
struct Ring {
  explicit Ring(uint32_t capacity)
      : slots(static_cast<Slot*>(std::aligned_alloc(4096, kSlotSize * capacity)), &std::free),
        position(new ConsumerPosition{}),
        count(capacity) {
    for (uint32_t i = 0; i < capacity; ++i) new (&slots.get()[i]) Slot{};
  }
  RingProducer producer() { return {slots.get(), count, position.get()}; }
  RingConsumer consumer() { return {slots.get(), count, position.get()}; }
  std::unique_ptr<Slot, decltype(&std::free)> slots;
  std::unique_ptr<ConsumerPosition> position;
  uint32_t count;
};

// A slot to a thread on the engine's CPU and back; ns a trip. droverd's thread sleeps meanwhile.
double bare_ring(const Options& options, bool* undisturbed) {
  Ring there(options.ring_slots), back(options.ring_slots);
  std::atomic<int> arrived{0};
  long far_preempted = 0;
  auto meet = [&](int expected) {
    arrived.fetch_add(1);
    while (arrived.load() < expected) cpu_relax();
  };
  std::thread other([&] {
    pin(options.engine_cpu);
    RingProducer out = back.producer();
    RingConsumer in = there.consumer();
    Slot slot;
    meet(2);
    long before = preemptions();
    meet(4);
    for (uint64_t i = 0; i < options.trips; ++i) {
      while (!in.try_pop(slot)) cpu_relax();
      out.try_push(slot);
    }
    far_preempted = preemptions() - before;
  });
  RingProducer out = there.producer();
  RingConsumer in = back.consumer();
  Slot slot;
  meet(2);
  long before = preemptions();
  meet(4);
  int64_t start = monotonic_ns();
  for (uint64_t i = 0; i < options.trips; ++i) {
    out.try_push(slot);
    while (!in.try_pop(slot)) cpu_relax();
  }
  int64_t took = monotonic_ns() - start;
  long near_preempted = preemptions() - before;
  other.join();
  *undisturbed = near_preempted + far_preempted == 0;
  return static_cast<double>(took) / static_cast<double>(options.trips);
}

constexpr int kMostRepeats = 50;
int repeats_in_all = 0;

struct Series {
  const char* name;
  std::function<double(bool*)> measure;
  std::vector<double> ns;
  // The first undisturbed result.
  void add() {
    bool undisturbed = false;
    double result = measure(&undisturbed);
    for (int i = 0; i < kMostRepeats && !undisturbed; ++i, ++repeats_in_all) result = measure(&undisturbed);
    ns.push_back(result);
  }
  double median() const {
    std::vector<double> sorted = ns;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  double quietest() const { return *std::min_element(ns.begin(), ns.end()); }
};

void write_json(const std::string& path, double cpu, double by_tag, double by_callback, double rtt, double ring) {
  FILE* out = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  if (out == nullptr) fail("cannot write " + path);
  const char* form =
      "  {\"case\": \"real-shm-64B\", \"metric\": \"%s\", \"unit\": \"ns\", \"drover\": %.1f, \"peer\": %s, "
      "\"peer_name\": %s, \"ratio\": %s}";
  std::fputs("[\n", out);
  const std::pair<const char*, double> alone[] = {
      {"cpu_host", cpu}, {"cpu_host_stub", by_tag}, {"cpu_host_stub_callback", by_callback}};
  for (const auto& [metric, ns] : alone) {
    std::fprintf(out, form, metric, ns, "null", "null", "null");
    std::fputs(",\n", out);
  }
  char peer[32], ratio[32];
  std::snprintf(peer, sizeof peer, "%.1f", ring);
  std::snprintf(ratio, sizeof ratio, "%.3f", rtt / ring);
  std::fprintf(out, form, "rtt", rtt, peer, "\"ring\"", ratio);
  std::fputs("\n]\n", out);
  if (out != stdout && std::fclose(out) != 0) fail("cannot write " + path);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Calls as RPC lines through droverd, beside the bare ring");
  app.add_option("--host-cpu", options.host_cpu, "of the client and the server")->capture_default_str();
  app.add_option("--engine-cpu", options.engine_cpu, "of droverd's engine thread")->capture_default_str();
  app.add_option("--slots", options.ring_slots, "slots of a ring, a power of two")->capture_default_str();
  app.add_option("--window", options.window, "calls outstanding, a power of two")->capture_default_str();
  app.add_option("--rounds", options.rounds, "interleaved rounds")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--trips", options.trips, "round trips a measurement")->check(CLI::PositiveNumber);
  app.add_option("--calls", options.calls, "calls of an asynchronous measurement")->check(CLI::PositiveNumber);
  app.add_option("--droverd", options.droverd, "the engine's executable")->capture_default_str();
  app.add_option("--json", options.json, "write rows to this file (- is the standard output)");
  CLI11_PARSE(app, argc, argv);
  if (options.host_cpu == options.engine_cpu || !pin(options.engine_cpu) || !pin(options.host_cpu)) {
    fail("--host-cpu and --engine-cpu: expected two different CPUs that this process may use");
  }
  Droverd droverd(options.droverd, options.engine_cpu);
  Hosts hosts(options, droverd);
  droverd.find_thread();
  using Run = std::function<void(uint64_t, uint32_t)>;
  auto measure_of = [&](const Run& run, uint64_t calls, uint32_t window, const std::function<double()>& clock,
                        bool* undisturbed) {
    run(std::min<uint64_t>(calls, 1000), window);  // the engine thread is awake
    long before = preemptions() + droverd.preemptions();
    double start = clock();
    run(calls, window);
    double took = clock() - start;
    *undisturbed = preemptions() + droverd.preemptions() == before;
    return took / static_cast<double>(calls);
  };
  auto measure = [&](uint64_t calls, uint32_t window, const std::function<double()>& clock, bool* undisturbed) {
    return measure_of([&](uint64_t c, uint32_t w) { hosts.run(c, w); }, calls, window, clock, undisturbed);
  };
  auto stub = [&](bool callbacks, bool* undisturbed) {
    return measure_of([&](uint64_t c, uint32_t w) { hosts.run_stub(c, w, callbacks); }, options.calls, options.window,
                      thread_cpu_ns, undisturbed);
  };
  auto wall = [] { return static_cast<double>(monotonic_ns()); };
  Series series[] = {
      {"asynchronous, CPU of a call",
       [&](bool* u) { return measure(options.calls, options.window, thread_cpu_ns, u); },
       {}},
      {"asynchronous, time of a call", [&](bool* u) { return measure(options.calls, options.window, wall, u); }, {}},
      {"stub by tag, CPU of a call", [&](bool* u) { return stub(false, u); }, {}},
      {"stub by callback, CPU of a call", [&](bool* u) { return stub(true, u); }, {}},
      {"round trip", [&](bool* u) { return measure(options.trips, 1, wall, u); }, {}},
      {"round trip, bare ring", [&](bool* u) { return bare_ring(options, u); }, {}},
  };
  for (Series& each : series) each.add();  // warm
  for (Series& each : series) each.ns.clear();
  for (int round = 0; round < options.rounds; ++round) {
    for (Series& each : series) each.add();
  }
  FILE* table = options.json == "-" ? stderr : stdout;
  std::fprintf(
      table,
      "hosts on CPU %d (client and server on one thread), engine on CPU %d, window %u, %d rounds (%d disturbed "
      "measurements made again)\n%-30s %12s %12s\n",
      options.host_cpu, options.engine_cpu, hosts.window(), options.rounds, repeats_in_all, "echo of a 64-byte line",
      "median ns", "quietest ns");
  for (const Series& each : series)
    std::fprintf(table, "%-30s %12.1f %12.1f\n", each.name, each.median(), each.quietest());
  std::fprintf(table, "round trip / bare ring: %.2f (quietest: %.2f)\n", series[4].median() / series[5].median(),
               series[4].quietest() / series[5].quietest());
  const double one_host = series[0].median() / 2, by_tag = series[2].median() / 2, by_callback = series[3].median() / 2;
  std::fprintf(table,
               "CPU of a call, of one host: %.1f ns; by the generated stub %.1f ns by tag, %.1f ns by callback (goal: "
               "80)\n",
               one_host, by_tag, by_callback);
  if (!options.json.empty()) {
    write_json(options.json, one_host, by_tag, by_callback, series[4].median(), series[5].median());
  }
  return 0;
}
