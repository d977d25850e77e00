#include "sim/platform/stated_costs.h"

namespace drover::sim {
namespace {

// Measured 2026-11-22 by `make fit-cpu-costs ROUNDS=6000`: AMD EPYC (Zen 4, 32 MB L3, 2 virtual cores, others at work
// beside it), clang 19 -O3 with ThinLTO, protobuf 3.21.12 as Debian's shared library; the built-in workload's 40
// messages, whole and with strings cut to 64 bytes. Behind each row: the fit's relative error, root mean square and
// worst.
struct Costs {
  CodecCost warm, cold;
};
//                           message object scalar string byte  untouched
constexpr Costs kDroverDecode = {{21.2, 8.95, 2.35, 3.83, 0.0202},         // 9 %, 27 %
                                 {80.5, 42.6, 5, 39.8, 0.074}};            // 17 %, 46 %
constexpr Costs kDroverEncode = {{6.44, 9.2, 2.21, 3.61, 0.0203},          // 10 %, 35 %
                                 {22.6, 59.1, 4.49, 31.6, 0.0774}};        // 18 %, 47 %
constexpr Costs kPreserialize = {{5.62, 7.77, 1.5, 2.81, 0.0196, 16.3},    // 14 %, 41 %
                                 {0, 55.4, 4.89, 34.3, 0.083, 30.1}};      // 18 %, 44 %
constexpr Costs kProtobufDecode = {{3.22, 25.8, 3.7, 44.9, 0.0252},        // 13 %, 34 %
                                   {10.3, 139, 11.3, 220, 0.0788}};        // 11 %, 30 %
constexpr Costs kProtobufEncode = {{5.95, 9.7, 0.998, 2.79, 0.0201},       // 11 %, 44 %
                                   {114, 85.8, 5.06, 49.3, 0.078}};        // 14 %, 44 %
constexpr Costs kProtobufArenaDecode = {{26.5, 18.3, 3.63, 31.7, 0.0219},  // 8 %, 26 %
                                        {198, 68.3, 8.72, 88.4, 0.0812}};  // 15 %, 56 %
constexpr Costs kProtobufArenaEncode = {{6.34, 8.55, 0.95, 2.9, 0.0173},   // 12 %, 45 %
                                        {0, 0, 11.6, 82.1, 0.0785}};       // 22 %, 60 %

const Costs& costs(Codec codec, Job job) {
  if (job == Job::kPreserialize) return kPreserialize;
  bool decode = job == Job::kDecode;
  switch (codec) {
    case Codec::kDrover:
      return decode ? kDroverDecode : kDroverEncode;
    case Codec::kProtobuf:
      return decode ? kProtobufDecode : kProtobufEncode;
    case Codec::kProtobufArena:
      break;
  }
  return decode ? kProtobufArenaDecode : kProtobufArenaEncode;
}

}  // namespace

const CodecCost& stated_codec_cost(Codec codec, Job job, Caches caches) {
  const Costs& of = costs(codec, job);
  return caches == Caches::kWarm ? of.warm : of.cold;
}

}  // namespace drover::sim
