#include "host/health/health_service.h"

#include <grpcpp/grpcpp.h>

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "health.grpc.pb.h"

namespace drover::host {
namespace {

using builtin::grpc::health::v1::Health;
using builtin::grpc::health::v1::HealthCheckRequest;
using builtin::grpc::health::v1::HealthCheckResponse;
using ServingStatus = HealthCheckResponse::ServingStatus;

class DefaultHealthService final : public HealthService, private Health::WithCallbackMethod_Watch<Health::Service> {
 public:
  grpc::Service* service() override { return this; }

  void SetServingStatus(const std::string& name, bool serving) override {
    std::lock_guard lock(mutex_);
    serving_[name] = serving && !shut_down_;
    tell_watchers();
  }
  void SetServingStatus(bool serving) override {
    std::lock_guard lock(mutex_);
    for (auto& [name, value] : serving_) value = serving && !shut_down_;
    tell_watchers();
  }
  void Shutdown() override {
    std::lock_guard lock(mutex_);
    shut_down_ = true;
    for (auto& [name, value] : serving_) value = false;
    tell_watchers();
  }
  void end_watches() override {
    std::lock_guard lock(mutex_);
    ending_ = true;
    tell_watchers();
  }

 private:
  // A call of Watch. Its members are guarded by the service's mutex; what it starts runs no reaction at once.
  class Watcher final : public grpc::ServerWriteReactor<HealthCheckResponse> {
   public:
    Watcher(DefaultHealthService* service, std::string name) : service_(service), name_(std::move(name)) {}
    // The status may have changed.
    void look() {
      ServingStatus now = service_->status_of(name_);
      if (writing_ || finished_) return;
      if (sent_ && response_.status() == now) {
        if (service_->ending_) finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server shuts down"));
        return;
      }
      response_.set_status(now);
      sent_ = writing_ = true;
      StartWrite(&response_);
    }
    void OnWriteDone(bool ok) override {
      std::lock_guard lock(service_->mutex_);
      writing_ = false;
      ok ? look() : finish(grpc::Status::CANCELLED);
    }
    void OnCancel() override {
      std::lock_guard lock(service_->mutex_);
      finish(grpc::Status::CANCELLED);
    }
    void OnDone() override {
      {
        std::lock_guard lock(service_->mutex_);
        service_->watchers_.erase(this);
      }
      delete this;
    }

   private:
    void finish(const grpc::Status& status) {
      if (finished_) return;
      finished_ = true;
      Finish(status);
    }

    DefaultHealthService* const service_;
    const std::string name_;
    HealthCheckResponse response_;
    bool sent_ = false, writing_ = false, finished_ = false;
  };

  grpc::Status Check(grpc::ServerContext*, const HealthCheckRequest* request, HealthCheckResponse* response) override {
    std::lock_guard lock(mutex_);
    ServingStatus status = status_of(std::string(request->service()));
    if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
      return grpc::Status(grpc::StatusCode::NOT_FOUND, "service name unknown");
    }
    response->set_status(status);
    return grpc::Status::OK;
  }
  grpc::ServerWriteReactor<HealthCheckResponse>* Watch(grpc::CallbackServerContext*,
                                                       const HealthCheckRequest* request) override {
    std::lock_guard lock(mutex_);
    auto* watcher = new Watcher(this, std::string(request->service()));
    watchers_.insert(watcher);
    watcher->look();
    return watcher;
  }

  // With mutex_ held.
  ServingStatus status_of(const std::string& name) const {
    auto found = serving_.find(name);
    if (found == serving_.end()) return HealthCheckResponse::SERVICE_UNKNOWN;
    return found->second ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
  }
  void tell_watchers() {
    for (Watcher* watcher : watchers_) watcher->look();
  }

  std::mutex mutex_;
  std::map<std::string, bool> serving_ = {{"", true}};
  std::set<Watcher*> watchers_;
  bool shut_down_ = false;
  bool ending_ = false;
};

}  // namespace

std::unique_ptr<HealthService> make_health_service() { return std::make_unique<DefaultHealthService>(); }

}  // namespace drover::host
