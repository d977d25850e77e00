// What pre-serialization costs the CPU beside the encoder: each message of a workload, encoded into one array
// ("encode"), pre-serialized with the processor's own copies ("preserialize"), with a memcpy engine for long strings
// that costs no more than to write a 64-byte descriptor for each copy and never makes it ("offloaded"), and with the
// best engine that this machine has, until its copies are made ("best"; stderr says which it is).
//
//   preserialize_cost [--hyperprotobench DIR]
//
// Prints "MESSAGE WAY NANOSECONDS" lines, medians; under callgrind it dumps counters instead, under the names
// "MESSAGE WAY TIMES", with TIMES 1 and 2: bench/rtl/preserialize_cost.py runs it so and makes a table.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "codec/copy/best_copy.h"
#include "codec/encode/encode.h"
#include "codec/preserialize/preserialize.h"
#include "codec/preserialize/preserialize_handlers.h"
#include "testing/test_object.h"
#include "workload/workload.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) static_cast<void>(name)
#endif

namespace {
using namespace drover;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "preserialize_cost: %s\n", what.c_str());
  std::exit(1);
}

// What a processor does to start a copy elsewhere, as idxd's descriptors are: 64 bytes, in a ring.
class DescriptorRing {
 public:
  void copy(char* to, const char* from, size_t size) {
    volatile uint64_t* d = ring_[at_++ % 64];
    d[0] = 3;
    d[1] = 0;
    d[2] = reinterpret_cast<uintptr_t>(from);
    d[3] = reinterpret_cast<uintptr_t>(to);
    d[4] = size;
    d[5] = 0;
    d[6] = 0;
    d[7] = 0;
  }
  void wait() {}

 private:
  alignas(64) uint64_t ring_[64][8] = {};
  uint32_t at_ = 0;
};

constexpr size_t kBuffer = 8 << 20;

class Message1 {
 public:
  explicit Message1(const workload::WorkloadMessage& message) : object_(message.type), out_(kBuffer) {
    if (!object_.decode(message.wire).ok()) fail(message.name + " does not decode");
  }
  bool encode(int times) {
    bool ok = true;
    for (int i = 0; i < times; ++i) {
      ok &= encode_to_array(object_.type(), object_.get(), {}, &encoded_, out_.data(), kBuffer, nullptr) ==
            EncodeError::kOk;
    }
    return ok;
  }
  template <typename Engine>
  bool preserialize(int times, Engine& engine) {
    bool ok = true;
    PreserializeOptions options;
    PreserializedOutput out;
    out.buffer = out_.data();
    out.buffer_size = kBuffer;
    for (int i = 0; i < times; ++i) {
      Preserializer<TrustedMemory, Engine> preserializer(*object_.type().image, TrustedMemory(), engine, options, &out);
      ok &= preserializer.run(object_.get()->drover_bytes(), object_.type().entry());
      engine.wait();
    }
    return ok;
  }

 private:
  drover::testing::TestObject object_;
  Encoded encoded_;
  std::vector<char> out_;
};

double nanoseconds(const std::function<bool(int)>& run) {
  using Clock = std::chrono::steady_clock;
  int times = 1;
  for (;; times *= 2) {
    auto begin = Clock::now();
    if (!run(times)) fail("a run failed");
    if (Clock::now() - begin > std::chrono::microseconds(500)) break;
  }
  std::vector<double> samples;
  for (int i = 0; i < 9; ++i) {
    auto begin = Clock::now();
    run(times);
    samples.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / times);
  }
  std::nth_element(samples.begin(), samples.begin() + 4, samples.end());
  return samples[4];
}

void count(const std::string& name, const std::function<bool(int)>& run) {
  if (!run(3)) fail(name + " failed");
  for (int times : {1, 2}) {
    std::string dump = name + " " + std::to_string(times);
    CALLGRIND_ZERO_STATS;
    run(times);
    CALLGRIND_DUMP_STATS_AT(dump.c_str());
  }
}
}  // namespace

int main(int argc, char** argv) {
  std::string directory;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--hyperprotobench") == 0) directory = argv[i + 1];
  }
  workload::WorkloadResult made =
      directory.empty() ? workload::hyperproto_like(workload::kDefaultSeed, workload::WorkloadPart::kPublished)
                        : workload::load_hyperprotobench(directory, workload::WorkloadPart::kPublished);
  if (!made.ok()) fail(made.error);
  BestCopy& best = best_memcpy_engine();
  std::fprintf(stderr, "best engine: %s\n", best.what().c_str());
  for (const auto& message : made.workload.messages) {
    Message1 subject(message);
    PlainCopy plain;
    DescriptorRing ring;
    std::pair<const char*, std::function<bool(int)>> ways[] = {
        {"encode", [&](int times) { return subject.encode(times); }},
        {"preserialize", [&](int times) { return subject.preserialize(times, plain); }},
        {"offloaded", [&](int times) { return subject.preserialize(times, ring); }},
        {"best", [&](int times) { return subject.preserialize(times, best); }}};
    for (auto& [way, run] : ways) {
      std::string name = message.name + " " + way;
      if (RUNNING_ON_VALGRIND != 0) {
        count(name, run);
      } else {
        std::printf("%s %.1f\n", name.c_str(), nanoseconds(run));
      }
    }
  }
  return 0;
}
