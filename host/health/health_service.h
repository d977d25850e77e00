// The default health service, if Drover was built with its compiler.
#pragma once

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/drover_service.h>

#include <memory>

namespace drover::host {

class HealthService : public grpc::HealthCheckServiceInterface {
 public:
  // The generated service that answers Check and Watch.
  virtual grpc::Service* service() = 0;
  // Ends all calls of Watch, also those that are still to come: the server shuts down.
  virtual void end_watches() = 0;
};

// All names unknown but "", which is SERVING.
std::unique_ptr<HealthService> make_health_service();

}  // namespace drover::host
