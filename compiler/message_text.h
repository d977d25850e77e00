// A generated message class: its members are the object's layout, its functions the accessors.
#pragma once

#include <string>

#include "compiler/names.h"
#include "schema/model.h"

namespace drover::compiler {

struct MessageText {
  std::string class_definition;    // for the header
  std::string inline_definitions;  // for the header, behind all classes
  std::string source;              // for the .cc file
};

// `image` is the expression of the file's schema::Image; `schema` the laid-out schema that the image was built from.
MessageText message_text(const Descriptor* message, const schema::Schema& schema, const std::string& image,
                         const Options& options);

}  // namespace drover::compiler
