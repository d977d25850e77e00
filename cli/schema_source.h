// The schema of a command: .proto files or a FileDescriptorSet, named on the command line.
//
// google/protobuf/*.proto (timestamp, any, ...) are found without a directory for them. Debian's libprotobuf 3.21
// parses the .proto files: editions must come as a FileDescriptorSet from a newer protoc.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "schema/descriptor_files.h"
#include "schema/image_load.h"
#include "schema/message_type.h"

namespace drover::cli {

// A declaration, in .proto's words.
struct FoundSymbol {
  std::string error;  // empty: it was found
  std::string full_name, kind, file, definition;
  const google::protobuf::ServiceDescriptor* service = nullptr;  // if it is one
};

class SchemaSource {
 public:
  SchemaSource();
  ~SchemaSource();

  // --proto FILE... -I DIR..., --descriptor-set FILE
  void add_options(CLI::App* command);
  bool given() const { return !protos_.empty() || !descriptor_set_.empty(); }

  // Reads what the options name. Returns an empty string, or what is wrong.
  std::string load();
  // The same for descriptors at hand.
  std::string load(const google::protobuf::FileDescriptorSet& files);

  // ---- after load()
  const google::protobuf::FileDescriptorSet& files() const { return files_; }
  const schema::Image& image() const { return image_.image(); }
  // The message of that full name, or the only one whose name ends so ("HelloRequest"). Returns an empty string, or an
  // error that lists similar names.
  std::string find_message(const std::string& name, schema::MessageType* type) const;
  // "helloworld.Greeter/SayHello", also with "." before the method or "/" in front, or the last parts if only one
  // method ends so.
  std::string find_method(const std::string& name, const google::protobuf::MethodDescriptor** method) const;
  // The message, enum, service, method or extension of that full name, or the only one whose name ends so; or an error
  // that lists similar names.
  FoundSymbol find_symbol(const std::string& name) const;

 private:
  std::string load_protos();
  std::string build();

  std::vector<std::string> protos_, include_dirs_;
  std::string descriptor_set_;
  google::protobuf::FileDescriptorSet files_;
  std::unique_ptr<schema::DescriptorFiles> descriptors_;
  schema::OwnedImage image_;
};

// Names like `name` first, at most `count` of them: "a, b, c and 12 more". Of each name at most 200 bytes, printable.
std::string nearest_names(const std::string& name, std::vector<std::string> names, size_t count);

}  // namespace drover::cli
