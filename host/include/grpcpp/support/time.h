// Conversions between gpr_timespec and std::chrono, as gRPC has them.
#pragma once

#include <grpc/support/time.h>

#include <chrono>

namespace grpc {

inline void Timepoint2Timespec(const std::chrono::system_clock::time_point& from, gpr_timespec* to) {
  if (from == std::chrono::system_clock::time_point::max()) {
    *to = gpr_inf_future(GPR_CLOCK_REALTIME);
    return;
  }
  *to = gpr_time_from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(from.time_since_epoch()).count(),
                         GPR_CLOCK_REALTIME);
}

inline std::chrono::system_clock::time_point Timespec2Timepoint(gpr_timespec t) {
  if (gpr_time_is_inf_future(t)) return std::chrono::system_clock::time_point::max();
  return std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(
      std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec)));
}

template <typename T>
class TimePoint;
template <>
class TimePoint<gpr_timespec> {
 public:
  TimePoint(const gpr_timespec& time) : time_(time) {}
  gpr_timespec raw_time() { return time_; }

 private:
  gpr_timespec time_;
};
template <>
class TimePoint<std::chrono::system_clock::time_point> {
 public:
  TimePoint(const std::chrono::system_clock::time_point& time) { Timepoint2Timespec(time, &time_); }
  gpr_timespec raw_time() const { return time_; }

 private:
  gpr_timespec time_;
};

}  // namespace grpc
