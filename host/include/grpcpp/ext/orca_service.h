// OrcaService: streams the load of a server to the clients that ask for it (xds.service.orca.v3.OpenRcaService, gRFC
// A51). gRPC's class.
#pragma once

#include <grpcpp/ext/server_metric_recorder.h>
#include <grpcpp/impl/service_type.h>

#include <chrono>
#include <memory>

namespace grpc {
namespace experimental {

class OrcaService : public Service {
 public:
  struct Options {
    // The least time between two reports of a stream. Clients that ask for less get this.
    std::chrono::nanoseconds min_report_duration = std::chrono::seconds(30);

    // A std::chrono::duration, or an absl::Duration.
    template <typename Rep, typename Period>
    Options& set_min_report_duration(std::chrono::duration<Rep, Period> duration) {
      min_report_duration = std::chrono::duration_cast<std::chrono::nanoseconds>(duration);
      return *this;
    }
    template <typename AbslDuration>
    Options& set_min_report_duration(AbslDuration duration) {
      min_report_duration = ToChronoNanoseconds(duration);
      return *this;
    }
  };

  // The recorder must outlive the service, and the service the server.
  OrcaService(ServerMetricRecorder* server_metric_recorder, Options options);
  ~OrcaService() override;

 private:
  class Streams;
  const std::unique_ptr<Streams> streams_;
};

}  // namespace experimental
}  // namespace grpc
