// foo.lines.pb.h: classes of messages of fixed shape, and the clients and servers of services that travel as RPC lines
// (docs/lines.md). It has no .cc file: clients are compiled against a port.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

#include "compiler/lines_layout.h"
#include "compiler/names.h"
#include "schema/model.h"

namespace drover::compiler {

struct LinesText {
  std::string text;   // behind the banner
  std::string error;  // what is wrong with the file's options, or with its names
};

// `schema` is that of the file and what it imports. The text of a file without lines is empty.
LinesText lines_text(const FileDescriptor* file, const schema::Schema& schema, const Options& options);

}  // namespace drover::compiler
