// Multiplexing: two services behind one address, one synchronous, one with callbacks. An ordinary gRPC C++ server;
// CMakeLists.txt builds it twice, as multiplex_server on Drover and as multiplex_server_grpc on gRPC C++.
//
//   multiplex_server [ADDRESS]
#include <grpcpp/grpcpp.h>

#include <ctime>
#include <iostream>
#include <memory>
#include <string>

#include "kinds.grpc.pb.h"

using kinds::Answer;
using kinds::Question;

class DeskService final : public kinds::Desk::Service {
  grpc::Status Ask(grpc::ServerContext*, const Question* question, Answer* answer) override {
    answer->set_text("you asked: " + question->text());
    return grpc::Status::OK;
  }
};

class ClockService final : public kinds::Clock::CallbackService {
  grpc::ServerUnaryReactor* Now(grpc::CallbackServerContext* context, const Question*, Answer* answer) override {
    answer->set_number(std::time(nullptr));
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50051";
  ClockService clock;
  DeskService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  builder.RegisterService(&clock);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "multiplex_server listens on " << address << std::endl;
  server->Wait();
  return 0;
}
