#include "compiler/extension_text.h"

#include "compiler/field_accessors.h"

namespace drover::compiler {
namespace {

int64_t index_of(const FieldDescriptor* extension, const schema::Schema& schema) {
  return schema.find_message(schema::extension_entry_name(extension->containing_type()->full_name(),
                                                          static_cast<uint32_t>(extension->number())));
}

std::string identifier_type(const FieldDescriptor* extension, const Options& options) {
  bool text = extension->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  return "::drover::ExtensionIdentifier<" + qualified(extension->containing_type(), options) + ", " +
         (text ? "std::string" : value_type(extension, options)) + (extension->is_repeated() ? ", true>" : ", false>");
}

template <typename Scope>
std::vector<const FieldDescriptor*> known_extensions(const Scope* scope, const schema::Schema& schema) {
  std::vector<const FieldDescriptor*> known;
  for (int i = 0; i < scope->extension_count(); ++i) {
    if (index_of(scope->extension(i), schema) >= 0) known.push_back(scope->extension(i));
  }
  return known;
}

}  // namespace

std::vector<const FieldDescriptor*> extensions_of(const FileDescriptor* file, const schema::Schema& schema) {
  return known_extensions(file, schema);
}
std::vector<const FieldDescriptor*> extensions_of(const Descriptor* message, const schema::Schema& schema) {
  return known_extensions(message, schema);
}

std::string extension_declaration(const FieldDescriptor* extension, const Options& options) {
  bool nested = extension->extension_scope() != nullptr;
  std::string indent = nested ? "  " : "";
  return indent + (nested ? "static" : "inline") + " constexpr int k" + camel_case(extension->name()) +
         "FieldNumber = " + std::to_string(extension->number()) + ";\n" + indent + (nested ? "static" : "extern") +
         " const " + identifier_type(extension, options) + " " + resolve_keyword(extension->name()) + ";\n";
}

std::string extension_definition(const FieldDescriptor* extension, const schema::Schema& schema,
                                 const std::string& image, const Options& options) {
  const Descriptor* scope = extension->extension_scope();
  return "constinit const " + identifier_type(extension, options) + " " +
         (scope == nullptr ? "" : class_name(scope) + "::") + resolve_keyword(extension->name()) + "(&" + image + ", " +
         std::to_string(index_of(extension, schema)) + ", " + std::to_string(extension->number()) + ");\n";
}

}  // namespace drover::compiler
