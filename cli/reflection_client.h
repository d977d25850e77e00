// Asks a server for its services and descriptors: gRPC's server reflection, v1, or v1alpha where the server has no v1.
//
// What the server sends is hostile: files and names are bounded, and its words are printable.
//
// Errors are sentences and exit codes (cli/command.h). Thread-safety: none.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/grpc_call.h"

namespace drover::cli {

struct Failure {
  std::string text;  // empty: all is well
  int code = 0;      // exit code
  explicit operator bool() const { return !text.empty(); }
};

// Beyond these an answer is refused: it would fill the memory of this machine, or take its time.
inline constexpr size_t kMostReflectionBytes = 64 << 20;  // of a message, and of all files together
inline constexpr int kMostReflectionFiles = 65'536;       // also services, and files that are asked for

class ReflectionClient {
 public:
  // `channel` outlives it.
  ReflectionClient(ByteChannel& channel, CallOptions options) : channel_(channel), options_(std::move(options)) {}

  // Full names, sorted.
  Failure services(std::vector<std::string>* names);
  // Adds the file that declares the symbol, and all that it imports, to files(), each once.
  Failure add_file_of(const std::string& symbol);
  const google::protobuf::FileDescriptorSet& files() const { return files_; }

 private:
  // Field `number` of the request is `name`; field `wanted` of the response, and its kind is that.
  Failure ask(int number, const std::string& name, int wanted, std::string* answer);
  Failure exchange(const std::string& request, std::string* response);
  Failure add_files(const std::string& answer);
  Failure add_imports_of(const google::protobuf::FileDescriptorProto& file);

  ByteChannel& channel_;
  const CallOptions options_;
  std::unique_ptr<ByteStream> stream_;
  bool alpha_ = false;
  google::protobuf::FileDescriptorSet files_;
  std::set<std::string> known_, asked_;  // names of files_; imports that the server was asked for
  int complete_ = 0;                     // the imports of so many of files_ were looked for
  size_t bytes_ = 0;                     // of files_, as they came
};

}  // namespace drover::cli
