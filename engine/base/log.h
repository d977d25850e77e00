// The engine's log: one line an event, as text (`time level event key=value ...`) or as JSON (one object a line).
// Events that a peer or a host can cause pass through a Limit, so that neither can fill a disk.
//
// Thread-safe. Before `open` is called, lines go to stderr as text from level info up.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace drover::engine::log {

enum class Level { kTrace, kDebug, kInfo, kWarn, kError, kOff };

struct Options {
  std::string level = "info";   // trace, debug, info, warn, error, off
  std::string format = "text";  // text, json
  std::string file;             // empty: stderr
};
// Returns what went wrong, or an empty string.
std::string open(const Options& options);
void flush();

// One field. Strings are copied by the call that logs, not here.
class Field {
 public:
  Field(std::string_view k, std::string_view v) : key(k), text(v), kind(kText) {}
  Field(std::string_view k, const char* v) : Field(k, std::string_view(v)) {}
  Field(std::string_view k, const std::string& v) : Field(k, std::string_view(v)) {}
  Field(std::string_view k, bool v) : key(k), number(v), kind(kBool) {}
  template <typename Integer>
    requires(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>)
  Field(std::string_view k, Integer v) : key(k), number(static_cast<int64_t>(v)), kind(kNumber) {}

  std::string_view key;
  std::string_view text;
  int64_t number = 0;
  enum Kind { kText, kNumber, kBool } kind;
};
using Fields = std::initializer_list<Field>;

bool enabled(Level level);
void write(Level level, std::string_view event, Fields fields);

// Lets `burst` events through every ten seconds and counts the others; the next event let through is followed by a line
// with their number ("suppressed"). Each place in the code that logs such an event has a static Limit of its own.
class Limit {
 public:
  explicit Limit(uint32_t burst = 20) : burst_(burst) {}
  // True: log it; *suppressed events before it were left out.
  bool allow(uint64_t* suppressed);

 private:
  const uint32_t burst_;
  std::atomic<int64_t> window_start_ns_{0};
  std::atomic<uint32_t> used_{0};
  std::atomic<uint64_t> suppressed_{0};
};
void write(Limit& limit, Level level, std::string_view event, Fields fields);

inline void debug(std::string_view event, Fields fields = {}) { write(Level::kDebug, event, fields); }
inline void info(std::string_view event, Fields fields = {}) { write(Level::kInfo, event, fields); }
inline void warn(std::string_view event, Fields fields = {}) { write(Level::kWarn, event, fields); }
inline void error(std::string_view event, Fields fields = {}) { write(Level::kError, event, fields); }
inline void info(Limit& limit, std::string_view event, Fields fields = {}) {
  write(limit, Level::kInfo, event, fields);
}
inline void warn(Limit& limit, std::string_view event, Fields fields = {}) {
  write(limit, Level::kWarn, event, fields);
}
inline void error(Limit& limit, std::string_view event, Fields fields = {}) {
  write(limit, Level::kError, event, fields);
}

}  // namespace drover::engine::log
