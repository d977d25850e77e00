// Wait for ready: a server that opens late; callers who wait for it are answered then. An ordinary gRPC C++ server;
// CMakeLists.txt builds it twice, as waiting_server on Drover and as waiting_server_grpc on gRPC C++.
//
//   waiting_server [ADDRESS] [MILLISECONDS]      how late: 500 unless given
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "kinds.grpc.pb.h"

using kinds::Answer;
using kinds::Question;

class DeskService final : public kinds::Desk::Service {
  grpc::Status Ask(grpc::ServerContext*, const Question*, Answer* answer) override {
    answer->set_text("open now");
    return grpc::Status::OK;
  }
};

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50051";
  const int late = argc > 2 ? std::atoi(argv[2]) : 500;
  std::cout << "waiting_server listens on " << address << " in " << late << " ms" << std::endl;
  std::this_thread::sleep_for(std::chrono::milliseconds(late));
  DeskService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  server->Wait();
  return 0;
}
