#include "bench/codec/instruction_counts.h"

#include <cstdio>
#include <string>

#include "bench/codec/subject.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) static_cast<void>(name)
#endif

namespace drover::bench {

bool count_instructions(const std::vector<BenchMessage>& messages) {
  if (RUNNING_ON_VALGRIND == 0) {
    std::fprintf(stderr, "codec_bench: --instructions wants valgrind, and a build that found its headers\n");
    return false;
  }
  for (const BenchMessage& message : messages) {
    for (const auto& subject : all_subjects(message)) {
      for (const Operation& operation : subject->operations()) {
        std::string name = message.name + " " + operation.implementation + " " + operation.metric;
        bool ok = operation.run(3);  // buffers have grown, function pointers are bound
        for (int times : {1, 2}) {
          std::string dump = name + " " + std::to_string(times);
          CALLGRIND_ZERO_STATS;
          ok &= operation.run(times);
          CALLGRIND_DUMP_STATS_AT(dump.c_str());
        }
        if (ok) continue;
        std::fprintf(stderr, "codec_bench: %s failed\n", name.c_str());
        return false;
      }
    }
  }
  return true;
}

}  // namespace drover::bench
