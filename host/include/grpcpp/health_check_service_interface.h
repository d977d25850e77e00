// The health service (grpc.health.v1.Health): Check and Watch.
#pragma once

#include <string>

namespace grpc {

class HealthCheckServiceInterface {
 public:
  virtual ~HealthCheckServiceInterface() = default;
  // Sets or changes the status of a service; one that was never set is unknown (NOT_FOUND). "" is the server itself.
  virtual void SetServingStatus(const std::string& service_name, bool serving) = 0;
  // Of all services set so far.
  virtual void SetServingStatus(bool serving) = 0;
  // Everything is NOT_SERVING from now on.
  virtual void Shutdown() {}
};

// Whether servers built from now on serve health checks. Not thread-safe.
void EnableDefaultHealthCheckService(bool enable);
bool DefaultHealthCheckServiceEnabled();

}  // namespace grpc
