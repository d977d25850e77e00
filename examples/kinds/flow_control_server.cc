// Flow control: a caller that does not read holds up its own writer, and no other. An ordinary gRPC C++ server;
// CMakeLists.txt builds it twice, as flow_control_server on Drover and as flow_control_server_grpc on gRPC C++.
//
//   flow_control_server [ADDRESS]
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <string>

#include "kinds.grpc.pb.h"

using kinds::Answer;
using kinds::Question;

std::atomic<int64_t> written{0};

class DeskService final : public kinds::Desk::Service {
  // `number` answers of 64 KiB; Write waits while the caller has too many that it has not read.
  grpc::Status Listen(grpc::ServerContext*, const Question* question, grpc::ServerWriter<Answer>* writer) override {
    Answer answer;
    answer.set_load(std::string(64 << 10, 'x'));
    for (int64_t i = 0; i < question->number(); ++i) {
      answer.set_number(i);
      if (!writer->Write(answer)) return grpc::Status::CANCELLED;
      ++written;
    }
    return grpc::Status::OK;
  }
  // How many have been written.
  grpc::Status Ask(grpc::ServerContext*, const Question*, Answer* answer) override {
    answer->set_number(written);
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
  std::cout << "flow_control_server listens on " << address << std::endl;
  server->Wait();
  return 0;
}
