// One function for each shape of field: singular scalar, string and message, in a oneof or not; repeated; map.
#include "compiler/field_accessors.h"

namespace drover::compiler {
namespace {

const char* const kString = "::drover::String";
const char* const kOwner = "drover_owner()";
const char* const kArena = "::drover::arena_of(drover_owner())";
const char* const kAccessors = "::drover::accessors::";
const char* const kBound = " DROVER_LIFETIME_BOUND";

bool is_string(const FieldDescriptor* field) { return field->cpp_type() == FieldDescriptor::CPPTYPE_STRING; }
bool is_message(const FieldDescriptor* field) { return field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; }
bool is_enum(const FieldDescriptor* field) { return field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM; }

// Everything the shapes below need to know of a field.
struct Names {
  std::string x;                        // accessor
  std::string type;                     // value type
  std::string stored;                   // expression of the member
  std::string has;                      // expression: is it set? Empty without explicit presence
  std::string set;                      // statement: mark it set
  std::string unset;                    // statement: mark it unset
  std::string slot, case_word, number;  // of a oneof member
  std::string default_value;            // of a scalar; or a call for a string; empty: zero
};

std::string call(const std::string& function, const std::string& arguments) {
  return kAccessors + function + "(" + arguments + ")";
}

Names names_of(const FieldDescriptor* field, const schema::FieldModel& model, const Options& options) {
  Names n;
  n.x = accessor_name(field);
  n.type = value_type(field, options);
  n.number = std::to_string(field->number());
  if (model.has_default) {
    n.default_value = is_string(field) ? "drover_default_" + n.x + "()" : default_expression(field, options);
  }
  if (field->real_containing_oneof() != nullptr) {
    n.slot = "drover_." + oneof_slot(field->real_containing_oneof());
    n.case_word = "drover_.oneof_case[" + std::to_string(field->real_containing_oneof()->index()) + "]";
    n.stored = "(*" + std::string(kAccessors) + "slot_as<" + storage_type(field, options) + ">(" + n.slot + "))";
    n.has = n.case_word + " == " + n.number;
    n.unset = "if (" + n.has + ") " + call("clear_oneof", n.slot + ", &" + n.case_word) + ";";
    return n;
  }
  n.stored = "drover_." + storage_member(field);
  if (model.has_bit != schema::kNoHasBit) {
    std::string bit = "drover_.has_bits, " + std::to_string(model.has_bit);
    n.has = call("has", bit);
    n.set = call("set_has", bit) + "; ";
    n.unset = call("clear_has", bit) + "; ";
  } else if (is_message(field) && !field->is_repeated()) {
    n.has = "static_cast<bool>(" + n.stored + ")";
  }
  return n;
}

// The oneof's slot, made the field's.
std::string selected(const FieldDescriptor* field, const Names& n, const Options& options) {
  return std::string(kAccessors) + "select<" + storage_type(field, options) + ">(" + n.slot + ", &" + n.case_word +
         ", " + n.number + ")";
}

void add_scalar(const FieldDescriptor* field, const Names& n, const Options& options, ClassText* text) {
  std::string value = is_enum(field) ? "static_cast<" + n.type + ">(" + n.stored + ")" : n.stored;
  bool in_oneof = !n.slot.empty();
  if (in_oneof || !n.default_value.empty()) {
    std::string otherwise = n.default_value.empty() ? n.type + "()" : n.default_value;
    value = n.has + " ? " + value + " : " + otherwise;
  }
  text->method(n.type, n.x + "() const", "return " + value + ";");
  std::string target = in_oneof ? "*" + selected(field, n, options) : n.set + n.stored;
  text->method("void", "set_" + n.x + "(" + n.type + " value)", target + " = value;");
  std::string clear = in_oneof ? n.unset : n.unset + n.stored + " = {};";
  text->method("void", "clear_" + n.x + "()", clear);
}

void add_string(const FieldDescriptor* field, const Names& n, const Options& options, ClassText* text) {
  bool in_oneof = !n.slot.empty();
  bool has_default = !n.default_value.empty();
  std::string value = n.stored;
  if (in_oneof || has_default) {
    value = n.has + " ? " + value + " : " + (has_default ? n.default_value : call("empty_string", ""));
  }
  text->method("const ::drover::String&", n.x + "() const" + kBound, "return " + value + ";");

  std::string assign = in_oneof ? selected(field, n, options) + "->" : n.set + n.stored + ".";
  text->method("void", "set_" + n.x + "(std::string_view value)", assign + "assign_in(" + kArena + ", value);");
  // A String of the request that belongs to the same call is referred to, not copied (Arena::may_borrow).
  text->method("void", "set_" + n.x + "(const ::drover::String& value)",
               assign + "assign_string(" + kArena + ", value);");
  text->method("void", "set_" + n.x + "(const char* value)", "set_" + n.x + "(std::string_view(value));");
  text->method("void", "set_" + n.x + "(const std::string& value)", "set_" + n.x + "(std::string_view(value));");
  text->method("void", "set_" + n.x + "(const void* value, size_t size)",
               "set_" + n.x + "(std::string_view(static_cast<const char*>(value), size));");

  // A field that is about to be changed in place starts from its default.
  std::string from_default =
      has_default ? "if (!(" + n.has + ")) set_" + n.x + "(" + n.default_value + ".view()); " : "";
  text->method("::drover::String*", "mutable_" + n.x + "()" + kBound,
               from_default +
                   (in_oneof ? "return " + selected(field, n, options) + "->" : n.set + "return " + n.stored + ".") +
                   "with_owner(" + kOwner + ");");
  std::string clear = in_oneof ? n.unset : n.unset + n.stored + ".clear();";
  text->method("void", "clear_" + n.x + "()", clear);
  // Null for a field with presence that is not set, as protobuf's.
  std::string released = n.has.empty() ? "" : "if (!(" + n.has + ")) return nullptr; ";
  released += has_default || in_oneof
                  ? "auto* copy = new std::string(" + n.x + "().view()); clear_" + n.x + "(); return copy;"
                  : n.unset + "return " + call("release_string", "&" + n.stored) + ";";
  text->method("std::string*", "release_" + n.x + "()", released);
  text->method("void", "set_allocated_" + n.x + "(std::string* value)",
               "if (value == nullptr) { clear_" + n.x + "(); } else { set_" + n.x + "(*value); delete value; }");
  if (has_default) {
    const std::string& bytes = field->default_value_string();
    text->private_function("const ::drover::String&", "drover_default_" + n.x + "()",
                           "static const ::drover::String* value = " +
                               call("default_string", literal(bytes) + ", " + std::to_string(bytes.size())) +
                               ";\n  return *value;");
  }
}

void add_message(const FieldDescriptor* field, const Names& n, const Options& options, ClassText* text) {
  bool in_oneof = !n.slot.empty();
  std::string value = call("message_or_default", n.stored);
  if (in_oneof) value = n.has + " ? " + value + " : " + n.type + "::default_instance()";
  text->method("const " + n.type + "&", n.x + "() const" + kBound, "return " + value + ";");
  std::string pointer = in_oneof ? selected(field, n, options) : "&" + n.stored;
  text->method(n.type + "*", "mutable_" + n.x + "()" + kBound,
               "return " + call("mutable_message", pointer + ", " + kOwner) + ";");
  std::string clear = in_oneof ? n.unset : n.stored + ".set(nullptr);";
  text->method("void", "clear_" + n.x + "()", clear);
  std::string release = "return " + call("release_message", "&" + n.stored) + ";";
  if (in_oneof) {
    release = "if (!has_" + n.x + "()) return nullptr; auto* copy = " + call("release_message", "&" + n.stored) + "; " +
              n.unset + " return copy;";
  }
  text->method(n.type + "*", "release_" + n.x + "()", release);
  std::string take = call("set_allocated_message", pointer + ", " + kOwner + ", value") + ";";
  if (in_oneof) {
    take = "if (value == nullptr) { " + call("clear_oneof", n.slot + ", &" + n.case_word) + "; } else { " + take + " }";
  }
  text->method("void", "set_allocated_" + n.x + "(" + n.type + "* value)", take);
  // A message cannot contain another owner's object: this copies, as the safe form does.
  text->method("void", "unsafe_arena_set_allocated_" + n.x + "(" + n.type + "* value)",
               "set_allocated_" + n.x + "(value);");
  text->method(n.type + "*", "unsafe_arena_release_" + n.x + "()",
               std::string(in_oneof ? "if (!has_" + n.x + "()) return nullptr; " : "") +
                   "if (auto* part = " + call("detach_from_arena", "&" + n.stored) + ") { " +
                   (in_oneof ? n.unset : "") + " return part; } return release_" + n.x + "();");
}

// x(), mutable_x(), x_size() and clear_x() of repeated and map fields.
void add_container(const Names& n, const std::string& type, ClassText* text) {
  text->method("int", n.x + "_size() const", "return " + n.stored + ".size();");
  text->method("const " + type + "&", n.x + "() const" + kBound, "return " + n.stored + ";");
  text->method(type + "*", "mutable_" + n.x + "()" + kBound,
               n.stored + ".note_owner(" + kOwner + "); return &" + n.stored + ";");
}

void add_repeated_scalar(const FieldDescriptor* field, const Names& n, ClassText* text) {
  bool cast = is_enum(field);
  std::string get = n.stored + ".Get(index)";
  text->method(n.type, n.x + "(int index) const",
               "return " + (cast ? "static_cast<" + n.type + ">(" + get + ")" : get) + ";");
  text->method("void", "set_" + n.x + "(int index, " + n.type + " value)", n.stored + ".Set(index, value);");
  text->method("void", "add_" + n.x + "(" + n.type + " value)", n.stored + ".add_in(" + kArena + ", value);");
}

void add_repeated_string(const Names& n, ClassText* text) {
  const std::string bytes = "std::string_view(static_cast<const char*>(value), size)";
  text->method("const ::drover::String&", n.x + "(int index) const" + kBound, "return " + n.stored + ".Get(index);");
  text->method("::drover::String*", "mutable_" + n.x + "(int index)" + kBound,
               "return " + n.stored + ".Mutable(index);");
  text->method("void", "set_" + n.x + "(int index, std::string_view value)",
               n.stored + ".Mutable(index)->assign_in(" + kArena + ", value);");
  text->method("void", "set_" + n.x + "(int index, const void* value, size_t size)",
               "set_" + n.x + "(index, " + bytes + ");");
  text->method("::drover::String*", "add_" + n.x + "()" + kBound, "return " + n.stored + ".add_in(" + kArena + ");");
  text->method("void", "add_" + n.x + "(std::string_view value)",
               "auto* arena = " + std::string(kArena) + "; " + n.stored + ".add_in(arena)->assign_in(arena, value);");
  text->method("void", "add_" + n.x + "(const void* value, size_t size)", "add_" + n.x + "(" + bytes + ");");
}

void add_repeated_message(const Names& n, ClassText* text) {
  text->method("const " + n.type + "&", n.x + "(int index) const" + kBound, "return " + n.stored + ".Get(index);");
  text->method(n.type + "*", "mutable_" + n.x + "(int index)" + kBound, "return " + n.stored + ".Mutable(index);");
  text->method(n.type + "*", "add_" + n.x + "()" + kBound, "return " + n.stored + ".add_in(" + kArena + ");");
}

}  // namespace

std::string value_type(const FieldDescriptor* field, const Options& options) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return "int32_t";
    case FieldDescriptor::CPPTYPE_INT64:
      return "int64_t";
    case FieldDescriptor::CPPTYPE_UINT32:
      return "uint32_t";
    case FieldDescriptor::CPPTYPE_UINT64:
      return "uint64_t";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "double";
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "float";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "bool";
    case FieldDescriptor::CPPTYPE_ENUM:
      return qualified(field->enum_type(), options);
    case FieldDescriptor::CPPTYPE_STRING:
      return kString;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return qualified(field->message_type(), options);
  }
  return "";
}

std::string map_arguments(const FieldDescriptor* field, const Options& options) {
  return "<" + value_type(field->message_type()->map_key(), options) + ", " +
         value_type(field->message_type()->map_value(), options) + ">";
}

std::string storage_type(const FieldDescriptor* field, const Options& options) {
  if (field->is_map()) return "::drover::Map" + map_arguments(field, options);
  std::string element = is_enum(field) ? "int32_t" : value_type(field, options);
  if (field->is_repeated()) {
    // Enums are stored as ints: an open enum may hold any number.
    bool pointers = is_string(field) || is_message(field);
    return (pointers ? "::drover::RepeatedPtrField<" : "::drover::RepeatedField<") +
           (is_enum(field) ? "int" : element) + ">";
  }
  return is_message(field) ? "::drover::OffsetPtr<" + element + ">" : element;
}

std::string storage_member(const FieldDescriptor* field) { return accessor_name(field) + "_"; }
std::string oneof_slot(const OneofDescriptor* oneof) { return "slot" + std::to_string(oneof->index()); }

void add_accessors(const FieldDescriptor* field, const schema::FieldModel& model, const Options& options,
                   ClassText* text) {
  Names n = names_of(field, model, options);
  text->line("// " + field->name() + " = " + n.number);
  if (field->is_repeated()) {
    text->method("void", "clear_" + n.x + "()", n.stored + (field->is_map() ? ".clear();" : ".Clear();"));
    add_container(n, storage_type(field, options), text);
    if (field->is_map()) return;
    if (is_string(field)) {
      add_repeated_string(n, text);
    } else if (is_message(field)) {
      add_repeated_message(n, text);
    } else {
      add_repeated_scalar(field, n, text);
    }
    return;
  }
  if (!n.has.empty()) text->method("bool", "has_" + n.x + "() const", "return " + n.has + ";");
  if (is_string(field)) {
    add_string(field, n, options, text);
  } else if (is_message(field)) {
    add_message(field, n, options, text);
  } else {
    add_scalar(field, n, options, text);
  }
}

void add_oneof(const OneofDescriptor* oneof, ClassText* text) {
  std::string word = "drover_.oneof_case[" + std::to_string(oneof->index()) + "]";
  std::string type = text->name() + "::" + case_enum(oneof);
  text->method(type, oneof->name() + "_case() const", "return static_cast<" + type + ">(" + word + ");");
  text->method("void", "clear_" + oneof->name() + "()",
               call("clear_oneof", "drover_." + oneof_slot(oneof) + ", &" + word) + ";");
}

}  // namespace drover::compiler
