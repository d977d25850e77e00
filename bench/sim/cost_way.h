// The ways in which the CPU's work on a message is done, as cpu_costs times them: one message, one codec, one job.
//
//   codec            decode                            encode                 preserialize
//   drover           arena, object, decode()           encode_to_array()      into one buffer; the same with what is
//                                                                             payload not copied, and referred to
//   protobuf         new, ParseFromArray, delete       SerializeToArray()     -
//   protobuf-arena   arena reset, New, ParseFromArray  SerializeToArray()     -
//
// An object to encode is what a decode left, in memory of its own. Output goes where the last output went.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/sim/touched_memory.h"
#include "workload/workload.h"

namespace drover::bench {

struct CostWay {
  std::string codec, job;     // "protobuf", "decode"
  std::function<bool()> run;  // once; false: it failed
  // Adds what the next run() will touch, given that run() was called just before.
  std::function<void(TouchedMemory*)> touches;
};

// The ways of one message, and the memory that they need, which lives as long as this.
class CostWays {
 public:
  virtual ~CostWays() = default;
  // Of the encoded object, strings included; 0: unknown.
  virtual size_t object_bytes() const { return 0; }
  virtual std::vector<CostWay> ways() = 0;
  // Encoded by each of its encoders, to be compared; an empty string: it failed.
  virtual std::vector<std::string> encoded() = 0;
};
// Memory that all ways of a kind use one after the other: encoders' output, arenas' first blocks. The speed of a copy
// depends on its address modulo the page size, and differs by several times for an unlucky pair of addresses. So each
// round uses another offset.
inline constexpr size_t kWorkspace = 16 << 20;
inline constexpr size_t kPlaces = 16;
size_t place();  // a multiple of 64, below a page
void next_place();
char* encode_workspace();

std::unique_ptr<CostWays> drover_ways(const workload::WorkloadMessage& message);
// Null if this program has no class of that name.
std::unique_ptr<CostWays> protobuf_ways(const std::string& type_name, const std::string& wire);

}  // namespace drover::bench
