// A greeter: an ordinary gRPC C++ server, synchronous API. Nothing in this file knows Drover; CMakeLists.txt builds it
// twice, as greeter_server on Drover and as greeter_server_grpc on gRPC C++.
//
//   greeter_server [ADDRESS]      ADDRESS is 0.0.0.0:50051 unless given

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <iostream>
#include <memory>
#include <string>

#include "helloworld.grpc.pb.h"

using grpc::Server;
using grpc::ServerBuilder;
using grpc::ServerContext;
using grpc::Status;
using helloworld::Greeter;
using helloworld::HelloReply;
using helloworld::HelloRequest;

class GreeterServiceImpl final : public Greeter::Service {
  Status SayHello(ServerContext* /*context*/, const HelloRequest* request, HelloReply* reply) override {
    if (request->name().empty()) {
      return Status(grpc::StatusCode::INVALID_ARGUMENT, "whom shall I greet? name is empty");
    }
    reply->set_message("Hello " + request->name());
    return Status::OK;
  }
};

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50051";

  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  GreeterServiceImpl service;
  ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  std::unique_ptr<Server> server = builder.BuildAndStart();
  if (!server) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "greeter listens on " << address << std::endl;
  server->Wait();
  return 0;
}
