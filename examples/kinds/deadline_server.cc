// Deadlines: a handler that knows how long it will take looks at what is left first, and stops when nothing is. An
// ordinary gRPC C++ server; CMakeLists.txt builds it twice, as deadline_server on Drover and as deadline_server_grpc on
// gRPC C++.
//
//   deadline_server [ADDRESS]
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "kinds.grpc.pb.h"

using kinds::Answer;
using kinds::Question;
using std::chrono::milliseconds;
using std::chrono::system_clock;

class DeskService final : public kinds::Desk::Service {
  // Takes `number` milliseconds. Text "sure": it refuses at once what cannot be done in time.
  grpc::Status Ask(grpc::ServerContext* context, const Question* question, Answer* answer) override {
    const auto end = system_clock::now() + milliseconds(question->number());
    if (question->text() == "sure" && context->deadline() < end) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "this takes longer than you wait"};
    }
    while (system_clock::now() < end) {
      if (context->IsCancelled()) {  // also when the deadline has passed
        return {grpc::StatusCode::DEADLINE_EXCEEDED, "out of time"};
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    answer->set_text("done");
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
  std::cout << "deadline_server listens on " << address << std::endl;
  server->Wait();
  return 0;
}
