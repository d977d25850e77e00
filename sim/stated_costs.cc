#include "sim/stated_costs.h"

namespace drover::sim {
namespace {

// Measured 2026-11-22 by `make fit-cpu-costs ROUNDS=3000`: AMD EPYC (Zen 4, 32 MB L3, 2 virtual cores, others at work
// beside it), clang 19 -O3 with ThinLTO, protobuf 3.21.12 as Debian's shared library; the built-in workload's 40
// messages, whole and with strings cut to 64 bytes. Behind each row: the fit's relative error, root mean square and
// worst.
struct Costs {
  CodecCost warm, cold;
};
//                           message object scalar string byte  untouched
constexpr Costs kDroverDecode = {{17.7, 8.67, 2.66, 3.64, 0.021},          //  9.6 %, 27 %
                                 {92.7, 41.7, 5.89, 32.6, 0.0772}};        // 15.9 %, 43 %
constexpr Costs kDroverEncode = {{9.04, 9.65, 2.16, 3.5, 0.0207},          //  9.4 %, 33 %
                                 {27.7, 61.4, 3.88, 36.8, 0.0805}};        // 18.6 %, 47 %
constexpr Costs kPreserialize = {{6.76, 8.28, 1.49, 2.7, 0.0201, 18.6},    // 15.4 %, 48 %
                                 {6.19, 61.3, 4.65, 34.9, 0.086, 28}};     // 18.0 %, 43 %
constexpr Costs kProtobufDecode = {{0, 22.2, 4.4, 46.9, 0.0252},           // 13.7 %, 42 %
                                   {3.98, 153, 13.4, 240, 0.0795}};        // 11.1 %, 27 %
constexpr Costs kProtobufEncode = {{5.91, 9.2, 1.12, 3.11, 0.0205},        // 15.0 %, 82 %
                                   {106, 91.8, 6.94, 50.2, 0.0817}};       // 14.3 %, 45 %
constexpr Costs kProtobufArenaDecode = {{24.3, 16.7, 4.16, 32.2, 0.0218},  //  7.5 %, 28 %
                                        {206, 76.2, 6.97, 97, 0.0823}};    // 15.4 %, 61 %
constexpr Costs kProtobufArenaEncode = {{5.94, 8.25, 1.06, 3.03, 0.0176},  // 12.4 %, 47 %
                                        {0, 0, 9.8, 91.8, 0.0816}};        // 24.5 %, 63 %

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
