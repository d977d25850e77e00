// The greeter behind two interceptors: one writes a line for each call, one lets in calls with a token only. An
// ordinary gRPC C++ server; CMakeLists.txt builds it twice, as greeter_guarded_server on Drover and as
// greeter_guarded_server_grpc on gRPC C++.
//
//   greeter_guarded_server [ADDRESS] [TOKEN]      0.0.0.0:50051 and "open sesame" unless given; SIGTERM ends it in
//   order
//
// A client sends the token as metadata "authorization: Bearer TOKEN".

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "helloworld.grpc.pb.h"

using grpc::Status;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;
using helloworld::Greeter;
using helloworld::HelloReply;
using helloworld::HelloRequest;

namespace {

// "/helloworld.Greeter/SayHello: 0 after 153 us" on stderr, when a call ends.
class Logging final : public Interceptor {
 public:
  explicit Logging(ServerRpcInfo* info) : method_(info->method()), since_(Clock::now()) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - since_);
      std::ostringstream line;  // written at once, so that lines of several threads do not mix
      line << method_ << ": " << methods->GetSendStatus().error_code() << " after " << took.count() << " us\n";
      std::cerr << line.str();
    }
    methods->Proceed();
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::string method_;
  const Clock::time_point since_;
};

// A call without the token ends in UNAUTHENTICATED. An interceptor cannot keep the handler from running, but it can
// take away what the handler would work on, and what it says.
class TokenCheck final : public Interceptor {
 public:
  explicit TokenCheck(const std::string& token) : expected_("Bearer " + token) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      const auto* metadata = methods->GetRecvInitialMetadata();
      const auto found = metadata->find("authorization");
      welcome_ = found != metadata->end() && same(found->second);
    }
    if (!welcome_ && methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      auto* request = static_cast<HelloRequest*>(methods->GetRecvMessage());
      if (request != nullptr) request->Clear();
    }
    if (!welcome_ && methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      methods->ModifySendStatus(Status(grpc::StatusCode::UNAUTHENTICATED, "a token is needed"));
    }
    methods->Proceed();
  }

 private:
  // In the same time for all tokens of one length.
  bool same(const grpc::string_ref& given) const {
    if (given.size() != expected_.size()) return false;
    unsigned differs = 0;
    for (size_t i = 0; i < expected_.size(); ++i) {
      differs |= static_cast<unsigned char>(given.data()[i]) ^ static_cast<unsigned char>(expected_[i]);
    }
    return differs == 0;
  }

  const std::string expected_;
  bool welcome_ = false;
};

class LoggingFactory final : public ServerInterceptorFactoryInterface {
 public:
  Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override { return new Logging(info); }
};

class TokenFactory final : public ServerInterceptorFactoryInterface {
 public:
  explicit TokenFactory(std::string token) : token_(std::move(token)) {}
  Interceptor* CreateServerInterceptor(ServerRpcInfo*) override { return new TokenCheck(token_); }

 private:
  const std::string token_;
};

class GreeterService final : public Greeter::Service {
  Status SayHello(grpc::ServerContext*, const HelloRequest* request, HelloReply* reply) override {
    reply->set_message("Hello " + request->name());
    return Status::OK;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50051";
  const std::string token = argc > 2 ? argv[2] : "open sesame";
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);  // before any thread starts

  GreeterService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  // On the way out the first one sees a call first: the token's, so that the line has the status that is sent.
  std::vector<std::unique_ptr<ServerInterceptorFactoryInterface>> creators;
  creators.emplace_back(new TokenFactory(token));
  creators.emplace_back(new LoggingFactory());
  builder.experimental().SetInterceptorCreators(std::move(creators));
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "greeter listens on " << address << std::endl;

  int number = 0;
  sigwait(&ending, &number);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  return 0;
}
