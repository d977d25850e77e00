// TimeUtil and the arithmetic of google.protobuf.Timestamp and Duration (google/protobuf/util/time_util.h).
//
// Values are exact in nanoseconds. Results outside of the types' ranges (years 1 to 9999; ten thousand years) are not
// checked, as in protobuf C++'s release builds; arithmetic wraps and never is undefined. A product or quotient with a
// double ends at 9.2e18 seconds, and one that is not a number is 0. Dividing by zero ends the process. Thread-safety:
// functions of their arguments.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <sys/time.h>

#include <concepts>
#include <cstdint>
#include <ctime>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>

namespace drover::util {

class TimeUtil {
  using Timestamp = google::protobuf::Timestamp;
  using Duration = google::protobuf::Duration;

 public:
  static constexpr int64_t kTimestampMinSeconds = -62'135'596'800;  // 0001-01-01T00:00:00Z
  static constexpr int64_t kTimestampMaxSeconds = 253'402'300'799;  // 9999-12-31T23:59:59Z
  static constexpr int64_t kDurationMinSeconds = -315'576'000'000;
  static constexpr int64_t kDurationMaxSeconds = 315'576'000'000;

  // "1972-01-01T10:00:20.021Z", with 0, 3, 6 or 9 digits; "InvalidTime" out of range. FromString takes offsets, too
  // ("-08:00"); false: not a time.
  static std::string ToString(const Timestamp& timestamp);
  static bool FromString(std::string_view text, Timestamp* timestamp);
  // "1.010s", with 0, 3, 6 or 9 digits.
  static std::string ToString(const Duration& duration);
  static bool FromString(std::string_view text, Duration* duration);

  static Timestamp GetCurrentTime();
  static Timestamp GetEpoch() { return {}; }

  static Duration NanosecondsToDuration(int64_t nanoseconds);
  static Duration MicrosecondsToDuration(int64_t microseconds);
  static Duration MillisecondsToDuration(int64_t milliseconds);
  static Duration SecondsToDuration(int64_t seconds);
  static Duration MinutesToDuration(int64_t minutes);
  static Duration HoursToDuration(int64_t hours);
  // Rounded towards zero.
  static int64_t DurationToNanoseconds(const Duration& duration);
  static int64_t DurationToMicroseconds(const Duration& duration);
  static int64_t DurationToMilliseconds(const Duration& duration);
  static int64_t DurationToSeconds(const Duration& duration);
  static int64_t DurationToMinutes(const Duration& duration);
  static int64_t DurationToHours(const Duration& duration);

  static Timestamp NanosecondsToTimestamp(int64_t nanoseconds);
  static Timestamp MicrosecondsToTimestamp(int64_t microseconds);
  static Timestamp MillisecondsToTimestamp(int64_t milliseconds);
  static Timestamp SecondsToTimestamp(int64_t seconds);
  // Rounded down.
  static int64_t TimestampToNanoseconds(const Timestamp& timestamp);
  static int64_t TimestampToMicroseconds(const Timestamp& timestamp);
  static int64_t TimestampToMilliseconds(const Timestamp& timestamp);
  static int64_t TimestampToSeconds(const Timestamp& timestamp);

  static Timestamp TimeTToTimestamp(time_t value);
  static time_t TimestampToTimeT(const Timestamp& value);
  static Timestamp TimevalToTimestamp(const timeval& value);
  static timeval TimestampToTimeval(const Timestamp& value);
  static Duration TimevalToDuration(const timeval& value);
  static timeval DurationToTimeval(const Duration& value);
};

}  // namespace drover::util

// Where the types are, so that expressions find them; inline, so that libprotobuf's own are others. == and != are those
// of messages.
namespace google::protobuf {
inline namespace drover_time {

Duration& operator+=(Duration& a, const Duration& b);
Duration& operator-=(Duration& a, const Duration& b);
Duration& operator*=(Duration& a, int64_t factor);
Duration& operator*=(Duration& a, double factor);
Duration& operator/=(Duration& a, int64_t divisor);
Duration& operator/=(Duration& a, double divisor);
template <std::integral T>
Duration& operator*=(Duration& a, T factor) {
  return a *= static_cast<int64_t>(factor);
}
template <std::integral T>
Duration& operator/=(Duration& a, T divisor) {
  return a /= static_cast<int64_t>(divisor);
}
Duration& operator%=(Duration& a, const Duration& b);
// How often `b` fits into `a`, rounded towards zero.
int64_t operator/(const Duration& a, const Duration& b);
Duration operator-(const Duration& a);

inline Duration operator+(Duration a, const Duration& b) { return a += b; }
inline Duration operator-(Duration a, const Duration& b) { return a -= b; }
inline Duration operator%(Duration a, const Duration& b) { return a %= b; }
template <typename T>
  requires std::is_arithmetic_v<T>
Duration operator*(Duration a, T factor) {
  return a *= factor;
}
template <typename T>
  requires std::is_arithmetic_v<T>
Duration operator*(T factor, Duration a) {
  return a *= factor;
}
template <typename T>
  requires std::is_arithmetic_v<T>
Duration operator/(Duration a, T divisor) {
  return a /= divisor;
}

Timestamp& operator+=(Timestamp& a, const Duration& b);
Timestamp& operator-=(Timestamp& a, const Duration& b);
Duration operator-(const Timestamp& a, const Timestamp& b);
inline Timestamp operator+(Timestamp a, const Duration& b) { return a += b; }
inline Timestamp operator+(const Duration& a, Timestamp b) { return b += a; }
inline Timestamp operator-(Timestamp a, const Duration& b) { return a -= b; }

template <typename T>
concept TimeOrDuration = std::same_as<T, Timestamp> || std::same_as<T, Duration>;
template <TimeOrDuration T>
bool operator<(const T& a, const T& b) {
  return a.seconds() != b.seconds() ? a.seconds() < b.seconds() : a.nanos() < b.nanos();
}
template <TimeOrDuration T>
bool operator>(const T& a, const T& b) {
  return b < a;
}
template <TimeOrDuration T>
bool operator<=(const T& a, const T& b) {
  return !(b < a);
}
template <TimeOrDuration T>
bool operator>=(const T& a, const T& b) {
  return !(a < b);
}
template <TimeOrDuration T>
std::ostream& operator<<(std::ostream& out, const T& value) {
  return out << drover::util::TimeUtil::ToString(value);
}

}  // namespace drover_time
}  // namespace google::protobuf
