// LoadReports: what host/ knows of load reports (host/orca), which a server may have switched on.
#pragma once

#include <memory>
#include <string>

namespace grpc::experimental {
class CallMetricRecorder;
}

namespace drover::host {

class LoadReports {
 public:
  // The trailing metadata that carries a call's report.
  static constexpr const char* kTrailer = "endpoint-load-metrics-bin";

  virtual ~LoadReports() = default;
  // For one call.
  virtual std::unique_ptr<grpc::experimental::CallMetricRecorder> make_recorder() const = 0;
  // The report at the end of a call, as wire bytes; `of_call` may be null. Empty: nothing was recorded. Any thread.
  virtual std::string report(const grpc::experimental::CallMetricRecorder* of_call) const = 0;
};

}  // namespace drover::host
