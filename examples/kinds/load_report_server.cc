// ORCA load reports: what a call cost goes to the client with its end, for clients that balance by it. Debian's gRPC
// C++ 1.51 has no load reports, so that this server is built on Drover only (on gRPC C++ from 1.56 on it builds
// unchanged).
//
//   load_report_server [ADDRESS]
#include <grpcpp/ext/call_metric_recorder.h>
#include <grpcpp/ext/orca_service.h>
#include <grpcpp/ext/server_metric_recorder.h>
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <memory>
#include <string>

#include "kinds.grpc.pb.h"

using kinds::Answer;
using kinds::Question;

class DeskService final : public kinds::Desk::Service {
  grpc::Status Ask(grpc::ServerContext* context, const Question*, Answer* answer) override {
    if (auto* recorder = context->ExperimentalGetCallMetricRecorder()) {
      recorder->RecordCpuUtilizationMetric(0.5).RecordRequestCostMetric("questions", 1);
    }
    answer->set_text("reported");
    return grpc::Status::OK;
  }
};

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50051";
  DeskService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  builder.experimental().EnableCallMetricRecording(nullptr);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "load_report_server listens on " << address << std::endl;
  server->Wait();
  return 0;
}
