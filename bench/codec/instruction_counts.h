// Instructions of each operation, for runs under `valgrind --tool=callgrind`: bench/codec/instructions.py does that.
#pragma once

#include <vector>

#include "bench/codec/bench_message.h"

namespace drover::bench {

// Does each operation on each message a few times, then once and twice, each between two client requests, so that
// callgrind dumps the cost under the names "MESSAGE IMPLEMENTATION METRIC 1" and "... 2": the difference is the
// operation without the loop around it. False, with the reason on stderr, if an operation fails or the program does
// not run under valgrind.
bool count_instructions(const std::vector<BenchMessage>& messages);

}  // namespace drover::bench
