// Metadata: what a caller sends is answered, and the server sends its own, before the reply and behind it. An ordinary
// gRPC C++ server; CMakeLists.txt builds it twice, as metadata_server on Drover and as metadata_server_grpc on gRPC
// C++.
//
//   metadata_server [ADDRESS]
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <memory>
#include <string>

#include "kinds.grpc.pb.h"

using kinds::Answer;
using kinds::Question;

class DeskService final : public kinds::Desk::Service {
  // Text: all of the caller's metadata whose names begin with "x-". Number: how many there are.
  grpc::Status Ask(grpc::ServerContext* context, const Question* question, Answer* answer) override {
    std::string seen;
    for (const auto& [name, value] : context->client_metadata()) {
      if (!name.starts_with("x-")) continue;
      seen += std::string(name.data(), name.size()) + "=" + std::string(value.data(), value.size()) + ";";
      answer->set_number(answer->number() + 1);
    }
    answer->set_text(seen);
    context->AddInitialMetadata("x-desk", "seven");
    context->AddTrailingMetadata("x-digest-bin", std::string("\0\xFF", 2) + std::string(question->text()));
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
  std::cout << "metadata_server listens on " << address << std::endl;
  server->Wait();
  return 0;
}
