// The members stand in a struct of their own, so that no field's name can clash with an accessor's:
//
//   class Foo final : public MessageOf<Foo> {       16-byte header, from the base
//     struct DroverFields { has_bits[]; oneof_case[]; members in layout order } drover_;
//   };
//
// The .cc file asserts that every offset is the image's.
#include "compiler/message_text.h"

#include <google/protobuf/descriptor.pb.h>

#include "compiler/class_text.h"
#include "compiler/enum_text.h"
#include "compiler/extension_text.h"
#include "compiler/field_accessors.h"
#include "schema/layout.h"

namespace drover::compiler {
namespace {

std::string lifetime(const std::string& name) {
  return "  " + name + "() { drover_construct(nullptr); }\n" + "  ~" + name + "() {}\n  explicit " + name +
         "(::drover::Arena* arena) { drover_construct(arena); }\n" + "  " + name + "(const " + name +
         "& other) : " + name + "() { CopyFrom(other); }\n" + "  " + name + "(" + name +
         "&& other) noexcept : " + name + "() { drover_move_from(other); }\n" + "  " + name + "& operator=(const " +
         name + "& other) {\n    CopyFrom(other);\n    return *this;\n  }\n" + "  " + name + "& operator=(" + name +
         "&& other) noexcept {\n    drover_move_from(other);\n    return *this;\n  }\n";
}

std::string constants(const Descriptor* message) {
  std::string out;
  for (int i = 0; i < message->nested_type_count(); ++i) {
    const Descriptor* nested = message->nested_type(i);
    if (nested->options().map_entry()) continue;
    out += "  using " + resolve_keyword(nested->name()) + " = " + class_name(nested) + ";\n";
  }
  for (int i = 0; i < message->enum_type_count(); ++i) out += enum_aliases(message->enum_type(i));
  if (message->field_count() > 0) {
    out += "  enum : int {\n";
    for (int i = 0; i < message->field_count(); ++i) {
      out += "    " + number_constant(message->field(i)) + " = " + std::to_string(message->field(i)->number()) + ",\n";
    }
    out += "  };\n";
  }
  for (int i = 0; i < message->real_oneof_decl_count(); ++i) {
    const OneofDescriptor* oneof = message->oneof_decl(i);
    out += "  enum " + case_enum(oneof) + " : uint32_t {\n";
    for (int j = 0; j < oneof->field_count(); ++j) {
      out += "    " + case_constant(oneof->field(j)) + " = " + std::to_string(oneof->field(j)->number()) + ",\n";
    }
    out += "    " + case_not_set(oneof) + " = 0,\n  };\n";
  }
  return out;
}

bool has_members(const schema::MessageModel& model) {
  return model.has_words > 0 || model.oneof_count > 0 || !model.fields.empty();
}

std::string members(const Descriptor* message, const schema::MessageModel& model, const Options& options) {
  if (!has_members(model)) return "";
  std::string out = "  struct DroverFields {\n";
  if (model.has_words > 0) out += "    uint32_t has_bits[" + std::to_string(model.has_words) + "];\n";
  if (model.oneof_count > 0) out += "    uint32_t oneof_case[" + std::to_string(model.oneof_count) + "];\n";
  for (const schema::Member& member : schema::member_order(model)) {
    if (member.oneof >= 0) {
      out += "    alignas(8) unsigned char " + oneof_slot(message->oneof_decl(member.oneof)) + "[" +
             std::to_string(member.size) + "];\n";
    } else {
      const FieldDescriptor* field = message->field(member.field);
      out += "    " + storage_type(field, options) + " " + storage_member(field) + ";\n";
    }
  }
  // In a union: the class runs no constructor and no destructor of its fields.
  return out + "  };\n  union {\n    DroverFields drover_;\n  };\n";
}

std::string map_entry_asserts(const FieldDescriptor* field, const schema::Schema& schema,
                              const schema::FieldModel& model, const Options& options) {
  const schema::MessageModel& entry = schema.messages[model.sub];
  std::string layout = "::drover::MapEntryLayout" + map_arguments(field, options) + "::";
  return "  static_assert(" + layout + "kKeyOffset == " + std::to_string(entry.fields[0].offset) + " && " + layout +
         "kValueOffset == " + std::to_string(entry.fields[1].offset) + " && " + layout +
         "kSize == " + std::to_string(entry.object_size) + ");\n";
}

// Compile-time proof that the class and the image agree.
std::string layout_asserts(const Descriptor* message, const schema::Schema& schema, const schema::MessageModel& model,
                           const Options& options) {
  std::string name = class_name(message);
  std::string out = "struct " + name + "::DroverLayout {\n";
  auto assert_offset = [&](const std::string& member, uint32_t offset) {
    out += "  static_assert(offsetof(" + name + ", drover_." + member + ") == " + std::to_string(offset) + ");\n";
  };
  out += "  static_assert(sizeof(" + name + ") == " + std::to_string(model.object_size) + ");\n";
  if (model.has_words > 0) assert_offset("has_bits", schema::kObjectHeaderSize);
  if (model.oneof_count > 0) assert_offset("oneof_case", schema::kObjectHeaderSize + 4 * model.has_words);
  for (const schema::Member& member : schema::member_order(model)) {
    if (member.oneof >= 0) {
      const OneofDescriptor* oneof = message->oneof_decl(member.oneof);
      assert_offset(oneof_slot(oneof), model.fields[static_cast<size_t>(oneof->field(0)->index())].offset);
    } else {
      const FieldDescriptor* field = message->field(member.field);
      assert_offset(storage_member(field), model.fields[static_cast<size_t>(member.field)].offset);
      out += "  static_assert(sizeof(" + storage_type(field, options) + ") == " + std::to_string(member.size) + ");\n";
      if (field->is_map())
        out += map_entry_asserts(field, schema, model.fields[static_cast<size_t>(member.field)], options);
    }
  }
  return out + "};\n";
}

// google.protobuf.Any packs and unpacks other messages.
const char* const kAnyMethods = R"(  template <class T>
  bool PackFrom(const T& message, std::string_view type_url_prefix = "type.googleapis.com") {
    std::string bytes;
    if (!message.SerializeToString(&bytes)) return false;
    set_type_url(::drover::accessors::type_url(type_url_prefix, T::FullMessageName()));
    set_value(bytes);
    return true;
  }
  template <class T>
  bool Is() const {
    return ::drover::accessors::type_url_names(type_url(), T::FullMessageName());
  }
  template <class T>
  bool UnpackTo(T* message) const {
    return Is<T>() && message->ParseFromString(value());
  }
)";

}  // namespace

MessageText message_text(const Descriptor* message, const schema::Schema& schema, const std::string& image,
                         const Options& options) {
  std::string name = class_name(message);
  int64_t index = schema.find_message(message->full_name());
  const schema::MessageModel& model = schema.messages[static_cast<size_t>(index)];

  ClassText text(name);
  for (int i = 0; i < message->field_count(); ++i) {
    add_accessors(message->field(i), model.fields[static_cast<size_t>(i)], options, &text);
  }
  for (int i = 0; i < message->real_oneof_decl_count(); ++i) add_oneof(message->oneof_decl(i), &text);

  MessageText out;
  std::string base = message->extension_range_count() > 0 ? "::drover::ExtendableOf<" : "::drover::MessageOf<";
  std::string extensions;
  for (const FieldDescriptor* extension : extensions_of(message, schema)) {
    extensions += extension_declaration(extension, options);
    out.source += extension_definition(extension, schema, image, options);
  }
  out.class_definition = "// " + message->full_name() + "\nclass " + name + " final : public " + base + name +
                         "> {\n public:\n" + lifetime(name) + constants(message) + extensions +
                         "  static const ::drover::schema::MessageType& drover_type() { return drover_type_; }\n" +
                         text.declarations();
  if (message->full_name() == "google.protobuf.Any") out.class_definition += kAnyMethods;
  out.class_definition += "\n private:\n  friend class ::drover::MessageOf<" + name + ">;\n  struct DroverLayout;\n" +
                          text.private_declarations() + "  static const ::drover::schema::MessageType drover_type_;\n" +
                          members(message, model, options) + "};\n\n";
  out.inline_definitions = text.definitions();
  out.source += "constinit const ::drover::schema::MessageType " + name + "::drover_type_{&" + image + ", " +
                std::to_string(index) + "};\n" + text.source() + layout_asserts(message, schema, model, options) + "\n";
  return out;
}

}  // namespace drover::compiler
