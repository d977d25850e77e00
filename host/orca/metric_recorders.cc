// The recorders of a call and of a server, and the reports that calls end with.
#include <grpcpp/ext/call_metric_recorder.h>
#include <grpcpp/ext/server_metric_recorder.h>
#include <grpcpp/server_builder.h>

#include <mutex>
#include <utility>

#include "host/load_reports.h"
#include "host/orca/load_values.h"
#include "orca.pb.h"

namespace drover::host {
namespace {

using grpc::string_ref;
using grpc::experimental::CallMetricRecorder;
using grpc::experimental::ServerMetricRecorder;

std::string text_of(string_ref name) { return std::string(name.data(), name.size()); }

class CallRecorder final : public CallMetricRecorder {
 public:
  CallMetricRecorder& RecordCpuUtilizationMetric(double value) override {
    return set(&LoadValues::cpu, LoadValues::is_rate, value);
  }
  CallMetricRecorder& RecordMemoryUtilizationMetric(double value) override {
    return set(&LoadValues::memory, LoadValues::is_share, value);
  }
  CallMetricRecorder& RecordApplicationUtilizationMetric(double value) override {
    return set(&LoadValues::application, LoadValues::is_rate, value);
  }
  CallMetricRecorder& RecordQpsMetric(double value) override {
    return set(&LoadValues::qps, LoadValues::is_rate, value);
  }
  CallMetricRecorder& RecordEpsMetric(double value) override {
    return set(&LoadValues::eps, LoadValues::is_rate, value);
  }
  CallMetricRecorder& RecordUtilizationMetric(string_ref name, double value) override {
    return LoadValues::is_share(value) ? set(&LoadValues::utilization, name, value) : *this;
  }
  CallMetricRecorder& RecordRequestCostMetric(string_ref name, double value) override {
    return set(&LoadValues::costs, name, value);
  }
  CallMetricRecorder& RecordNamedMetric(string_ref name, double value) override {
    return set(&LoadValues::metrics, name, value);
  }

  LoadValues values() const {
    std::lock_guard lock(mutex_);
    return values_;
  }

 private:
  CallMetricRecorder& set(std::optional<double> LoadValues::* member, bool (*can_be)(double), double value) {
    if (!can_be(value)) return *this;
    std::lock_guard lock(mutex_);
    values_.*member = value;
    return *this;
  }
  CallMetricRecorder& set(LoadValues::Named LoadValues::* member, string_ref name, double value) {
    std::lock_guard lock(mutex_);
    (values_.*member)[text_of(name)] = value;
    return *this;
  }

  mutable std::mutex mutex_;
  LoadValues values_;
};

}  // namespace

class OrcaReports final : public LoadReports {
 public:
  explicit OrcaReports(const ServerMetricRecorder* of_server) : of_server_(of_server) {}

  std::unique_ptr<CallMetricRecorder> make_recorder() const override { return std::make_unique<CallRecorder>(); }
  std::string report(const CallMetricRecorder* of_call) const override {
    LoadValues values;
    if (of_server_ != nullptr) values = of_server_->values();
    if (of_call != nullptr) values.replace_by(static_cast<const CallRecorder*>(of_call)->values());
    if (values.empty()) return {};
    OrcaLoadReport report;
    values.fill(&report);
    return report.SerializeAsString();
  }

 private:
  const ServerMetricRecorder* const of_server_;
};

}  // namespace drover::host

namespace grpc {

void ServerBuilder::experimental_type::EnableCallMetricRecording(
    experimental::ServerMetricRecorder* server_metric_recorder) {
  experimental::EnableCallMetricRecording(builder_, server_metric_recorder);
}

}  // namespace grpc

namespace grpc::experimental {

using drover::host::LoadValues;

void EnableCallMetricRecording(ServerBuilder* builder, ServerMetricRecorder* server_metric_recorder) {
  builder->drover_report_load(std::make_shared<drover::host::OrcaReports>(server_metric_recorder));
}

struct ServerMetricRecorder::State {
  mutable std::mutex mutex;
  LoadValues values;

  void set(std::optional<double> LoadValues::* member, std::optional<double> value) {
    std::lock_guard lock(mutex);
    values.*member = value;
  }
};

ServerMetricRecorder::ServerMetricRecorder() : state_(std::make_unique<State>()) {}
ServerMetricRecorder::~ServerMetricRecorder() = default;
std::unique_ptr<ServerMetricRecorder> ServerMetricRecorder::Create() {
  return std::unique_ptr<ServerMetricRecorder>(new ServerMetricRecorder());
}

LoadValues ServerMetricRecorder::values() const {
  std::lock_guard lock(state_->mutex);
  return state_->values;
}

void ServerMetricRecorder::SetCpuUtilization(double value) {
  if (LoadValues::is_rate(value)) state_->set(&LoadValues::cpu, value);
}
void ServerMetricRecorder::SetMemoryUtilization(double value) {
  if (LoadValues::is_share(value)) state_->set(&LoadValues::memory, value);
}
void ServerMetricRecorder::SetApplicationUtilization(double value) {
  if (LoadValues::is_rate(value)) state_->set(&LoadValues::application, value);
}
void ServerMetricRecorder::SetQps(double value) {
  if (LoadValues::is_rate(value)) state_->set(&LoadValues::qps, value);
}
void ServerMetricRecorder::SetEps(double value) {
  if (LoadValues::is_rate(value)) state_->set(&LoadValues::eps, value);
}
void ServerMetricRecorder::SetNamedUtilization(string_ref name, double value) {
  if (!LoadValues::is_share(value)) return;
  std::lock_guard lock(state_->mutex);
  state_->values.utilization[drover::host::text_of(name)] = value;
}
void ServerMetricRecorder::SetAllNamedUtilization(std::map<string_ref, double> named_utilization) {
  LoadValues::Named all;
  for (const auto& [name, value] : named_utilization) {
    if (LoadValues::is_share(value)) all[drover::host::text_of(name)] = value;
  }
  std::lock_guard lock(state_->mutex);
  state_->values.utilization = std::move(all);
}

void ServerMetricRecorder::ClearCpuUtilization() { state_->set(&LoadValues::cpu, std::nullopt); }
void ServerMetricRecorder::ClearMemoryUtilization() { state_->set(&LoadValues::memory, std::nullopt); }
void ServerMetricRecorder::ClearApplicationUtilization() { state_->set(&LoadValues::application, std::nullopt); }
void ServerMetricRecorder::ClearQps() { state_->set(&LoadValues::qps, std::nullopt); }
void ServerMetricRecorder::ClearEps() { state_->set(&LoadValues::eps, std::nullopt); }
void ServerMetricRecorder::ClearNamedUtilization(string_ref name) {
  std::lock_guard lock(state_->mutex);
  state_->values.utilization.erase(drover::host::text_of(name));
}

}  // namespace grpc::experimental
