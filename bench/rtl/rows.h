// The rows that the programs of `make bench-rtl` print: a JSON array on the standard output, which bench/run_rtl.py
// reads. An absent peer or goal is null; a goal of 0 is a goal.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

namespace drover::bench {

inline constexpr std::nullopt_t kNone = std::nullopt;  // no peer was measured, or no goal is set

class Rows {
 public:
  Rows() { std::printf("["); }
  ~Rows() { std::printf("\n]\n"); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  void add(const std::string& name, const char* metric, double value, std::optional<double> peer,
           std::optional<double> goal) {
    std::printf("%s\n  {\"case\": \"%s\", \"metric\": \"%s\", \"value\": %.3f, \"peer\": %s, \"goal\": %s}",
                first_ ? "" : ",", name.c_str(), metric, value, number(peer).c_str(), number(goal).c_str());
    first_ = false;
  }

 private:
  static std::string number(std::optional<double> value) {
    if (!value) return "null";
    char text[32];
    std::snprintf(text, sizeof(text), "%.3f", *value);
    return text;
  }

  bool first_ = true;
};

}  // namespace drover::bench
