// gpr_timespec, as far as ServerContext::raw_deadline and Server::Shutdown need it.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  GPR_CLOCK_MONOTONIC = 0,
  GPR_CLOCK_REALTIME,
  GPR_CLOCK_PRECISE,
  GPR_TIMESPAN,
} gpr_clock_type;

typedef struct gpr_timespec {
  int64_t tv_sec;
  int32_t tv_nsec;
  gpr_clock_type clock_type;
} gpr_timespec;

gpr_timespec gpr_now(gpr_clock_type clock);

#ifdef __cplusplus
}
#endif

static inline gpr_timespec gpr_inf_future(gpr_clock_type clock) {
  gpr_timespec t = {INT64_MAX, 0, clock};
  return t;
}
static inline gpr_timespec gpr_inf_past(gpr_clock_type clock) {
  gpr_timespec t = {INT64_MIN, 0, clock};
  return t;
}
static inline int gpr_time_is_inf_future(gpr_timespec t) { return t.tv_sec == INT64_MAX; }
static inline gpr_timespec gpr_time_from_ns(int64_t ns, gpr_clock_type clock) {
  int64_t seconds = ns / 1000000000;
  int32_t rest = (int32_t)(ns % 1000000000);
  if (rest < 0) {
    rest += 1000000000;
    seconds -= 1;
  }
  gpr_timespec t = {seconds, rest, clock};
  return t;
}
static inline gpr_timespec gpr_time_from_micros(int64_t us, gpr_clock_type clock) {
  gpr_timespec t = gpr_time_from_ns((us % 1000000) * 1000, clock);
  t.tv_sec += us / 1000000;
  return t;
}
static inline gpr_timespec gpr_time_from_millis(int64_t ms, gpr_clock_type clock) {
  gpr_timespec t = gpr_time_from_ns((ms % 1000) * 1000000, clock);
  t.tv_sec += ms / 1000;
  return t;
}
static inline gpr_timespec gpr_time_from_seconds(int64_t s, gpr_clock_type clock) {
  gpr_timespec t = {s, 0, clock};
  return t;
}
static inline gpr_timespec gpr_time_add(gpr_timespec a, gpr_timespec b) {
  if (a.tv_sec == INT64_MAX || b.tv_sec == INT64_MAX) return gpr_inf_future(a.clock_type);
  gpr_timespec t = {a.tv_sec + b.tv_sec, a.tv_nsec + b.tv_nsec, a.clock_type};
  if (t.tv_nsec >= 1000000000) {
    t.tv_nsec -= 1000000000;
    t.tv_sec += 1;
  }
  return t;
}
