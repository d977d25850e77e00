// UTF-8 validation beside memcpy of the same bytes, and beside simdutf and upb's utf8_range where the build has them.
#pragma once

#include <string>
#include <vector>

#include "bench/codec/measure.h"

namespace drover::bench {

// Cases "utf8-ascii-64B", "utf8-mixed-4KB", ... of set "utf8", metric "validate"; those whose names match `filter` (a
// regular expression). False if a validator takes valid text for invalid, or the reverse.
bool measure_utf8(const std::string& filter, double seconds, std::vector<Measured>* results);

// The peers in this build: "memcpy, utf8_range".
std::string utf8_peers();

}  // namespace drover::bench
