#include <grpcpp/alarm.h>
#include <grpcpp/ext/orca_service.h>
#include <grpcpp/impl/drover_service.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "host/orca/load_values.h"
#include "orca.grpc.pb.h"

namespace grpc::experimental {
namespace {

namespace v3 = drover::host::builtin::xds::service::orca::v3;

// As far as a client may ask.
constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24);

std::chrono::nanoseconds interval_of(const v3::OrcaLoadReportRequest& request, std::chrono::nanoseconds least) {
  const auto& asked = request.report_interval();
  const int64_t seconds = std::clamp<int64_t>(asked.seconds(), 0, 24 * 3600);
  const int32_t nanos = std::clamp<int32_t>(asked.nanos(), 0, 999'999'999);
  return std::max(least, std::min(kLongest, std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos)));
}

}  // namespace

class OrcaService::Streams {
 public:
  Streams(ServerMetricRecorder* recorder, Options options) : recorder_(*recorder), options_(options) {}

  ServerWriteReactor<v3::OrcaLoadReport>* StreamCoreMetrics(CallbackServerContext*,
                                                            const v3::OrcaLoadReportRequest* request) {
    auto* stream = new Stream(recorder_, interval_of(*request, options_.min_report_duration));
    stream->start();
    return stream;
  }

 private:
  // A client's. What it starts runs no reaction at once, so that the mutex may be held.
  class Stream final : public ServerWriteReactor<v3::OrcaLoadReport> {
   public:
    Stream(const ServerMetricRecorder& recorder, std::chrono::nanoseconds interval)
        : recorder_(recorder), interval_(interval) {}
    void start() {
      std::lock_guard lock(mutex_);
      write();
    }
    void OnWriteDone(bool ok) override {
      std::lock_guard lock(mutex_);
      if (finished_) return;
      if (!ok) return finish();
      waits_ = true;
      alarm_.Set(std::chrono::system_clock::now() + interval_, [this](bool) { rang(); });
    }
    void OnCancel() override {
      std::lock_guard lock(mutex_);
      if (!finished_) finish();
    }
    void OnDone() override {
      {
        std::lock_guard lock(mutex_);
        done_ = true;
        if (waits_) return;  // rang() deletes it
      }
      delete this;
    }

   private:
    void rang() {
      {
        std::lock_guard lock(mutex_);
        waits_ = false;
        if (!finished_) write();
        if (!done_) return;
      }
      delete this;
    }
    void write() {
      recorder_.values().fill(&report_);
      StartWrite(&report_);
    }
    void finish() {
      finished_ = true;
      if (waits_) alarm_.Cancel();
      Finish(Status(StatusCode::CANCELLED, "the client has left"));
    }

    const ServerMetricRecorder& recorder_;
    const std::chrono::nanoseconds interval_;
    v3::OrcaLoadReport report_;
    Alarm alarm_;
    std::mutex mutex_;  // guards what follows
    bool waits_ = false, finished_ = false, done_ = false;
  };

  const ServerMetricRecorder& recorder_;
  const Options options_;
};

OrcaService::OrcaService(ServerMetricRecorder* server_metric_recorder, Options options)
    : streams_(std::make_unique<Streams>(server_metric_recorder, options)) {
  AddMethod(internal::MakeServerStreamingCallbackMethod<Streams, v3::OrcaLoadReportRequest, v3::OrcaLoadReport>(
      "/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics", &Streams::StreamCoreMetrics, streams_.get()));
}
OrcaService::~OrcaService() = default;

}  // namespace grpc::experimental
