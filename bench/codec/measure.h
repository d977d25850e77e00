// Checks and times messages; shows its progress on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/codec/bench_message.h"
#include "bench/codec/interleave.h"
#include "bench/codec/subject.h"

namespace drover::bench {

struct Measured {
  std::string case_name;  // "bench3.M3"
  std::string set;        // "hyperprotobench"
  size_t bytes;
  std::string implementation;
  std::string metric;
  Timing timing;
};

// These operations interleaved, for `seconds`. False if one fails; the reason is on stderr.
bool time_operations(const std::string& case_name, const std::string& set, size_t bytes,
                     const std::vector<Operation>& operations, double seconds, std::vector<Measured>* results);

// Every operation of every implementation on each message, `seconds` for a message. False if implementations do not
// agree about a message, or an operation fails; the reason is on stderr.
bool measure_each(const std::vector<BenchMessage>& messages, double seconds, std::vector<Measured>* results);

// Cases of set "mix": all small messages of HyperProtoBench, and of the built-in workload, one after the other in one
// operation. A set with less than two of them among the messages gives none.
bool measure_mix(const std::vector<BenchMessage>& messages, double seconds, std::vector<Measured>* results);

}  // namespace drover::bench
