// Load balancing: servers that say which of them answers; a client spreads its calls over them. An ordinary gRPC C++
// server; CMakeLists.txt builds it twice, as balanced_server on Drover and as balanced_server_grpc on gRPC C++.
//
//   balanced_server [ADDRESS]
#include <grpcpp/grpcpp.h>

#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>

#include "kinds.grpc.pb.h"

using kinds::Answer;
using kinds::Question;

class DeskService final : public kinds::Desk::Service {
  grpc::Status Ask(grpc::ServerContext*, const Question*, Answer* answer) override {
    answer->set_number(getpid());
    return grpc::Status::OK;
  }
};

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50051";
  DeskService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "balanced_server listens on " << address << std::endl;
  server->Wait();
  return 0;
}
