// The greeter with compressed replies: an ordinary gRPC C++ server. Requests may come compressed without a line here.
//
//   greeter_compressing_server [ADDRESS]      ADDRESS is 0.0.0.0:50051 unless given
//
// Replies are compressed by gzip unless the handler says otherwise: by deflate for a name of many letters, not at all
// for a short one. A client that takes no such replies gets them as they are.

#include <grpcpp/grpcpp.h>

#include <iostream>
#include <memory>
#include <string>

#include "helloworld.grpc.pb.h"

using helloworld::Greeter;
using helloworld::HelloReply;
using helloworld::HelloRequest;

class CompressingGreeter final : public Greeter::Service {
  static constexpr size_t kShort = 100, kLong = 10'000;  // letters

  grpc::Status SayHello(grpc::ServerContext* context, const HelloRequest* request, HelloReply* reply) override {
    if (request->name().empty()) {
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "whom shall I greet? name is empty");
    }
    if (request->name().size() < kShort) context->set_compression_algorithm(GRPC_COMPRESS_NONE);
    if (request->name().size() > kLong) context->set_compression_algorithm(GRPC_COMPRESS_DEFLATE);
    reply->set_message("Hello " + request->name());
    return grpc::Status::OK;
  }
};

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50051";

  CompressingGreeter service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.SetDefaultCompressionAlgorithm(GRPC_COMPRESS_GZIP);
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "greeter listens on " << address << std::endl;
  server->Wait();
  return 0;
}
