// The identifiers of extensions: `extern const ::drover::ExtensionIdentifier<Extendee, Value, repeated> my_ext;`.
#pragma once

#include <string>
#include <vector>

#include "compiler/names.h"
#include "schema/model.h"

namespace drover::compiler {

// The extensions that a file or message declares, without custom options, which the file's `schema` omits.
std::vector<const FieldDescriptor*> extensions_of(const FileDescriptor* file, const schema::Schema& schema);
std::vector<const FieldDescriptor*> extensions_of(const Descriptor* message, const schema::Schema& schema);

// Declares one, and the constant that holds its number: at namespace scope, or inside the class that it is nested in.
std::string extension_declaration(const FieldDescriptor* extension, const Options& options);
// Defines it. `image` is the expression of the file's schema::Image.
std::string extension_definition(const FieldDescriptor* extension, const schema::Schema& schema,
                                 const std::string& image, const Options& options);

}  // namespace drover::compiler
