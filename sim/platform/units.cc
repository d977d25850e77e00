#include "sim/platform/units.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

namespace drover::sim {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

bool parse(std::string_view text, std::span<const Unit> units, double* out) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value >= 0) || std::isinf(value)) return false;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& known : units) {
    if (unit != known.name) continue;
    *out = value * known.factor;
    return true;
  }
  return false;
}

bool parse_whole(std::string_view text, std::span<const Unit> units, uint64_t* out) {
  double value = 0;
  if (!parse(text, units, &value) || value > 1e18) return false;
  *out = static_cast<uint64_t>(std::llround(value));
  return true;
}

std::string print(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.6g%s", value, unit);
  return text;
}

}  // namespace

bool parse_time(std::string_view text, Time* out) {
  static constexpr Unit kUnits[] = {{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}};
  return parse_whole(text, kUnits, out);
}
bool parse_frequency(std::string_view text, uint64_t* out) {
  static constexpr Unit kUnits[] = {{"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}};
  uint64_t value = 0;
  if (!parse_whole(text, kUnits, &value) || value == 0) return false;
  *out = value;
  return true;
}
bool parse_bandwidth(std::string_view text, double* out) {
  static constexpr Unit kUnits[] = {{"MB/s", 1e6}, {"GB/s", 1e9}};
  double value = 0;
  if (!parse(text, kUnits, &value) || value <= 0) return false;
  *out = value;
  return true;
}
bool parse_size(std::string_view text, uint64_t* out) {
  static constexpr Unit kUnits[] = {{"", 1}, {"B", 1}, {"KiB", 1024}, {"MiB", 1024 * 1024}};
  return parse_whole(text, kUnits, out);
}
bool parse_number(std::string_view text, double* out) {
  static constexpr Unit kUnits[] = {{"", 1}};
  return parse(text, kUnits, out);
}
bool parse_flag(std::string_view text, bool* out) {
  if (text != "true" && text != "false") return false;
  *out = text == "true";
  return true;
}

std::string format_time(Time time) {
  if (time % kNanosecond != 0) return std::to_string(time) + "ps";
  return std::to_string(time / kNanosecond) + "ns";
}
std::string format_frequency(uint64_t hertz) {
  return hertz < 1'000'000'000 ? print(static_cast<double>(hertz) / 1e6, "MHz")
                               : print(static_cast<double>(hertz) / 1e9, "GHz");
}
std::string format_bandwidth(double bytes_per_second) { return print(bytes_per_second / 1e9, "GB/s"); }

}  // namespace drover::sim
