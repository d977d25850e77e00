// A key-value store: a stream of keys, and a value for each as it comes. An ordinary gRPC C++ server; CMakeLists.txt
// builds it twice, as lookup_server on Drover and as lookup_server_grpc on gRPC C++.
//
//   lookup_server [ADDRESS]
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "kinds.grpc.pb.h"

using kinds::Answer;
using kinds::Question;

class DeskService final : public kinds::Desk::Service {
  // An empty text for a key that is not there.
  grpc::Status Talk(grpc::ServerContext*, grpc::ServerReaderWriter<Answer, Question>* stream) override {
    Question key;
    while (stream->Read(&key)) {
      const auto found = values_.find(std::string(key.text()));
      Answer value;
      if (found != values_.end()) value.set_text(found->second);
      if (!stream->Write(value)) break;
    }
    return grpc::Status::OK;
  }
  const std::map<std::string, std::string> values_{{"oak", "tree"}, {"carp", "fish"}, {"rook", "bird"}};
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
  std::cout << "lookup_server listens on " << address << std::endl;
  server->Wait();
  return 0;
}
