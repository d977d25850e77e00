// The greeter through a completion queue: an ordinary gRPC C++ server, asynchronous API, in the usual form of one
// object a call that is its own tag. CMakeLists.txt builds it twice, as greeter_queue_server on Drover and as
// greeter_queue_server_grpc on gRPC C++.
//
//   greeter_queue_server [ADDRESS]      ADDRESS is 0.0.0.0:50051 unless given; SIGTERM ends it in order

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "helloworld.grpc.pb.h"

using grpc::ServerAsyncResponseWriter;
using grpc::ServerBuilder;
using grpc::ServerCompletionQueue;
using grpc::ServerContext;
using grpc::Status;
using helloworld::Greeter;
using helloworld::HelloReply;
using helloworld::HelloRequest;

namespace {

class Greeting {
 public:
  Greeting(Greeter::AsyncService* service, ServerCompletionQueue* queue)
      : service_(service), queue_(queue), responder_(&context_) {
    service_->RequestSayHello(&context_, &request_, &responder_, queue_, queue_, this);
  }

  void proceed(bool ok) {
    if (!ok || state_ == State::kFinishing) {
      delete this;
      return;
    }
    new Greeting(service_, queue_);  // for the next client
    state_ = State::kFinishing;
    if (request_.name().empty()) {
      responder_.FinishWithError(Status(grpc::StatusCode::INVALID_ARGUMENT, "whom shall I greet? name is empty"), this);
      return;
    }
    HelloReply reply;
    reply.set_message("Hello " + request_.name());
    responder_.Finish(reply, Status::OK, this);
  }

 private:
  enum class State { kRequested, kFinishing };

  Greeter::AsyncService* const service_;
  ServerCompletionQueue* const queue_;
  ServerContext context_;
  HelloRequest request_;
  ServerAsyncResponseWriter<HelloReply> responder_;
  State state_ = State::kRequested;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50051";
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);  // before any thread starts

  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  Greeter::AsyncService service;
  ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  std::unique_ptr<ServerCompletionQueue> queue = builder.AddCompletionQueue();
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "greeter listens on " << address << std::endl;

  new Greeting(&service, queue.get());
  std::thread serving([&queue] {
    void* tag = nullptr;
    bool ok = false;
    while (queue->Next(&tag, &ok)) static_cast<Greeting*>(tag)->proceed(ok);
  });
  int number = 0;
  sigwait(&ending, &number);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  queue->Shutdown();
  serving.join();
  return 0;
}
