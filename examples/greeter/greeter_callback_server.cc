// The greeter in the callback API. An ordinary gRPC C++ server; CMakeLists.txt builds it twice, as
// greeter_callback_server on Drover and as greeter_callback_server_grpc on gRPC C++.
//
//   greeter_callback_server [ADDRESS]      ADDRESS is 0.0.0.0:50051 unless given

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <iostream>
#include <memory>
#include <string>

#include "helloworld.grpc.pb.h"

using helloworld::Greeter;
using helloworld::HelloReply;
using helloworld::HelloRequest;

class GreeterService final : public Greeter::CallbackService {
  grpc::ServerUnaryReactor* SayHello(grpc::CallbackServerContext* context, const HelloRequest* request,
                                     HelloReply* reply) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (request->name().empty()) {
      reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, "whom shall I greet? name is empty"});
      return reactor;
    }
    reply->set_message("Hello " + request->name());
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50051";

  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  GreeterService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "greeter listens on " << address << std::endl;
  server->Wait();
  return 0;
}
