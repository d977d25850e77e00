// Stands in where Drover is built without its compiler: there is no health service then, and asking for it says so.
#include "host/health/health_service.h"
#include "host/log.h"

namespace drover::host {

std::unique_ptr<HealthService> make_health_service() {
  log(LogLevel::kWarning, "this build of Drover has no health service");
  return nullptr;
}

}  // namespace drover::host
