// Load reports of calls (ORCA, gRFC A51): what a call has cost goes to its client in the trailing metadata, where a
// load balancer reads it. gRPC's class, of 1.51 and of later versions.
//
//   builder.experimental().EnableCallMetricRecording();
//   ...
//   context->ExperimentalGetCallMetricRecorder()->RecordCpuUtilizationMetric(0.5).RecordRequestCostMetric("rows", 3);
//
// Ownership: a recorder belongs to its call's context. Thread-safety: any thread, until the call has ended.
#pragma once

#include <grpcpp/support/string_ref.h>

namespace drover::host {
class OrcaReports;
}

namespace grpc {

class ServerBuilder;

namespace experimental {

class ServerMetricRecorder;

// Servers of that builder report what their calls record. With a recorder of the server, which must outlive it, each
// report has the server's values, too, where the call has not recorded its own.
void EnableCallMetricRecording(ServerBuilder* builder, ServerMetricRecorder* server_metric_recorder = nullptr);

// A value that is recorded again replaces the one before. Values that cannot be are ignored: utilizations of memory
// and names are from 0 to 1, others are 0 or more.
class CallMetricRecorder {
 public:
  virtual ~CallMetricRecorder() = default;
  CallMetricRecorder(const CallMetricRecorder&) = delete;
  CallMetricRecorder& operator=(const CallMetricRecorder&) = delete;

  // 1 is all of the processor that the server may use; more is possible.
  virtual CallMetricRecorder& RecordCpuUtilizationMetric(double value) = 0;
  virtual CallMetricRecorder& RecordMemoryUtilizationMetric(double value) = 0;
  virtual CallMetricRecorder& RecordApplicationUtilizationMetric(double value) = 0;
  // Requests and errors a second.
  virtual CallMetricRecorder& RecordQpsMetric(double value) = 0;
  virtual CallMetricRecorder& RecordEpsMetric(double value) = 0;
  // By name; the name is copied.
  virtual CallMetricRecorder& RecordUtilizationMetric(string_ref name, double value) = 0;
  virtual CallMetricRecorder& RecordRequestCostMetric(string_ref name, double value) = 0;
  virtual CallMetricRecorder& RecordNamedMetric(string_ref name, double value) = 0;

 protected:
  CallMetricRecorder() = default;
};

}  // namespace experimental
}  // namespace grpc
