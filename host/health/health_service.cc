#include "host/health/health_service.h"

#include <grpcpp/grpcpp.h>

#include <map>
#include <mutex>
#include <string>

#include "health.grpc.pb.h"

namespace drover::host {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class DefaultHealthService final : public HealthService, private Health::Service {
 public:
  grpc::Service* service() override { return this; }

  void SetServingStatus(const std::string& name, bool serving) override {
    std::lock_guard lock(mutex_);
    serving_[name] = serving && !shut_down_;
  }
  void SetServingStatus(bool serving) override {
    std::lock_guard lock(mutex_);
    for (auto& [name, value] : serving_) value = serving && !shut_down_;
  }
  void Shutdown() override {
    std::lock_guard lock(mutex_);
    shut_down_ = true;
    for (auto& [name, value] : serving_) value = false;
  }

 private:
  grpc::Status Check(grpc::ServerContext*, const HealthCheckRequest* request, HealthCheckResponse* response) override {
    std::lock_guard lock(mutex_);
    auto found = serving_.find(std::string(request->service()));
    if (found == serving_.end()) return grpc::Status(grpc::StatusCode::NOT_FOUND, "service name unknown");
    response->set_status(found->second ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
    return grpc::Status::OK;
  }

  std::mutex mutex_;
  std::map<std::string, bool> serving_ = {{"", true}};
  bool shut_down_ = false;
};

}  // namespace

std::unique_ptr<HealthService> make_health_service() { return std::make_unique<DefaultHealthService>(); }

}  // namespace drover::host
