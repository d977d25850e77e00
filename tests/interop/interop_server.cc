// The server of gRPC's interop test cases, on the synchronous API; built once against Drover and once against gRPC C++.
//
//   interop_server --address HOST:PORT [--key FILE --certificate FILE]    prints "listening on PORT"; until SIGTERM
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "interop.grpc.pb.h"

// Debian's library of gRPC 1.51 does not have load reports.
#if __has_include(<grpcpp/ext/orca_service.h>)
#include <grpcpp/ext/call_metric_recorder.h>
#include <grpcpp/ext/orca_service.h>
#define INTEROP_HAS_ORCA 1
#else
#define INTEROP_HAS_ORCA 0
#endif

namespace {

using grpc::Status;
using grpc::StatusCode;
using grpc::testing::EchoStatus;
using grpc::testing::Empty;
using grpc::testing::Payload;
using grpc::testing::ResponseParameters;
using grpc::testing::SimpleRequest;
using grpc::testing::SimpleResponse;
using grpc::testing::StreamingInputCallRequest;
using grpc::testing::StreamingInputCallResponse;
using grpc::testing::StreamingOutputCallRequest;
using grpc::testing::StreamingOutputCallResponse;
using grpc::testing::TestOrcaReport;

constexpr int kLargest = 64 << 20;

Status status_of(const EchoStatus& asked) {
  const bool known = asked.code() >= grpc::OK && asked.code() <= grpc::UNAUTHENTICATED;
  return {known ? static_cast<StatusCode>(asked.code()) : StatusCode::UNKNOWN, std::string(asked.message())};
}

bool fill(int size, Payload* payload) {
  if (size < 0 || size > kLargest) return false;
  payload->set_body(std::string(static_cast<size_t>(size), '\0'));
  return true;
}

// The two names that clients want back, in initial and in trailing metadata.
void echo_metadata(grpc::ServerContext* context) {
  constexpr const char* kInitial = "x-grpc-test-echo-initial";
  constexpr const char* kTrailing = "x-grpc-test-echo-trailing-bin";
  for (const auto& [key, value] : context->client_metadata()) {
    if (key == kInitial) context->AddInitialMetadata(kInitial, std::string(value.data(), value.size()));
    if (key == kTrailing) context->AddTrailingMetadata(kTrailing, std::string(value.data(), value.size()));
  }
}

#if INTEROP_HAS_ORCA
void report(const TestOrcaReport& asked, grpc::experimental::CallMetricRecorder* recorder) {
  recorder->RecordCpuUtilizationMetric(asked.cpu_utilization());
  recorder->RecordMemoryUtilizationMetric(asked.memory_utilization());
  for (const auto& [name, value] : asked.request_cost()) {
    recorder->RecordRequestCostMetric(std::string(name), value);
  }
  for (const auto& [name, value] : asked.utilization()) recorder->RecordUtilizationMetric(std::string(name), value);
}
#endif

class TestService final : public grpc::testing::TestService::Service {
 public:
#if INTEROP_HAS_ORCA
  explicit TestService(grpc::experimental::ServerMetricRecorder* load) : load_(load) {}
#endif

 private:
  Status EmptyCall(grpc::ServerContext* context, const Empty*, Empty*) override {
    echo_metadata(context);
    return Status::OK;
  }

  Status UnaryCall(grpc::ServerContext* context, const SimpleRequest* request, SimpleResponse* response) override {
    echo_metadata(context);
#if INTEROP_HAS_ORCA
    if (request->has_orca_per_query_report()) {
      report(request->orca_per_query_report(), context->ExperimentalGetCallMetricRecorder());
    }
#endif
    if (request->response_status().code() != 0) return status_of(request->response_status());
    if (!fill(request->response_size(), response->mutable_payload())) return bad_size();
    if (request->has_response_compressed()) {
      context->set_compression_algorithm(request->response_compressed().value() ? GRPC_COMPRESS_GZIP
                                                                                : GRPC_COMPRESS_NONE);
    }
    if (request->fill_server_id()) response->set_server_id(std::to_string(getpid()));
    return Status::OK;
  }

  Status CacheableUnaryCall(grpc::ServerContext* context, const SimpleRequest* request,
                            SimpleResponse* response) override {
    return UnaryCall(context, request, response);
  }

  Status StreamingOutputCall(grpc::ServerContext* context, const StreamingOutputCallRequest* request,
                             grpc::ServerWriter<StreamingOutputCallResponse>* writer) override {
    for (const ResponseParameters& one : request->response_parameters()) {
      if (one.compressed().value()) context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
    }
    return answer(*request, writer);
  }

  Status StreamingInputCall(grpc::ServerContext*, grpc::ServerReader<StreamingInputCallRequest>* reader,
                            StreamingInputCallResponse* response) override {
    StreamingInputCallRequest request;
    size_t bytes = 0;
    while (reader->Read(&request)) bytes += request.payload().body().size();
    response->set_aggregated_payload_size(static_cast<int32_t>(bytes));
    return Status::OK;
  }

  Status FullDuplexCall(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<StreamingOutputCallResponse, StreamingOutputCallRequest>* stream) override {
    echo_metadata(context);
    StreamingOutputCallRequest request;
    std::unique_lock<std::mutex> reporting(reporting_, std::defer_lock);  // one stream at a time
    while (stream->Read(&request)) {
      if (request.response_status().code() != 0) return status_of(request.response_status());
      if (request.has_orca_oob_report()) {
        if (!reporting.owns_lock()) reporting.lock();
        set_load(request.orca_oob_report());
      }
      if (Status status = answer(request, stream); !status.ok()) return status;
    }
    return Status::OK;
  }

  Status HalfDuplexCall(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<StreamingOutputCallResponse, StreamingOutputCallRequest>* stream) override {
    std::vector<StreamingOutputCallRequest> requests(1);
    while (stream->Read(&requests.back())) requests.emplace_back();
    requests.pop_back();
    for (const StreamingOutputCallRequest& request : requests) {
      if (Status status = answer(request, stream); !status.ok()) return status;
    }
    return Status::OK;
  }

  template <class Writer>
  static Status answer(const StreamingOutputCallRequest& request, Writer* writer) {
    for (const ResponseParameters& one : request.response_parameters()) {
      if (one.interval_us() > 0) std::this_thread::sleep_for(std::chrono::microseconds(one.interval_us()));
      StreamingOutputCallResponse response;
      if (!fill(one.size(), response.mutable_payload())) return bad_size();
      grpc::WriteOptions options;
      if (one.has_compressed() && !one.compressed().value()) options.set_no_compression();
      if (!writer->Write(response, options)) return Status(StatusCode::CANCELLED, "the client has left");
    }
    return Status::OK;
  }

  static Status bad_size() { return {StatusCode::INVALID_ARGUMENT, "a size below 0 or above 64 MiB"}; }

  void set_load(const TestOrcaReport& asked) {
#if INTEROP_HAS_ORCA
    load_->SetCpuUtilization(asked.cpu_utilization());
    load_->SetMemoryUtilization(asked.memory_utilization());
    std::map<grpc::string_ref, double> named;
    std::vector<std::string> names;
    names.reserve(static_cast<size_t>(asked.utilization().size()));
    for (const auto& [name, value] : asked.utilization()) named[names.emplace_back(std::string(name))] = value;
    load_->SetAllNamedUtilization(named);
#else
    (void)asked;
#endif
  }

  std::mutex reporting_;
#if INTEROP_HAS_ORCA
  grpc::experimental::ServerMetricRecorder* const load_;
#endif
};

class EchoService final : public grpc::testing::EchoService::Service {
  Status Echo(grpc::ServerContext* context, const Payload* request, Payload* response) override {
    echo_metadata(context);
    *response = *request;
    return Status::OK;
  }

  Status EchoStream(grpc::ServerContext* context, grpc::ServerReaderWriter<Payload, Payload>* stream) override {
    echo_metadata(context);
    Payload payload;
    while (stream->Read(&payload)) {
      if (!stream->Write(payload)) return {StatusCode::CANCELLED, "the client has left"};
    }
    return Status::OK;
  }
};

std::string read_file(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  std::string address = "127.0.0.1:0";
  const char *key = nullptr, *certificate = nullptr;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--address") == 0) address = argv[i + 1];
    if (std::strcmp(argv[i], "--key") == 0) key = argv[i + 1];
    if (std::strcmp(argv[i], "--certificate") == 0) certificate = argv[i + 1];
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (key != nullptr && certificate != nullptr) {
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back({read_file(key), read_file(certificate)});
    credentials = grpc::SslServerCredentials(options);
  }
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, credentials, &port);
#if INTEROP_HAS_ORCA
  auto load = grpc::experimental::ServerMetricRecorder::Create();
  grpc::experimental::OrcaService orca(
      load.get(), grpc::experimental::OrcaService::Options().set_min_report_duration(std::chrono::milliseconds(100)));
  TestService service(load.get());
  builder.RegisterService(&orca);
  grpc::experimental::EnableCallMetricRecording(&builder);
#else
  TestService service;
#endif
  EchoService echo;
  builder.RegisterService(&service);
  builder.RegisterService(&echo);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::cout << "listening on " << port << std::endl;
  int signal = 0;
  sigwait(&signals, &signal);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  server->Wait();
}
