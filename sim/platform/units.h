// Simulated time, and the units that a system file is written in: "70ns", "1.25us", "250MHz", "12.8GB/s", "4KiB".
//
// Time counts picoseconds, as SystemC's clock does here. A parser returns false, and leaves *out as it was, for a text
// that is not such a figure. Thread-safety: functions only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drover::sim {

using Time = uint64_t;  // picoseconds
inline constexpr Time kNanosecond = 1000;

bool parse_time(std::string_view text, Time* out);           // ps, ns, us, ms
bool parse_frequency(std::string_view text, uint64_t* out);  // in Hz: kHz, MHz, GHz
bool parse_bandwidth(std::string_view text, double* out);    // in bytes/s: MB/s, GB/s
bool parse_size(std::string_view text, uint64_t* out);       // in bytes: B or nothing, KiB, MiB
bool parse_number(std::string_view text, double* out);
bool parse_flag(std::string_view text, bool* out);  // true, false

std::string format_time(Time time);  // exact: "70ns", "1250ns", "625500ps"
std::string format_frequency(uint64_t hertz);
std::string format_bandwidth(double bytes_per_second);

}  // namespace drover::sim
