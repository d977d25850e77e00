// The output of codec_bench: tables, and every measurement as JSON for bench/run_codec.py.
#pragma once

#include <string>
#include <vector>

#include "bench/codec/measure.h"

namespace drover::bench {

// Times of each message of the sets, then Drover's speed-up over the peers, as geometric means.
void print_messages(const std::vector<Measured>& measured);
// Nanoseconds for one field of each kind.
void print_kinds(const std::vector<Measured>& measured);

// Bytes validated as UTF-8 per nanosecond.
void print_utf8(const std::vector<Measured>& measured);

bool write_json(const std::string& path, const std::vector<Measured>& measured);

}  // namespace drover::bench
