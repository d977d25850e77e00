// What the codecs cost the CPU on each message of a workload, with warm and with cold caches: the measurements that the
// stated costs of sim/platform/cpu_cost.h are fitted to (bench/sim/fit_cpu_costs.py).
//
//   warm   the same was done just before; of messages below 4 KB the mean of eight times in a row, since the clock's
//          steps are 10 ns on some machines
//   cold   the same was done just before, and then every line of the object, of the wire bytes and of the output was
//          flushed (--evict flush), or a buffer of 96 MB was walked (--evict walk: code and tables go too)
//
// Messages and ways are taken in turn, round after round, so that what else runs on the machine falls on all alike and
// no branch predictor learns one message by heart; of each, a low decile of the rounds is printed. Each message counts
// twice, whole and with its strings cut to 64 bytes. What encoders make is compared first.
//
// Writes JSON to stdout: {"rounds", "machine", "samples": [{"name", "objects", ..., "ns": {"protobuf decode cold":
// x}}]}
#include <malloc.h>
#include <x86intrin.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "bench/codec/bench_message.h"
#include "bench/sim/cost_way.h"
#include "sim/platform/cpu_cost.h"
#include "workload/cut_strings.h"
#include "workload/workload.h"

namespace drover::bench {
namespace {

constexpr size_t kCut = 64, kSmall = 4096;
constexpr int kRepeats = 8;
constexpr size_t kWalked = size_t{96} << 20;
constexpr size_t kPayloadFrom = 256;  // PreserializeOptions::payload_threshold
constexpr double kQuantile = 0.1;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "cpu_costs: %s\n", what.c_str());
  std::exit(1);
}

// ---- the clock: the processor's own, whose reading waits for what is in front of it
uint64_t ticks() {
  unsigned cpu;
  _mm_lfence();
  uint64_t now = __rdtscp(&cpu);
  _mm_lfence();
  return now;
}
double nanoseconds_of_a_tick() {
  auto began = std::chrono::steady_clock::now();
  uint64_t from = ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  uint64_t to = ticks();
  double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
  return ns / static_cast<double>(to - from);
}
uint64_t least_ticks_of_nothing() {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 1000; ++i) {
    uint64_t from = ticks();
    least = std::min(least, ticks() - from);
  }
  return least;
}

// ---- samples
struct Sample {
  std::string name;
  workload::WorkloadMessage message;
  std::vector<std::unique_ptr<CostWays>> of_codecs;
  std::vector<CostWay> ways;
  std::vector<std::vector<double>> warm, cold;  // by way: ticks, a round each
};

void add_sample(const workload::WorkloadMessage& message, const std::string& type_name, std::vector<Sample>* samples) {
  Sample& sample = samples->emplace_back();
  sample.name = message.name;
  sample.message = message;
  sample.of_codecs.push_back(drover_ways(message));
  sample.of_codecs.push_back(protobuf_ways(type_name, message.wire));
  if (sample.of_codecs.back() == nullptr) fail("no class for " + type_name);
  std::vector<std::string> encoded;
  for (const auto& codec : sample.of_codecs) {
    for (CostWay& way : codec->ways()) sample.ways.push_back(std::move(way));
    for (std::string& bytes : codec->encoded()) encoded.push_back(std::move(bytes));
  }
  for (const std::string& bytes : encoded) {
    if (bytes.empty() || bytes != encoded[0]) fail("the codecs do not agree about " + message.name);
  }
  for (const CostWay& way : sample.ways) {
    if (!way.run()) fail(message.name + ": " + way.codec + " " + way.job + " fails");
  }
  sample.warm.resize(sample.ways.size());
  sample.cold.resize(sample.ways.size());
}

std::vector<Sample> make_samples(const std::string& directory, workload::Workload* workload) {
  workload::WorkloadResult made =
      directory.empty() ? workload::hyperproto_like(workload::kDefaultSeed, workload::WorkloadPart::kPublished)
                        : workload::load_hyperprotobench(directory, workload::WorkloadPart::kPublished);
  if (!made.ok()) fail(made.error);
  *workload = std::move(made.workload);
  // The names of protobuf's classes.
  BenchMessages named = directory.empty() ? builtin_messages() : hyperprotobench_messages(directory);
  if (!named.error.empty()) fail(named.error);
  std::map<std::string, std::string> type_names;
  for (const BenchMessage& message : named.messages) type_names[message.name] = message.type_name;
  std::vector<Sample> samples;
  for (const workload::WorkloadMessage& message : workload->messages) {
    add_sample(message, type_names[message.name], &samples);
    workload::WorkloadMessage cut = message;
    cut.wire = workload::cut_strings(message.type, message.wire, kCut);
    cut.name += " cut";
    add_sample(cut, type_names[message.name], &samples);
  }
  return samples;
}

// ---- rounds
class Rounds {
 public:
  explicit Rounds(bool walk) : walked_(walk ? kWalked : 0) { touched_.reserve(1 << 19); }

  void round(Sample* sample) {
    for (size_t w = 0; w < sample->ways.size(); ++w) {
      const CostWay& way = sample->ways[w];
      bool ok = way.run();
      sample->warm[w].push_back(timed(way, sample->message.wire.size() < kSmall ? kRepeats : 1, &ok));
      ok &= way.run();
      evict(way);
      sample->cold[w].push_back(timed(way, 1, &ok));
      if (!ok) fail(sample->name + ": " + way.codec + " " + way.job + " failed");
    }
  }
  int sum() const { return sum_; }

 private:
  double timed(const CostWay& way, int times, bool* ok) const {
    uint64_t from = ticks();
    for (int i = 0; i < times; ++i) *ok &= way.run();
    uint64_t took = ticks() - from;
    return took > nothing_ ? static_cast<double>(took - nothing_) / times : 0;
  }
  void evict(const CostWay& way) {
    touched_.clear();
    way.touches(&touched_);
    touched_.flush();
    for (size_t at = 0; at < walked_.size(); at += 64) sum_ += ++walked_[at];
  }

  std::vector<char> walked_;
  TouchedMemory touched_;
  uint64_t nothing_ = least_ticks_of_nothing();
  int sum_ = 0;
};

double low_decile(std::vector<double> values) {
  auto at = values.begin() + static_cast<std::ptrdiff_t>(kQuantile * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

std::string machine() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

void print_json(const std::vector<Sample>& samples, int rounds, const std::string& evict, double tick) {
  std::printf("{\"machine\": \"%s\", \"rounds\": %d, \"evict\": \"%s\", \"payload_from\": %zu, \"samples\": [",
              machine().c_str(), rounds, evict.c_str(), kPayloadFrom);
  const char* comma = "";
  for (const Sample& sample : samples) {
    sim::MessageWork work = sim::count_work(sample.message);
    uint64_t payload = 0, payload_bytes = 0;
    for (uint64_t size : work.string_sizes) {
      if (size < kPayloadFrom) continue;
      ++payload;
      payload_bytes += size;
    }
    std::printf(
        "%s\n {\"name\": \"%s\", \"wire_bytes\": %zu, \"objects\": %zu, \"scalars\": %zu, \"strings\": %zu, "
        "\"string_bytes\": %zu, \"payload_strings\": %zu, \"payload_bytes\": %zu, \"object_bytes\": %zu,\n  \"ns\": {",
        comma, sample.name.c_str(), sample.message.wire.size(), static_cast<size_t>(work.objects),
        static_cast<size_t>(work.scalars), static_cast<size_t>(work.strings), static_cast<size_t>(work.string_bytes),
        static_cast<size_t>(payload), static_cast<size_t>(payload_bytes), sample.of_codecs[0]->object_bytes());
    for (size_t w = 0; w < sample.ways.size(); ++w) {
      const CostWay& way = sample.ways[w];
      std::printf("%s\"%s %s warm\": %.1f, \"%s %s cold\": %.1f", w == 0 ? "" : ", ", way.codec.c_str(),
                  way.job.c_str(), low_decile(sample.warm[w]) * tick, way.codec.c_str(), way.job.c_str(),
                  low_decile(sample.cold[w]) * tick);
    }
    std::printf("}}");
    comma = ",";
  }
  std::printf("]}\n");
}

}  // namespace

namespace {
size_t places_used = 0;
}  // namespace
size_t place() { return places_used % kPlaces * (4096 / kPlaces); }
void next_place() { ++places_used; }
char* encode_workspace() {
  static std::vector<char> memory(kWorkspace + 2 * 4096);
  return memory.data() + (4096 - reinterpret_cast<uintptr_t>(memory.data()) % 4096) + place();
}

}  // namespace drover::bench

int main(int argc, char** argv) {
  using namespace drover::bench;
  std::string directory, evict = "flush";
  int rounds = 200;
  CLI::App app("Times the codecs on a workload's messages, caches warm and cold; JSON to stdout.");
  app.add_option("--hyperprotobench", directory, "folder with the published messages, instead of the built-in ones");
  app.add_option("--rounds", rounds, "over all messages")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--evict", evict, "flush (each line touched) or walk (a buffer larger than the caches)")
      ->check(CLI::IsMember({"flush", "walk"}))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  // A server's heap keeps what it has: no system call for a large string.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  drover::workload::Workload workload;
  std::vector<Sample> samples = make_samples(directory, &workload);
  double tick = nanoseconds_of_a_tick();
  Rounds all(evict == "walk");
  for (int i = 0; i < rounds; ++i) {
    for (Sample& sample : samples) all.round(&sample);
    next_place();
    if (i % 20 == 19) std::fprintf(stderr, "%d of %d rounds\n", i + 1, rounds);
  }
  print_json(samples, rounds, evict, tick);
  return all.sum() == INT32_MIN ? 2 : 0;  // the walk's sum is looked at, so that there is a walk
}
