// A run of the load client: connect, warm up, measure, let the calls in flight end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/connection.h"
#include "bench/load/plan.h"

namespace drover::bench {

struct LoadSchedule {
  uint32_t connections = 1;
  double warmup_s = 1;
  double duration_s = 5;         // measured, after the warm-up
  int64_t requests = 0;          // not 0: exactly so many calls, without warm-up, instead of a duration
  double call_timeout_s = 30;    // a call that takes longer counts as hung
  bool tolerate_errors = false;  // go on, and connect again, where the run would end
  bool announce = false;         // lines "begin" and "end" on stdout at the edges of the measurement
};

class LoadRun {
 public:
  LoadRun(const LoadPlan* plan, const LoadSchedule& schedule);
  ~LoadRun();

  // Runs to the end, or to the first error unless errors are tolerated. The tally has the result.
  void run();

  const LoadTally& tally() const { return tally_; }
  double measured_seconds() const { return measured_seconds_; }
  // This thread's CPU time during the measurement: near measured_seconds, the client is what limits the rate.
  double client_cpu_seconds() const { return client_cpu_seconds_; }

 private:
  bool connect_all();
  void turn(int64_t until_ns);
  void look_after_connections(int64_t now);
  void begin_measuring();
  void end_measuring();
  bool must_stop() const { return !schedule_.tolerate_errors && !tally_.clean(); }
  uint64_t in_flight() const;

  const LoadPlan* const plan_;
  const LoadSchedule schedule_;
  LoadTally tally_;
  std::vector<uint8_t> scratch_;
  int epoll_fd_ = -1;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<int64_t> retry_at_ns_;
  int64_t next_look_ns_ = 0;
  int64_t begin_ns_ = 0;
  double begin_cpu_s_ = 0;
  double measured_seconds_ = 0;
  double client_cpu_seconds_ = 0;
};

}  // namespace drover::bench
