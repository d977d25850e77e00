// conformance_serializer FILE DIR --least-done N --most-left N: the conformance suite's binary payloads through the
// serializer in RTL.
//
// FILE is the FileDescriptorSet of the suite's .proto files; DIR holds the payloads (rtl_payloads.h). Each that the
// software codec decodes goes as an object through the serializer by every way: as a pre-serialized stream that copies,
// as one that is pushed and refers to the object's bytes, and as the object itself (NIC-only). What comes out has to be
// the encoder's bytes. Prints how many were left to software, and fails if that share, of any way, is larger than
// --most-left says. Ends with 77 (ctest: skipped) if there are no payloads.
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "codec/encode/encode.h"
#include "message/operations.h"
#include "rtl/testing/serializer_bench.h"
#include "testing/test_object.h"
#include "tests/conformance/rtl_payloads.h"

namespace drover::conformance {
namespace {

constexpr size_t kBatch = 256;
constexpr size_t kHostBytes = 32 << 20, kEngineBytes = 4 << 20;

enum Way : size_t { kStream, kReference, kWalk, kWays };
constexpr std::array<const char*, kWays> kWayNames = {"stream", "pushed, with references", "NIC-only"};

struct Tally {
  size_t decoded = 0, failures = 0;
  std::array<size_t, kWays> same = {}, left = {};
};

struct Sent {
  const Payload* payload;
  Way way;
  std::string wire;
};

class Batch {
 public:
  Batch(const schema::Image& image, uint32_t stalls, uint64_t seed) : bench_(options(stalls, seed)) {
    bench_.load(image);
  }
  void add(const Payload& payload, Tally* tally) {
    testing::TestObject object(payload.type);
    if (!object.decode(payload.wire).ok()) return;
    ++tally->decoded;
    std::string wire = object.encode();
    for (size_t way = 0; way < kWays; ++way) {
      if (!send(payload, object, wire, static_cast<Way>(way))) fail(payload, static_cast<Way>(way), "not sent", tally);
    }
  }
  void run(Tally* tally) {
    if (!bench_.run(20'000'000)) std::printf("failed: the serializer hangs\n"), ++tally->failures;
    std::map<uint16_t, rtl::SerializerCompletion> done;
    for (const rtl::SerializerCompletion& completion : bench_.completions())
      done.emplace(completion.cookie, completion);
    for (size_t i = 0; i < sent_.size(); ++i) {
      const Sent& sent = sent_[i];
      auto completion = done.find(static_cast<uint16_t>(i));
      if (completion == done.end()) {
        fail(*sent.payload, sent.way, "no completion", tally);
      } else if (rtl::left_to_software(completion->second.error)) {
        ++tally->left[sent.way];
      } else if (completion->second.error != rtl::SerializerError::kNone || bench_.packets().packets() == 0) {
        fail(*sent.payload, sent.way, "an error", tally);
      } else if (bench_.packets().take() != sent.wire) {
        fail(*sent.payload, sent.way, "other bytes than the encoder's", tally);
      } else {
        ++tally->same[sent.way];
      }
    }
  }

 private:
  static rtl::SerializerBench::Options options(uint32_t stalls, uint64_t seed) {
    rtl::SerializerBench::Options options;
    options.host.stalls_of_256 = options.engine.stalls_of_256 = options.stalls_of_256 = stalls;
    options.host.seed = options.seed = seed;
    options.engine.seed = seed + 1;
    options.host_bytes = kHostBytes;
    options.engine_bytes = kEngineBytes;
    return options;
  }
  static void fail(const Payload& payload, Way way, const char* what, Tally* tally) {
    ++tally->failures;
    std::printf("failed: %s, %s: %s\n", payload.name.c_str(), kWayNames[way], what);
  }

  bool send(const Payload& payload, testing::TestObject& object, const std::string& wire, Way way) {
    rtl::SerializerCommand command;
    const Message* source = object.get();
    if (way != kStream) {
      size_t size = message::linearized_size(object.type(), *object.get());
      PreserializedOutput room = bench_.room(size);
      if (room.buffer == nullptr) return false;
      Arena arena(heap_block_source(), room.buffer, size);
      Message* copy = message::deep_copy_into(object.type(), *object.get(), &arena);
      source = copy;
      command.walk = true;
      command.message = static_cast<uint16_t>(payload.type.index);
      command.records =
          rtl::SerializerBench::kHostBase + static_cast<uint64_t>(copy->drover_bytes() - bench_.host().data());
    }
    if (way != kWalk) {
      PreserializeOptions how;
      how.payload_threshold = sent_.size() % 2 == 0 ? 256 : 4;
      how.reference_from = 8;
      if (way == kReference) how.host = {reinterpret_cast<uintptr_t>(bench_.host().data()), bench_.host().size()};
      PreserializedOutput stream = bench_.room(wire.size() * 9 + 4096);
      if (stream.buffer == nullptr || !preserialize(object.type(), source, how, &stream).ok()) return false;
      command = bench_.command(stream, 0);
      if (way == kReference && !bench_.push(&command)) return false;
    }
    command.cookie = static_cast<uint16_t>(sent_.size());
    bench_.send(command);
    sent_.push_back({&payload, way, wire});
    return true;
  }

  rtl::SerializerBench bench_;
  std::vector<Sent> sent_;
};

int replay(const schema::DynamicSchema& schema, const std::deque<Payload>& payloads, const ReplayOptions& options) {
  Tally tally;
  for (size_t first = 0; first < payloads.size(); first += kBatch) {
    Batch batch(schema.image(), options.stalls, first + 1);
    for (size_t i = first; i < std::min(first + kBatch, payloads.size()); ++i) batch.add(payloads[i], &tally);
    batch.run(&tally);
  }
  std::printf("conformance in the serializer's RTL: %zu payloads, of which %zu decode; %zu failed\n", payloads.size(),
              tally.decoded, tally.failures);
  for (size_t way = 0; way < kWays; ++way) {
    std::printf("  %s: %zu as the encoder, %zu left to software\n", kWayNames[way], tally.same[way], tally.left[way]);
    std::string exceeded = outside(options.share, tally.same[way], tally.left[way]);
    if (exceeded.empty()) continue;
    std::printf("failed: %s: %s\n", kWayNames[way], exceeded.c_str());
    ++tally.failures;
  }
  return tally.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace drover::conformance

int main(int argc, char** argv) {
  return drover::conformance::replay_main(argc, argv, "conformance_serializer",
                                          "The conformance suite's binary payloads through the serializer in RTL.",
                                          drover::conformance::replay);
}
