// A stock gRPC C++ client of the greeter, built with gRPC's own library and code generator.
//
//   greeter_client_grpc ADDRESS [NAME...]    prints the reply to each name; exits 1 at the first call that fails

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "helloworld.grpc.pb.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: " << argv[0] << " ADDRESS [NAME...]\n";
    return 2;
  }
  std::vector<std::string> names(argv + 2, argv + argc);
  if (names.empty()) names.emplace_back("world");

  auto channel = grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials());
  auto greeter = helloworld::Greeter::NewStub(channel);
  for (const std::string& name : names) {
    helloworld::HelloRequest request;
    helloworld::HelloReply reply;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    request.set_name(name);
    const grpc::Status status = greeter->SayHello(&context, request, &reply);
    if (!status.ok()) {
      std::cerr << "SayHello(" << name << ") failed with code " << status.error_code() << ": " << status.error_message()
                << "\n";
      return 1;
    }
    std::cout << reply.message() << "\n";
  }
  return 0;
}
