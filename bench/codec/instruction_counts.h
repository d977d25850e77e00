// Instructions of each operation, for runs under `valgrind --tool=callgrind`: bench/codec/instructions.py does that.
#pragma once

#include <vector>

#include "bench/codec/bench_message.h"

namespace drover::bench {

// Does each operation on each message a few times, then once between two client requests, so that callgrind dumps the
// cost of that once under the name "MESSAGE IMPLEMENTATION METRIC". False, with the reason on stderr, if an operation
// fails or the program does not run under valgrind.
bool count_instructions(const std::vector<BenchMessage>& messages);

}  // namespace drover::bench
