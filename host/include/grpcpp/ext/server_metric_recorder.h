// The load of a server, for the reports of its calls (call_metric_recorder.h) and for those that clients ask for
// (orca_service.h). gRPC's class.
//
// Thread-safety: any thread. Values that cannot be are ignored, as in CallMetricRecorder.
#pragma once

#include <grpcpp/support/string_ref.h>

#include <map>
#include <memory>

namespace drover::host {
class OrcaReports;
struct LoadValues;
}  // namespace drover::host

namespace grpc {
namespace experimental {

class OrcaService;

class ServerMetricRecorder {
 public:
  static std::unique_ptr<ServerMetricRecorder> Create();
  ~ServerMetricRecorder();
  ServerMetricRecorder(const ServerMetricRecorder&) = delete;
  ServerMetricRecorder& operator=(const ServerMetricRecorder&) = delete;

  void SetCpuUtilization(double value);
  void SetMemoryUtilization(double value);
  void SetApplicationUtilization(double value);
  void SetQps(double value);
  void SetEps(double value);
  // Names are copied.
  void SetNamedUtilization(string_ref name, double value);
  // In place of all that were set.
  void SetAllNamedUtilization(std::map<string_ref, double> named_utilization);

  void ClearCpuUtilization();
  void ClearMemoryUtilization();
  void ClearApplicationUtilization();
  void ClearQps();
  void ClearEps();
  void ClearNamedUtilization(string_ref name);

 private:
  friend class drover::host::OrcaReports;
  friend class OrcaService;
  struct State;
  ServerMetricRecorder();
  drover::host::LoadValues values() const;

  const std::unique_ptr<State> state_;
};

}  // namespace experimental
}  // namespace grpc
