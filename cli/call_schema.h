// CallSchema: the schema of `drover call`: that of the command line, or else what the server says of itself.
//
// Thread-safety: none.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "cli/reflection_client.h"
#include "cli/schema_source.h"

namespace drover::cli {

class CallSchema {
 public:
  // Both outlive it. `reflection`: of the call that asks the server.
  CallSchema(SchemaSource& source, ByteChannel& channel, const CallOptions& reflection)
      : source_(source), reflection_(channel, reflection) {}

  // As SchemaSource::find_method; loads what the method needs.
  Failure find_method(const std::string& name, const google::protobuf::MethodDescriptor** method);
  // Services, or the methods of one, a line each.
  Failure list(const std::string& service, std::string* text);
  // The definition of a symbol, or of all services, in .proto's words.
  Failure describe(const std::string& symbol, std::string* text);

 private:
  Failure load_services(const std::vector<std::string>& services);
  Failure load_all();
  Failure load_for(const std::string& symbol);
  std::vector<std::string> names_of_services() const;

  SchemaSource& source_;
  ReflectionClient reflection_;
};

}  // namespace drover::cli
