// The echo service on gRPC C++'s asynchronous API, written for speed: one thread on one completion queue, enough calls
// posted ahead that a burst never waits for one, and a call's messages reused for the next call. The peer `grpc-async`
// of the benchmarks. The messages come from echo.proto, or from the published HyperProtoBench.

#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "echo.grpc.pb.h"

namespace {

using drover::examples::echo::Echo;
using Service = Echo::AsyncService;
using StreamService = drover::examples::echo::EchoStream::AsyncService;

void spin(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// The target of the completion queue's tags.
class Call {
 public:
  virtual ~Call() = default;
  virtual void advance(bool ok) = 0;
};

template <class Message>
class EchoCall final : public Call {
 public:
  using Responder = grpc::ServerAsyncResponseWriter<Message>;
  // Service::RequestUnary and its like.
  using Request = void (Service::*)(grpc::ServerContext*, Message*, Responder*, grpc::CompletionQueue*,
                                    grpc::ServerCompletionQueue*, void*);

  EchoCall(Service* service, Request request, grpc::ServerCompletionQueue* queue, std::chrono::nanoseconds busy_loop)
      : service_(service), request_method_(request), queue_(queue), busy_loop_(busy_loop) {
    post();
  }

  void advance(bool ok) override {
    if (replying_) {
      post();
    } else if (ok) {
      reply();
    }  // else the queue is shutting down: no call came
  }

 private:
  void post() {
    replying_ = false;
    responder_.reset();
    context_.emplace();
    responder_.emplace(&*context_);
    (service_->*request_method_)(&*context_, &request_, &*responder_, queue_, queue_, this);
  }

  void reply() {
    replying_ = true;
    if (busy_loop_.count() > 0) spin(busy_loop_);
    reply_ = request_;
    responder_->Finish(reply_, grpc::Status::OK, this);
  }

  Service* const service_;
  const Request request_method_;
  grpc::ServerCompletionQueue* const queue_;
  const std::chrono::nanoseconds busy_loop_;
  std::optional<grpc::ServerContext> context_;
  std::optional<Responder> responder_;
  Message request_;
  Message reply_;
  bool replying_ = false;
};

// One call that streams both ways: reads a message, writes it, and so on until the client half-closes.
class StreamCall final : public Call {
 public:
  using Message = drover::examples::echo::EchoMessage;

  StreamCall(StreamService* service, grpc::ServerCompletionQueue* queue, std::chrono::nanoseconds busy_loop)
      : service_(service), queue_(queue), busy_loop_(busy_loop) {
    post();
  }

  void advance(bool ok) override {
    switch (state_) {
      case State::kPosted:
        if (ok) read();  // else the queue is shutting down: no call came
        break;
      case State::kReading:
        if (ok) {
          write();
        } else {
          state_ = State::kFinishing;
          stream_->Finish(grpc::Status::OK, this);
        }
        break;
      case State::kWriting:
        read();
        break;
      case State::kFinishing:
        post();
        break;
    }
  }

 private:
  enum class State { kPosted, kReading, kWriting, kFinishing };

  void post() {
    state_ = State::kPosted;
    stream_.reset();
    context_.emplace();
    stream_.emplace(&*context_);
    service_->RequestStream(&*context_, &*stream_, queue_, queue_, this);
  }
  void read() {
    state_ = State::kReading;
    stream_->Read(&message_, this);
  }
  void write() {
    state_ = State::kWriting;
    if (busy_loop_.count() > 0) spin(busy_loop_);
    stream_->Write(message_, this);
  }

  StreamService* const service_;
  grpc::ServerCompletionQueue* const queue_;
  const std::chrono::nanoseconds busy_loop_;
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncReaderWriter<Message, Message>> stream_;
  Message message_;
  State state_ = State::kPosted;
};

template <class Message>
void post_calls(int count, Service* service, typename EchoCall<Message>::Request request,
                grpc::ServerCompletionQueue* queue, std::chrono::nanoseconds busy_loop,
                std::vector<std::unique_ptr<Call>>* calls) {
  for (int i = 0; i < count; ++i) {
    calls->push_back(std::make_unique<EchoCall<Message>>(service, request, queue, busy_loop));
  }
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<grpc::ServerCredentials> credentials(const std::string& key, const std::string& certificate) {
  if (certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs = {{read_file(key), read_file(certificate)}};
  return grpc::SslServerCredentials(options);
}

}  // namespace

int main(int argc, char** argv) {
  std::string address = "127.0.0.1:50051";
  int64_t busy_loop_ns = 0;
  int outstanding = 256;
  std::string key, certificate;
  CLI::App app("Echo service on gRPC C++'s asynchronous API: the peer grpc-async");
  app.add_option("--address", address, "HOST:PORT to listen on")->capture_default_str();
  app.add_option("--busy-loop-ns", busy_loop_ns, "nanoseconds that each call spins")->check(CLI::NonNegativeNumber);
  app.add_option("--outstanding", outstanding, "calls posted ahead for each method")->check(CLI::PositiveNumber);
  app.add_option("--key", key, "PEM file; with --certificate: TLS")->check(CLI::ExistingFile);
  app.add_option("--certificate", certificate, "PEM file")->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);

  // Blocked before any thread starts, so that only the waiting thread below takes them.
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);

  Service service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, credentials(key, certificate), &port);
  StreamService stream_service;
  builder.RegisterService(&service);
  builder.RegisterService(&stream_service);
  const std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::cerr << "cannot listen on " << address << "\n";
    return 1;
  }
  std::cerr << "grpc_async_server listens on " << address << " (port " << port << ")" << std::endl;

  std::vector<std::unique_ptr<Call>> calls;
  const std::chrono::nanoseconds busy_loop(busy_loop_ns);
  post_calls<drover::examples::echo::EchoMessage>(outstanding, &service, &Service::RequestUnary, queue.get(), busy_loop,
                                                  &calls);
  post_calls<drover::examples::echo::SmallMessage>(outstanding, &service, &Service::RequestSmall, queue.get(),
                                                   busy_loop, &calls);
  post_calls<drover::examples::echo::MediumMessage>(outstanding, &service, &Service::RequestMedium, queue.get(),
                                                    busy_loop, &calls);
  post_calls<drover::examples::echo::LargeMessage>(outstanding, &service, &Service::RequestLarge, queue.get(),
                                                   busy_loop, &calls);

  for (int i = 0; i < outstanding; ++i) {
    calls.push_back(std::make_unique<StreamCall>(&stream_service, queue.get(), busy_loop));
  }

  // A call that posts itself again after shutdown began would trip gRPC's assertions: the process ends instead, once
  // the server has answered what was in flight.
  std::thread stopper([&] {
    int signal = 0;
    sigwait(&stop_signals, &signal);
    server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    std::_Exit(0);
  });
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Call*>(tag)->advance(ok);
  stopper.join();
  return 0;
}
