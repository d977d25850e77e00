// conformance_rtl FILE DIR: the conformance suite's binary payloads through the deserializer in RTL.
//
// FILE is the FileDescriptorSet of the suite's .proto files; DIR holds what conformance_testee --dump has kept, a
// payload a file, named <message>-<number>. Every payload, well-formed or not, has to end in a record, and what comes
// of it is compared with the software codec's: the same object, or the same refusal. Prints how many the hardware
// leaves to software. Ends with 77 (ctest: skipped) if there are no payloads.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "rtl/testing/deserializer_bench.h"
#include "tests/conformance/rtl_payloads.h"

namespace drover::conformance {
namespace {

constexpr size_t kBatch = 256;

struct Tally {
  size_t decoded = 0, refused = 0, failures = 0;
  std::map<std::string, size_t> left;
};

void count(const Payload& payload, const rtl::Outcome& outcome, Tally* tally) {
  if (!outcome.finished || !outcome.difference.empty()) {
    ++tally->failures;
    std::printf("failed: %s: %s\n", payload.name.c_str(), outcome.finished ? outcome.difference.c_str() : "no record");
  } else if (outcome.record.kind == rtl::RecordKind::kDone) {
    ++tally->decoded;
  } else if (outcome.record.kind == rtl::RecordKind::kError) {
    ++tally->refused;
  } else {
    ++tally->left[rtl::left_to_software_reason(outcome.record.code)];
  }
}

// Each batch has a bench of its own, so that none starves for memory.
int replay(const schema::DynamicSchema& schema, const std::deque<Payload>& payloads, uint32_t stalls) {
  Tally tally;
  for (size_t first = 0; first < payloads.size(); first += kBatch) {
    rtl::BenchOptions options;
    options.rx_stalls = options.cmd_stalls = options.cmpl_stalls = options.free_stalls = stalls;
    options.host.stalls_of_256 = options.engine.stalls_of_256 = stalls;
    options.seed = first + 1;
    rtl::DeserializerBench bench(options);
    bench.load(schema.image());
    size_t end = std::min(first + kBatch, payloads.size());
    for (size_t i = first; i < end; ++i) bench.add(payloads[i].type, payloads[i].wire);
    if (!bench.run()) std::printf("failed: the deserializer hangs\n"), ++tally.failures;
    for (size_t i = first; i < end; ++i) count(payloads[i], bench.outcomes()[i - first], &tally);
  }
  std::printf("conformance in RTL: %zu payloads: %zu decoded alike, %zu refused alike, %zu failed; left to software:",
              payloads.size(), tally.decoded, tally.refused, tally.failures);
  for (const auto& [reason, number] : tally.left) std::printf(" %s %zu", reason.c_str(), number);
  std::printf("\n");
  return tally.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace drover::conformance

int main(int argc, char** argv) {
  return drover::conformance::replay_main(argc, argv, "conformance_rtl",
                                          "The conformance suite's binary payloads through the deserializer in RTL.",
                                          drover::conformance::replay);
}
