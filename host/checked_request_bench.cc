// What DROVER_HOST_CHECK_REQUESTS=1 costs a call: the time to copy a request out of rx with every pointer checked,
// beside the time that the engine took to decode it.
//
//   checked_request_bench [DIRECTORY OF HYPERPROTOBENCH]     without it, the built-in messages of that shape
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

#include "codec/decode/decode.h"
#include "host/checked_request.h"
#include "object/owner.h"
#include "schema/proto_text.h"
#include "workload/workload.h"

namespace drover::host {
namespace {

constexpr size_t kRx = 64 << 20;

double nanoseconds_of(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  double best = 1e18;
  for (int round = 0; round < 5; ++round) {
    uint64_t times = 0;
    auto began = Clock::now();
    std::chrono::nanoseconds taken{};
    do {
      for (int i = 0; i < 16; ++i, ++times) work();
      taken = Clock::now() - began;
    } while (taken < std::chrono::milliseconds(10));
    best = std::min(best, static_cast<double>(taken.count()) / static_cast<double>(times));
  }
  return best;
}

struct Cost {
  double decode_ns = 0, copy_ns = 0;
};

// The message decoded into rx, as the engine does it, and copied out again.
Cost measure(const Region& region, const schema::MessageType& type, const std::string& wire) {
  char* memory = region.rx() + kRegionHeaderSize;
  size_t object_size = type.entry().object_size;
  auto decode_into_rx = [&] {
    Arena arena(Arena::FixedMemory{memory, kRx - kRegionHeaderSize});
    void* object = arena.allocate_zeroed(object_size);
    static_cast<MessageHeader*>(object)->owner = kReceived;
    DecodeOptions options;
    options.received = true;
    if (!decode(type, static_cast<Message*>(object), wire, arena, options).ok()) std::abort();
  };
  CheckedRequest checked;
  std::string error;
  Cost cost;
  cost.decode_ns = nanoseconds_of(decode_into_rx);
  cost.copy_ns = nanoseconds_of([&] {
    if (checked.copy(region, type, region.offset_of(memory), &error) == nullptr) std::abort();
    checked.clear();
  });
  return cost;
}

int run(const char* directory) {
  RegionError region_error;
  auto region = Region::create({kRx, kRegionHeaderSize, 0}, &region_error);
  if (!region) return 1;
  schema::OwnedImage echo = schema::image_of("syntax = 'proto3'; package b; message Echo { bytes payload = 1; }");
  schema::MessageType echo_type{&echo.image(), 0};
  std::string wire = "\x0a\x20" + std::string(32, 'p');
  Cost small = measure(*region, echo_type, wire);
  std::printf("payload of 32 bytes: checked copy %.0f ns (decoding it: %.0f ns)\n", small.copy_ns, small.decode_ns);

  auto loaded = directory != nullptr
                    ? workload::load_hyperprotobench(directory)
                    : workload::hyperproto_like(workload::kDefaultSeed, workload::WorkloadPart::kPublished);
  if (!loaded.ok()) return std::fprintf(stderr, "%s\n", loaded.error.c_str()), 1;
  double log_copy = 0, log_decode = 0, most = 0;
  for (const auto& message : loaded.workload.messages) {
    Cost cost = measure(*region, message.type, message.wire);
    log_copy += std::log(cost.copy_ns);
    log_decode += std::log(cost.decode_ns);
    most = std::max(most, cost.copy_ns / cost.decode_ns);
  }
  auto count = static_cast<double>(loaded.workload.messages.size());
  std::printf(
      "%s, %.0f messages, geometric means: checked copy %.0f ns, decoding %.0f ns; at most %.1f times decoding\n",
      loaded.workload.name.c_str(), count, std::exp(log_copy / count), std::exp(log_decode / count), most);
  return 0;
}

}  // namespace
}  // namespace drover::host

int main(int argc, char** argv) { return drover::host::run(argc > 1 ? argv[1] : nullptr); }
