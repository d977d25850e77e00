// TLS: the server proves who it is, and with CLIENT_CA its callers must, too. An ordinary gRPC C++ server;
// CMakeLists.txt builds it twice, as secure_server on Drover and as secure_server_grpc on gRPC C++.
//
//   secure_server ADDRESS KEY CERTIFICATE [CLIENT_CA]      files in PEM
#include <grpcpp/grpcpp.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "kinds.grpc.pb.h"

using kinds::Answer;
using kinds::Question;

std::string read_file(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DeskService final : public kinds::Desk::Service {
  // Text: the caller's common name, of its certificate; "unknown" without one.
  grpc::Status Ask(grpc::ServerContext* context, const Question*, Answer* answer) override {
    const auto names = context->auth_context()->FindPropertyValues("x509_common_name");
    answer->set_text(names.empty() ? "unknown" : std::string(names[0].data(), names[0].size()));
    return grpc::Status::OK;
  }
};

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: secure_server ADDRESS KEY CERTIFICATE [CLIENT_CA]" << std::endl;
    return 2;
  }
  const std::string address = argv[1];
  grpc::SslServerCredentialsOptions options(argc > 4 ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                     : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_key_cert_pairs.push_back({read_file(argv[2]), read_file(argv[3])});
  if (argc > 4) options.pem_root_certs = read_file(argv[4]);
  DeskService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::SslServerCredentials(options));
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "secure_server listens on " << address << std::endl;
  server->Wait();
  return 0;
}
