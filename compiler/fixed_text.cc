#include "compiler/fixed_text.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "compiler/field_accessors.h"

namespace drover::compiler {
namespace {

struct Member {
  std::string name, x, type, value;  // value: what its accessor gives
  std::string has;                   // expression, or empty
  std::string set_bit, clear_bit;    // statements
};

std::string bit(int number) { return std::to_string(1u << (number % 8)) + "u"; }

std::string value_type_of(const FieldDescriptor* field, const Options& options) {
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) return "std::string_view";
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return qualified_fixed(field->message_type(), options);
  return value_type(field, options);
}

std::string stored_type(const FixedField& field, const Options& options) {
  switch (field.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "::drover::lines::FixedBool";
    case FieldDescriptor::CPPTYPE_ENUM:
      return "int32_t";
    case FieldDescriptor::CPPTYPE_STRING:
      return "::drover::lines::BoundedString<" + std::to_string(field.max_bytes) + ">";
    default:
      return value_type_of(field.field, options);
  }
}

Member member_of(const FixedField& field, const Options& options) {
  Member m;
  m.name = "f" + std::to_string(field.field->number()) + "_";
  m.x = accessor_name(field.field);
  m.type = value_type_of(field.field, options);
  if (field.presence >= 0) {
    std::string byte = "has_[" + std::to_string(field.presence / 8) + "]";
    m.has = "(" + byte + " & " + bit(field.presence) + ") != 0";
    m.set_bit = byte + " = static_cast<uint8_t>(" + byte + " | " + bit(field.presence) + "); ";
    m.clear_bit = byte + " = static_cast<uint8_t>(" + byte + " & ~" + bit(field.presence) + "); ";
  }
  return m;
}

std::string fallback(const FixedField& field, const Options& options) {
  const FieldDescriptor* f = field.field;
  if (f->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    std::string text = f->has_default_value() ? f->default_value_string() : "";
    return "std::string_view(" + literal(text) + ", " + std::to_string(text.size()) + ")";
  }
  if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
    return "drover_none<" + qualified_fixed(f->message_type(), options) + ">()";
  return default_expression(f, options);
}

std::string or_fallback(const FixedField& field, const Member& m, const std::string& value, const Options& options) {
  return m.has.empty() ? value : m.has + " ? " + value + " : " + fallback(field, options);
}

std::string accessors(const FixedField& field, const Options& options) {
  Member m = member_of(field, options);
  std::string out, line = "  ";
  if (!m.has.empty()) out += line + "bool has_" + m.x + "() const { return " + m.has + "; }\n";
  switch (field.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      out += line + "std::string_view " + m.x + "() const { return " +
             or_fallback(field, m, m.name + ".view()", options) + "; }\n";
      out += line + "// False: more than " + std::to_string(field.max_bytes) + " bytes; nothing was changed.\n";
      out += line + "[[nodiscard]] bool set_" + m.x + "(std::string_view value) {\n    if (!" + m.name +
             ".set(value)) return false;\n    " + m.set_bit + "return true;\n  }\n";
      out += line + "void clear_" + m.x + "() { " + m.clear_bit + "(void)" + m.name + ".set({}); }\n";
      return out;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      out += line + "const " + m.type + "& " + m.x + "() const { return " + or_fallback(field, m, m.name, options) +
             "; }\n";
      out += line + m.type + "* mutable_" + m.x + "() {\n    if (!has_" + m.x + "()) " + m.name + " = " + m.type +
             "();\n    " + m.set_bit + "return &" + m.name + ";\n  }\n";
      out += line + "void clear_" + m.x + "() { " + m.clear_bit + m.name + " = " + m.type + "(); }\n";
      return out;
    case FieldDescriptor::CPPTYPE_BOOL:
      out += line + "bool " + m.x + "() const { return " + or_fallback(field, m, m.name + ".get()", options) + "; }\n";
      out += line + "void set_" + m.x + "(bool value) { " + m.set_bit + m.name + ".set(value); }\n";
      out += line + "void clear_" + m.x + "() { " + m.clear_bit + m.name + ".set(false); }\n";
      return out;
    case FieldDescriptor::CPPTYPE_ENUM:
      out += line + m.type + " " + m.x + "() const { return " +
             or_fallback(field, m, "static_cast<" + m.type + ">(" + m.name + ")", options) + "; }\n";
      out += line + "void set_" + m.x + "(" + m.type + " value) { " + m.set_bit + m.name +
             " = static_cast<int32_t>(value); }\n";
      out += line + "void clear_" + m.x + "() { " + m.clear_bit + m.name + " = 0; }\n";
      return out;
    default:
      out += line + m.type + " " + m.x + "() const { return " + or_fallback(field, m, m.name, options) + "; }\n";
      out += line + "void set_" + m.x + "(" + m.type + " value) { " + m.set_bit + m.name + " = value; }\n";
      out += line + "void clear_" + m.x + "() { " + m.clear_bit + m.name + " = 0; }\n";
      return out;
  }
}

// An expression that is true of the numbers that the enum has.
std::string declared(const EnumDescriptor* e, const std::string& value) {
  std::set<int64_t> numbers;
  for (int i = 0; i < e->value_count(); ++i) numbers.insert(e->value(i)->number());
  const int64_t least = *numbers.begin(), most = *numbers.rbegin();
  auto text = [](int64_t number) { return std::to_string(number) + "ll"; };
  std::string wide = "static_cast<int64_t>(" + value + ")";
  if (most - least + 1 == static_cast<int64_t>(numbers.size())) {
    return wide + " >= " + text(least) + " && " + wide + " <= " + text(most);
  }
  std::string out;
  for (int64_t number : numbers) out += (out.empty() ? "" : " || ") + wide + " == " + text(number);
  return out;
}

// Lines of drover_check().
std::string check_of(const FixedField& field, const Options& options) {
  Member m = member_of(field, options);
  const std::string when = m.has.empty() ? "" : "(" + m.has + ") && ";
  auto fails = [&](const std::string& good, const std::string& what) {
    return "    if (" + when + "!(" + good + ")) return " + literal(field.field->full_name() + ": " + what) + ";\n";
  };
  switch (field.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return fails(m.name + ".valid()", "longer than " + std::to_string(field.max_bytes) + " bytes") +
             (field.utf8 ? fails(m.name + ".valid_utf8()", "not UTF-8") : "");
    case FieldDescriptor::CPPTYPE_BOOL:
      return fails(m.name + ".valid()", "a bool that is neither 0 nor 1");
    case FieldDescriptor::CPPTYPE_ENUM:
      return fails(declared(field.field->enum_type(), m.name), "not a value of its enum");
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      std::string inner = "if (const char* why = " + m.name + ".drover_check()) return why;\n";
      return "    " + (m.has.empty() ? inner : "if (" + m.has + ") {\n      " + inner + "    }\n");
    }
    default:
      return {};
  }
}

}  // namespace

std::string fixed_class_name(const Descriptor* message) { return class_name(message) + "Fixed"; }
std::string qualified_fixed(const Descriptor* message, const Options& options) {
  return qualified(message, options) + "Fixed";
}

std::string fixed_class(const Descriptor* message, const FixedLayout& layout, const Options& options) {
  const std::string name = fixed_class_name(message), size = std::to_string(layout.size);
  char hash[32];
  std::snprintf(hash, sizeof hash, "0x%016llx", static_cast<unsigned long long>(layout_hash(layout.text)));
  std::string out =
      "// " + message->full_name() + " " + layout.text + "\nclass " + name + " final {\n public:\n" +
      "  static constexpr size_t kFixedBytes = " + size + ";\n" + "  static constexpr uint64_t kLayout = " + hash +
      ";\n  static constexpr const char* kWrongSize = " + literal(message->full_name() + ": not " + size + " bytes") +
      ";\n\n  " + name + "() { std::memset(static_cast<void*>(this), 0, sizeof *this); }\n";
  std::string checks, members, places;
  for (const FixedField& field : layout.fields) {
    std::string member = member_of(field, options).name;
    out += accessors(field, options);
    checks += check_of(field, options);
    members += "  " + stored_type(field, options) + " " + member + ";\n";
    places += "    static_assert(offsetof(" + name + ", " + member + ") == " + std::to_string(field.offset) + ");\n";
  }
  if (layout.presence_bytes != 0) {
    members += "  uint8_t has_[" + std::to_string(layout.presence_bytes) + "];\n";
    int bits = 0;
    for (const FixedField& field : layout.fields) bits = std::max(bits, field.presence + 1);
    if (bits % 8 != 0) {
      checks += "    if ((has_[" + std::to_string(layout.presence_bytes - 1) + "] >> " + std::to_string(bits % 8) +
                ") != 0) return " + literal(message->full_name() + ": a presence bit of no field") + ";\n";
    }
  }
  if (layout.size > layout.padding_at) {
    members += "  [[maybe_unused]] uint8_t padding_[" + std::to_string(layout.size - layout.padding_at) + "];\n";
  }
  out +=
      "\n  // What these bytes, which another process wrote, have wrong; null: nothing.\n"
      "  const char* drover_check() const {\n" +
      checks +
      "    return nullptr;\n  }\n\n private:\n"
      "  template <typename Absent>\n  static const Absent& drover_none() {\n"
      "    static const Absent none;\n    return none;\n  }\n"
      "  static constexpr void drover_places() {\n" +
      places + "    static_assert(sizeof(" + name + ") == " + size + ");\n  }\n\n" + members + "};\n\n";
  return out;
}

}  // namespace drover::compiler
