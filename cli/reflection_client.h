// Asks a server for its services and descriptors: gRPC's server reflection, v1, or v1alpha where the server has no v1.
//
// Errors are sentences and exit codes (cli/command.h). Thread-safety: none.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/grpc_call.h"

namespace drover::cli {

struct Failure {
  std::string text;  // empty: all is well
  int code = 0;      // exit code
  explicit operator bool() const { return !text.empty(); }
};

class ReflectionClient {
 public:
  // `channel` outlives it.
  ReflectionClient(ByteChannel& channel, CallOptions options) : channel_(channel), options_(std::move(options)) {}

  // Full names, sorted.
  Failure services(std::vector<std::string>* names);
  // Adds the file that declares the symbol, and all that it imports, to `files`, each once.
  Failure file_of(const std::string& symbol, google::protobuf::FileDescriptorSet* files);

 private:
  // Field `number` of the request is `name`; field `wanted` of the response, and its kind is that.
  Failure ask(int number, const std::string& name, int wanted, std::string* answer);
  Failure exchange(const std::string& request, std::string* response);
  Failure add_files(const std::string& answer, google::protobuf::FileDescriptorSet* files);

  ByteChannel& channel_;
  const CallOptions options_;
  std::unique_ptr<ByteStream> stream_;
  bool alpha_ = false;
};

}  // namespace drover::cli
