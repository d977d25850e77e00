// One unary call by the bytes of its messages, through gRPC C++'s generic stub. Only grpc_call.cc includes gRPC's
// headers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace drover::cli {

struct UnaryCall {
  std::string target;  // "localhost:50051", "unix:/run/greeter.sock", any gRPC name
  std::string method;  // "/helloworld.Greeter/SayHello"
  std::vector<std::pair<std::string, std::string>> metadata;
  int64_t deadline_ms = 10000;
  bool tls = false;
  std::string ca_certificates;  // PEM; empty: the system's
  std::string authority;        // empty: the target
};

struct UnaryReply {
  int status = 0;           // grpc status code
  std::string status_name;  // "UNAVAILABLE"
  std::string message;
  std::string details_size;  // binary error details, if present: "12 bytes of error details"
  std::string response;
  std::vector<std::pair<std::string, std::string>> initial_metadata, trailing_metadata;
};

UnaryReply call_unary(const UnaryCall& call, const std::string& request);

}  // namespace drover::cli
