// A software codec's stated cost on the CPU, in nanoseconds for each class of work, by codec, job and state of the
// caches. The figures are fitted to measurements of one machine by bench/sim/cpu_costs (`make fit-cpu-costs`;
// docs/sim.md has the fit's error): only ratios carry over to others.
#pragma once

#include <cstdint>

namespace drover::sim {

enum class Codec {
  kDrover,         // one arena a message, freed at once
  kProtobuf,       // protobuf C++ 3.21's generated classes, each message new and deleted
  kProtobufArena,  // the same on an arena whose first block is used again
};
enum class Caches {
  kWarm,  // object, wire bytes and output are in the caches, as the same job left them
  kCold,  // they lie in DRAM; code, tables and translations are warm
};
enum class Job { kDecode, kEncode, kPreserialize };

struct CodecCost {
  double message = 0;    // once a message
  double object = 0;     // each message in it, itself included
  double scalar = 0;     // each number, bool and enum value
  double string = 0;     // each string and bytes value that is read
  double byte = 0;       // each byte of these
  double untouched = 0;  // pre-serialization: each string that is not read: copied by an engine, or referred to
};

// Pre-serialization is Drover's with any codec: protobuf has none.
const CodecCost& stated_codec_cost(Codec codec, Job job, Caches caches);

}  // namespace drover::sim
