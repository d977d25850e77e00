// What the seccomp filter refused, counted by a handler of SIGSYS, which gives the call its error. The counts are the
// process's; take() is for the one thread that logs them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace drover::engine::sandbox {

// Before the filter is there. False: errno.
bool count_refusals();

// System calls by number, each with how often it was refused since the last take. Those beyond the known numbers are
// one entry, of the number kSystemCallNumbers.
std::vector<std::pair<int, uint64_t>> take_refusals();

}  // namespace drover::engine::sandbox
