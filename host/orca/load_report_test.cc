// Load reports of calls: what is recorded, what is ignored, and what the client gets.
#include <grpcpp/ext/call_metric_recorder.h>
#include <grpcpp/ext/server_metric_recorder.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>

#include "channel/call_records.h"
#include "host/engine_testing.h"
#include "host/load_reports.h"
#include "host_test.grpc.pb.h"
#include "orca.pb.h"

namespace drover::host {
namespace {

using builtin::xds::service::orca::v3::OrcaLoadReport;
using grpc::experimental::CallMetricRecorder;
using grpc::experimental::ServerMetricRecorder;
using hosttest::Reply;
using hosttest::Request;
using hosttest::Testing;

class ReportingService final : public Testing::CallbackService {
 public:
  std::function<void(grpc::CallbackServerContext*)> record;

  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const Request*, Reply*) override {
    record(context);
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

// What EnableCallMetricRecording gives to a builder.
std::shared_ptr<const LoadReports> reports_of(ServerMetricRecorder* of_server) {
  struct Builder : grpc::ServerBuilder {
    using grpc::ServerBuilder::drover_load_reports;
  } builder;
  builder.experimental().EnableCallMetricRecording(of_server);
  return builder.drover_load_reports();
}

class LoadReportTest : public testing::Test {
 protected:
  void start(std::shared_ptr<const LoadReports> reports) {
    engine_ = std::make_unique<FakeEngine>(FakeEngine::Options{});
    host_ = std::make_unique<FakeHost>(*engine_, service_);
    host_->link().load_reports = std::move(reports);
  }
  // The trailing metadata of a call.
  std::map<std::string, std::string> call() {
    std::map<std::string, std::string> trailing;
    auto answer = engine_->answer(engine_->call<Request>(0, [](Request*) {}));
    if (!answer || answer->trailer == 0) return trailing;
    auto* record = reinterpret_cast<CallTrailer*>(host_->link().region.base() + answer->trailer);
    for (uint32_t i = 0; i < record->trailing_count; ++i) {
      const MetadataPair& pair = record->pairs()[record->initial_count + i];
      trailing.emplace(std::string(pair.key.view()), std::string(pair.value.view()));
    }
    return trailing;
  }
  OrcaLoadReport report() {
    OrcaLoadReport report;
    EXPECT_TRUE(report.ParseFromString(call()[LoadReports::kTrailer]));
    return report;
  }

  ReportingService service_;
  std::unique_ptr<FakeEngine> engine_;
  std::unique_ptr<FakeHost> host_;
};

TEST_F(LoadReportTest, ACallReportsWhatItRecords) {
  start(reports_of(nullptr));
  service_.record = [](grpc::CallbackServerContext* context) {
    CallMetricRecorder* load = context->ExperimentalGetCallMetricRecorder();
    ASSERT_NE(load, nullptr);
    EXPECT_EQ(load, context->ExperimentalGetCallMetricRecorder());
    load->RecordCpuUtilizationMetric(0.1).RecordCpuUtilizationMetric(1.5).RecordMemoryUtilizationMetric(0.25);
    load->RecordQpsMetric(7).RecordEpsMetric(2).RecordApplicationUtilizationMetric(3);
    load->RecordUtilizationMetric("disk", 0.75).RecordRequestCostMetric("rows", 40).RecordNamedMetric("depth", -1);
  };
  for (int i = 0; i < 2; ++i) {  // also of a context that is used again
    const OrcaLoadReport got = report();
    EXPECT_EQ(got.cpu_utilization(), 1.5);
    EXPECT_EQ(got.mem_utilization(), 0.25);
    EXPECT_EQ(got.rps_fractional(), 7);
    EXPECT_EQ(got.eps(), 2);
    EXPECT_EQ(got.application_utilization(), 3);
    EXPECT_EQ(got.utilization().at("disk"), 0.75);
    EXPECT_EQ(got.request_cost().at("rows"), 40);
    EXPECT_EQ(got.named_metrics().at("depth"), -1);
  }
  service_.record = [](grpc::CallbackServerContext* context) { context->ExperimentalGetCallMetricRecorder(); };
  EXPECT_TRUE(call().empty()) << "nothing of the call before";
}

TEST_F(LoadReportTest, ValuesThatCannotBeAreIgnored) {
  start(reports_of(nullptr));
  service_.record = [](grpc::CallbackServerContext* context) {
    CallMetricRecorder* load = context->ExperimentalGetCallMetricRecorder();
    load->RecordCpuUtilizationMetric(-0.1).RecordMemoryUtilizationMetric(1.1).RecordQpsMetric(-1).RecordEpsMetric(-1);
    load->RecordUtilizationMetric("disk", 1.5).RecordApplicationUtilizationMetric(-1);
  };
  EXPECT_TRUE(call().empty());
}

TEST_F(LoadReportTest, TheServersLoadIsInEachReportUnlessTheCallHasItsOwn) {
  auto of_server = ServerMetricRecorder::Create();
  start(reports_of(of_server.get()));
  service_.record = [](grpc::CallbackServerContext*) {};
  EXPECT_TRUE(call().empty());
  of_server->SetCpuUtilization(0.5);
  of_server->SetMemoryUtilization(0.5);
  of_server->SetMemoryUtilization(2);
  of_server->SetNamedUtilization("disk", 0.5);
  of_server->SetNamedUtilization("net", 0.5);
  EXPECT_EQ(report().cpu_utilization(), 0.5) << "of a call that records nothing";
  service_.record = [](grpc::CallbackServerContext* context) {
    context->ExperimentalGetCallMetricRecorder()->RecordCpuUtilizationMetric(1).RecordUtilizationMetric("net", 1);
  };
  const OrcaLoadReport got = report();
  EXPECT_EQ(got.cpu_utilization(), 1);
  EXPECT_EQ(got.mem_utilization(), 0.5);
  EXPECT_EQ(got.utilization().at("disk"), 0.5);
  EXPECT_EQ(got.utilization().at("net"), 1);
  of_server->ClearMemoryUtilization();
  of_server->ClearNamedUtilization("disk");
  const OrcaLoadReport cleared = report();
  EXPECT_EQ(cleared.mem_utilization(), 0);
  EXPECT_EQ(cleared.utilization().count("disk"), 0u);
}

TEST_F(LoadReportTest, AServerThatReportsNoLoadHasNoRecorder) {
  start(nullptr);
  service_.record = [](grpc::CallbackServerContext* context) {
    EXPECT_EQ(context->ExperimentalGetCallMetricRecorder(), nullptr);
  };
  EXPECT_TRUE(call().empty());
}

}  // namespace
}  // namespace drover::host
