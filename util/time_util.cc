#include "util/time_util.h"

#include <algorithm>
#include <cmath>

#include "json/json.h"
#include "object/owner.h"

namespace drover::util {
namespace {

using google::protobuf::Duration;
using google::protobuf::Timestamp;
using Wide = __int128;

constexpr int64_t kNanos = 1'000'000'000;
constexpr int64_t kMicros = 1'000'000;
constexpr int64_t kMillis = 1'000;

template <typename T>
Wide nanoseconds(const T& value) {
  return Wide{value.seconds()} * kNanos + value.nanos();
}

// Both parts have the sign of the whole.
Duration to_duration(Wide nanoseconds) {
  Duration duration;
  duration.set_seconds(static_cast<int64_t>(nanoseconds / kNanos));
  duration.set_nanos(static_cast<int32_t>(nanoseconds % kNanos));
  return duration;
}

// The nanoseconds count forward, before the epoch, too.
Timestamp to_timestamp(Wide nanoseconds) {
  Wide seconds = nanoseconds / kNanos;
  Wide rest = nanoseconds % kNanos;
  if (rest < 0) {
    rest += kNanos;
    --seconds;
  }
  Timestamp timestamp;
  timestamp.set_seconds(static_cast<int64_t>(seconds));
  timestamp.set_nanos(static_cast<int32_t>(rest));
  return timestamp;
}

// Rounded towards zero. A timestamp's parts are rounded apart, and its nanoseconds are not negative.
int64_t in_units(int64_t seconds, int32_t nanos, int64_t units_per_second) {
  return static_cast<int64_t>(static_cast<uint64_t>(seconds) * static_cast<uint64_t>(units_per_second) +
                              static_cast<uint64_t>(nanos / (kNanos / units_per_second)));
}

// The JSON form of the type is this text in quotes.
template <typename T>
bool parse_text(std::string_view text, T* value) {
  for (const char c : text) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') return false;
  }
  T parsed;
  if (!json::from_string('"' + std::string(text) + '"', &parsed).ok()) return false;
  *value = parsed;
  return true;
}

std::string fraction(int32_t nanos) {
  if (nanos == 0) return "";
  std::string digits = std::to_string(kNanos + nanos).substr(1);
  while (digits.ends_with("000")) digits.resize(digits.size() - 3);
  return "." + digits;
}

}  // namespace

std::string TimeUtil::ToString(const Timestamp& timestamp) {
  std::string text;
  if (!json::to_string(timestamp, &text).ok()) return "InvalidTime";
  return text.substr(1, text.size() - 2);
}

bool TimeUtil::FromString(std::string_view text, Timestamp* timestamp) { return parse_text(text, timestamp); }

std::string TimeUtil::ToString(const Duration& duration) {
  const Wide all = nanoseconds(duration);
  const Wide size = all < 0 ? -all : all;
  return (all < 0 ? "-" : "") + std::to_string(static_cast<uint64_t>(size / kNanos)) +
         fraction(static_cast<int32_t>(size % kNanos)) + "s";
}

bool TimeUtil::FromString(std::string_view text, Duration* duration) { return parse_text(text, duration); }

Timestamp TimeUtil::GetCurrentTime() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return to_timestamp(Wide{now.tv_sec} * kNanos + now.tv_nsec);
}

Duration TimeUtil::NanosecondsToDuration(int64_t nanoseconds) { return to_duration(nanoseconds); }
Duration TimeUtil::MicrosecondsToDuration(int64_t microseconds) {
  return to_duration(Wide{microseconds} * (kNanos / kMicros));
}
Duration TimeUtil::MillisecondsToDuration(int64_t milliseconds) {
  return to_duration(Wide{milliseconds} * (kNanos / kMillis));
}
Duration TimeUtil::SecondsToDuration(int64_t seconds) { return to_duration(Wide{seconds} * kNanos); }
Duration TimeUtil::MinutesToDuration(int64_t minutes) { return to_duration(Wide{minutes} * 60 * kNanos); }
Duration TimeUtil::HoursToDuration(int64_t hours) { return to_duration(Wide{hours} * 3600 * kNanos); }

int64_t TimeUtil::DurationToNanoseconds(const Duration& duration) {
  return in_units(duration.seconds(), duration.nanos(), kNanos);
}
int64_t TimeUtil::DurationToMicroseconds(const Duration& duration) {
  return in_units(duration.seconds(), duration.nanos(), kMicros);
}
int64_t TimeUtil::DurationToMilliseconds(const Duration& duration) {
  return in_units(duration.seconds(), duration.nanos(), kMillis);
}
int64_t TimeUtil::DurationToSeconds(const Duration& duration) { return duration.seconds(); }
int64_t TimeUtil::DurationToMinutes(const Duration& duration) { return duration.seconds() / 60; }
int64_t TimeUtil::DurationToHours(const Duration& duration) { return duration.seconds() / 3600; }

Timestamp TimeUtil::NanosecondsToTimestamp(int64_t nanoseconds) { return to_timestamp(nanoseconds); }
Timestamp TimeUtil::MicrosecondsToTimestamp(int64_t microseconds) {
  return to_timestamp(Wide{microseconds} * (kNanos / kMicros));
}
Timestamp TimeUtil::MillisecondsToTimestamp(int64_t milliseconds) {
  return to_timestamp(Wide{milliseconds} * (kNanos / kMillis));
}
Timestamp TimeUtil::SecondsToTimestamp(int64_t seconds) { return to_timestamp(Wide{seconds} * kNanos); }

int64_t TimeUtil::TimestampToNanoseconds(const Timestamp& timestamp) {
  return in_units(timestamp.seconds(), timestamp.nanos(), kNanos);
}
int64_t TimeUtil::TimestampToMicroseconds(const Timestamp& timestamp) {
  return in_units(timestamp.seconds(), timestamp.nanos(), kMicros);
}
int64_t TimeUtil::TimestampToMilliseconds(const Timestamp& timestamp) {
  return in_units(timestamp.seconds(), timestamp.nanos(), kMillis);
}
int64_t TimeUtil::TimestampToSeconds(const Timestamp& timestamp) { return timestamp.seconds(); }

Timestamp TimeUtil::TimeTToTimestamp(time_t value) { return SecondsToTimestamp(value); }
time_t TimeUtil::TimestampToTimeT(const Timestamp& value) { return value.seconds(); }

Timestamp TimeUtil::TimevalToTimestamp(const timeval& value) {
  return to_timestamp(Wide{value.tv_sec} * kNanos + Wide{value.tv_usec} * (kNanos / kMicros));
}
timeval TimeUtil::TimestampToTimeval(const Timestamp& value) {
  return {.tv_sec = value.seconds(), .tv_usec = value.nanos() / (kNanos / kMicros)};
}
Duration TimeUtil::TimevalToDuration(const timeval& value) {
  return to_duration(Wide{value.tv_sec} * kNanos + Wide{value.tv_usec} * (kNanos / kMicros));
}
// A timeval's microseconds are not negative.
timeval TimeUtil::DurationToTimeval(const Duration& value) {
  Wide micros = nanoseconds(value) / (kNanos / kMicros);
  Wide seconds = micros / kMicros;
  micros %= kMicros;
  if (micros < 0) {
    micros += kMicros;
    --seconds;
  }
  return {.tv_sec = static_cast<time_t>(seconds), .tv_usec = static_cast<suseconds_t>(micros)};
}

}  // namespace drover::util

namespace google::protobuf {
inline namespace drover_time {
namespace {

using drover::util::nanoseconds;
using drover::util::to_duration;
using drover::util::to_timestamp;
using drover::util::Wide;

Wide divisor_of(Wide value) {
  if (value == 0) drover::fatal("a Duration is divided by zero");
  return value;
}

}  // namespace

Duration& operator+=(Duration& a, const Duration& b) { return a = to_duration(nanoseconds(a) + nanoseconds(b)); }
Duration& operator-=(Duration& a, const Duration& b) { return a = to_duration(nanoseconds(a) - nanoseconds(b)); }
Duration& operator*=(Duration& a, int64_t factor) {
  using Unsigned = unsigned __int128;
  return a = to_duration(
             static_cast<Wide>(static_cast<Unsigned>(nanoseconds(a)) * static_cast<Unsigned>(Wide{factor})));
}
Duration& operator*=(Duration& a, double factor) {
  constexpr double kPerSecond = 1e9;
  constexpr double kMost = 9.2e18;  // what an int64 holds
  const double product = (static_cast<double>(a.seconds()) + a.nanos() / kPerSecond) * factor;
  const double seconds = std::isnan(product) ? 0 : std::clamp(product, -kMost, kMost);
  const auto whole = static_cast<int64_t>(seconds);
  const auto nanos = static_cast<int32_t>((seconds - static_cast<double>(whole)) * kPerSecond);
  return a = to_duration(Wide{whole} * static_cast<int64_t>(kPerSecond) + nanos);
}
Duration& operator/=(Duration& a, int64_t divisor) { return a = to_duration(nanoseconds(a) / divisor_of(divisor)); }
Duration& operator/=(Duration& a, double divisor) {
  if (divisor == 0) drover::fatal("a Duration is divided by zero");
  return a *= 1.0 / divisor;
}
Duration& operator%=(Duration& a, const Duration& b) {
  return a = to_duration(nanoseconds(a) % divisor_of(nanoseconds(b)));
}
int64_t operator/(const Duration& a, const Duration& b) {
  return static_cast<int64_t>(nanoseconds(a) / divisor_of(nanoseconds(b)));
}
Duration operator-(const Duration& a) { return to_duration(-nanoseconds(a)); }

Timestamp& operator+=(Timestamp& a, const Duration& b) { return a = to_timestamp(nanoseconds(a) + nanoseconds(b)); }
Timestamp& operator-=(Timestamp& a, const Duration& b) { return a = to_timestamp(nanoseconds(a) - nanoseconds(b)); }
Duration operator-(const Timestamp& a, const Timestamp& b) { return to_duration(nanoseconds(a) - nanoseconds(b)); }

}  // namespace drover_time
}  // namespace google::protobuf
