#include "json/special_text.h"

#include <chrono>
#include <cstdio>

namespace drover::json {
namespace {

constexpr int64_t kMinTimestamp = -62135596800;  // 0001-01-01T00:00:00Z
constexpr int64_t kMaxTimestamp = 253402300799;  // 9999-12-31T23:59:59Z
constexpr int64_t kMaxDuration = 315576000000;
constexpr int32_t kSecond = 1000000000;  // in nanos

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes exactly `count` digits off the front.
bool take_digits(std::string_view* text, size_t count, int* value) {
  if (text->size() < count) return false;
  *value = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!is_digit((*text)[i])) return false;
    *value = *value * 10 + ((*text)[i] - '0');
  }
  text->remove_prefix(count);
  return true;
}

bool take(std::string_view* text, char c) {
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

// A fraction of a second, if there is one: a point and 1 to 9 digits.
bool take_fraction(std::string_view* text, int32_t* nanos) {
  *nanos = 0;
  if (!take(text, '.')) return true;
  int digits = 0;
  for (; !text->empty() && is_digit(text->front()); text->remove_prefix(1)) {
    if (++digits > 9) return false;
    *nanos = *nanos * 10 + (text->front() - '0');
  }
  if (digits == 0) return false;
  for (; digits < 9; ++digits) *nanos *= 10;
  return true;
}

void append_fraction(int32_t nanos, std::string* out) {
  if (nanos == 0) return;
  char text[16];
  if (nanos % 1000000 == 0) {
    std::snprintf(text, sizeof(text), ".%03d", nanos / 1000000);
  } else if (nanos % 1000 == 0) {
    std::snprintf(text, sizeof(text), ".%06d", nanos / 1000);
  } else {
    std::snprintf(text, sizeof(text), ".%09d", nanos);
  }
  *out += text;
}

}  // namespace

bool append_timestamp(int64_t seconds, int32_t nanos, std::string* out) {
  if (seconds < kMinTimestamp || seconds > kMaxTimestamp || nanos < 0 || nanos >= kSecond) return false;
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char text[32];
  std::snprintf(text, sizeof(text), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  *out += text;
  append_fraction(nanos, out);
  *out += 'Z';
  return true;
}

bool read_timestamp(std::string_view text, int64_t* seconds, int32_t* nanos) {
  int year, month, day, hour, minute, second;
  const bool form = take_digits(&text, 4, &year) && take(&text, '-') && take_digits(&text, 2, &month) &&
                    take(&text, '-') && take_digits(&text, 2, &day) && take(&text, 'T') &&
                    take_digits(&text, 2, &hour) && take(&text, ':') && take_digits(&text, 2, &minute) &&
                    take(&text, ':') && take_digits(&text, 2, &second) && take_fraction(&text, nanos);
  if (!form || hour > 23 || minute > 59 || second > 59) return false;
  const std::chrono::year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok() || year == 0) return false;
  *seconds =
      int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * 86400 + hour * 3600 + minute * 60 + second;
  if (!take(&text, 'Z')) {
    const bool behind_utc = !text.empty() && text.front() == '-';
    int offset_hours, offset_minutes;
    const bool offset = (take(&text, '+') || take(&text, '-')) && take_digits(&text, 2, &offset_hours) &&
                        take(&text, ':') && take_digits(&text, 2, &offset_minutes);
    if (!offset || offset_hours > 23 || offset_minutes > 59) return false;
    const int64_t shift = offset_hours * 3600 + offset_minutes * 60;
    *seconds += behind_utc ? shift : -shift;
  }
  return text.empty() && *seconds >= kMinTimestamp && *seconds <= kMaxTimestamp;
}

bool append_duration(int64_t seconds, int32_t nanos, std::string* out) {
  if (seconds < -kMaxDuration || seconds > kMaxDuration || nanos <= -kSecond || nanos >= kSecond) return false;
  if ((seconds < 0 && nanos > 0) || (seconds > 0 && nanos < 0)) return false;
  if (seconds < 0 || nanos < 0) *out += '-';
  *out += std::to_string(seconds < 0 ? -seconds : seconds);
  append_fraction(nanos < 0 ? -nanos : nanos, out);
  *out += 's';
  return true;
}

bool read_duration(std::string_view text, int64_t* seconds, int32_t* nanos) {
  const bool negative = take(&text, '-');
  if (text.empty() || !is_digit(text.front())) return false;
  *seconds = 0;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    *seconds = *seconds * 10 + (text.front() - '0');
    if (*seconds > kMaxDuration) return false;
  }
  if (!take_fraction(&text, nanos) || text != "s") return false;
  if (negative) {
    *seconds = -*seconds;
    *nanos = -*nanos;
  }
  return true;
}

bool append_mask_path(std::string_view path, std::string* out) {
  if (path.empty()) return false;
  for (size_t i = 0; i < path.size(); ++i) {
    char c = path[i];
    if (c == '_') {  // goes with a small letter behind it, which becomes a capital
      if (++i == path.size() || path[i] < 'a' || path[i] > 'z') return false;
      c = static_cast<char>(path[i] - 'a' + 'A');
    } else if (!is_digit(c) && c != '.' && (c < 'a' || c > 'z')) {
      return false;
    }
    *out += c;
  }
  return true;
}

bool read_mask_path(std::string_view text, std::string* path) {
  path->clear();
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') {
      *path += '_';
      *path += static_cast<char>(c - 'A' + 'a');
    } else if (is_digit(c) || c == '.' || (c >= 'a' && c <= 'z')) {
      *path += c;
    } else {
      return false;
    }
  }
  return !path->empty();
}

}  // namespace drover::json
