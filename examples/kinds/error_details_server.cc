// Error details: a status that says by messages what is wrong, in grpc-status-details-bin. An ordinary gRPC C++ server;
// CMakeLists.txt builds it twice, as error_details_server on Drover and as error_details_server_grpc on gRPC C++.
//
//   error_details_server [ADDRESS]
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <memory>
#include <string>

#include "kinds.grpc.pb.h"

using kinds::Answer;
using kinds::Question;

class DeskService final : public kinds::Desk::Service {
  grpc::Status Ask(grpc::ServerContext*, const Question* question, Answer* answer) override {
    kinds::Details details;
    const auto complain = [&details](const char* field, const char* why) {
      kinds::Problem problem;
      problem.set_field(field);
      problem.set_why(why);
      details.add_details()->PackFrom(problem);
    };
    if (question->text().empty()) complain("text", "is empty");
    if (question->number() < 0) complain("number", "is below zero");
    if (details.details_size() > 0) {
      details.set_code(grpc::StatusCode::INVALID_ARGUMENT);
      details.set_message("I do not understand the question");
      return {grpc::StatusCode::INVALID_ARGUMENT, std::string(details.message()), details.SerializeAsString()};
    }
    answer->set_text("yes");
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
  std::cout << "error_details_server listens on " << address << std::endl;
  server->Wait();
  return 0;
}
