// The naming rules, and literals that every compiler reads back as the same value.
#include "compiler/names.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <set>

namespace drover::compiler {
namespace {

const std::set<std::string>& keywords() {
  static const auto* words = new std::set<std::string>{"NULL",
                                                       "alignas",
                                                       "alignof",
                                                       "and",
                                                       "and_eq",
                                                       "asm",
                                                       "assert",
                                                       "auto",
                                                       "bitand",
                                                       "bitor",
                                                       "bool",
                                                       "break",
                                                       "case",
                                                       "catch",
                                                       "char",
                                                       "char16_t",
                                                       "char32_t",
                                                       "char8_t",
                                                       "class",
                                                       "co_await",
                                                       "co_return",
                                                       "co_yield",
                                                       "compl",
                                                       "concept",
                                                       "const",
                                                       "const_cast",
                                                       "consteval",
                                                       "constexpr",
                                                       "constinit",
                                                       "continue",
                                                       "decltype",
                                                       "default",
                                                       "delete",
                                                       "do",
                                                       "double",
                                                       "dynamic_cast",
                                                       "else",
                                                       "enum",
                                                       "explicit",
                                                       "export",
                                                       "extern",
                                                       "false",
                                                       "float",
                                                       "for",
                                                       "friend",
                                                       "goto",
                                                       "if",
                                                       "inline",
                                                       "int",
                                                       "long",
                                                       "mutable",
                                                       "namespace",
                                                       "new",
                                                       "noexcept",
                                                       "not",
                                                       "not_eq",
                                                       "nullptr",
                                                       "operator",
                                                       "or",
                                                       "or_eq",
                                                       "private",
                                                       "protected",
                                                       "public",
                                                       "register",
                                                       "reinterpret_cast",
                                                       "requires",
                                                       "return",
                                                       "short",
                                                       "signed",
                                                       "sizeof",
                                                       "static",
                                                       "static_assert",
                                                       "static_cast",
                                                       "struct",
                                                       "switch",
                                                       "template",
                                                       "this",
                                                       "thread_local",
                                                       "throw",
                                                       "true",
                                                       "try",
                                                       "typedef",
                                                       "typeid",
                                                       "typename",
                                                       "union",
                                                       "unsigned",
                                                       "using",
                                                       "virtual",
                                                       "void",
                                                       "volatile",
                                                       "wchar_t",
                                                       "while",
                                                       "xor",
                                                       "xor_eq"};
  return *words;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string in_namespace(const FileDescriptor* file, const Options& options, const std::string& name) {
  std::string space = namespace_of(file, options);
  return space.empty() ? "::" + name : "::" + space + "::" + name;
}

template <typename T>
std::string floating(T value, const char* type, const char* suffix, int digits) {
  std::string limits = std::string("std::numeric_limits<") + type + ">::";
  if (std::isnan(value)) return limits + "quiet_NaN()";
  if (std::isinf(value)) return (value < 0 ? "-" : "") + limits + "infinity()";
  char text[64];
  std::snprintf(text, sizeof(text), "%.*g", digits, static_cast<double>(value));
  std::string out(text);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out + suffix;
}

std::string signed_integer(int64_t value, int64_t least, const char* suffix) {
  if (value == least) return "(" + std::to_string(value + 1) + suffix + " - 1)";  // the literal would not fit its type
  return std::to_string(value) + suffix;
}

}  // namespace

std::string parse_options(const std::string& parameter, Options* out) {
  size_t at = 0;
  while (at < parameter.size()) {
    size_t end = std::min(parameter.find(',', at), parameter.size());
    std::string option = parameter.substr(at, end - at);
    at = end + 1;
    if (option.empty()) continue;
    size_t equals = option.find('=');
    std::string key = option.substr(0, equals);
    std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
    if (key == "namespace_prefix" && !value.empty()) {
      out->namespace_prefix = value;
    } else if (key == "include_prefix" && !value.empty()) {
      out->include_prefix = value.back() == '/' ? value : value + "/";
    } else if (option == "lines") {
      out->lines = true;
    } else {
      return "drover: unknown or empty option '" + option +
             "'; known: namespace_prefix=NAME, include_prefix=DIR, lines";
    }
  }
  return {};
}

std::string resolve_keyword(const std::string& name) { return keywords().count(name) != 0 ? name + "_" : name; }

std::string camel_case(const std::string& name) {
  std::string out;
  bool capital = true;
  for (char c : name) {
    if (c == '_' || c == '.' || c == '-') {
      capital = true;
      continue;
    }
    out += capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    capital = std::isdigit(static_cast<unsigned char>(c)) != 0;
  }
  return out;
}

std::string file_stem(const FileDescriptor* file) {
  const std::string& name = file->name();
  for (const char* ending : {".proto", ".protodevel"}) {
    size_t size = std::char_traits<char>::length(ending);
    if (name.size() > size && name.compare(name.size() - size, size, ending) == 0) {
      return name.substr(0, name.size() - size);
    }
  }
  return name;
}

std::string file_identifier(const FileDescriptor* file) {
  std::string out;
  for (char c : file_stem(file)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += c;
    } else {
      char hex[8];
      std::snprintf(hex, sizeof(hex), "_%02x", static_cast<unsigned char>(c));
      out += hex;
    }
  }
  return out;
}

std::string namespace_of(const FileDescriptor* file, const Options& options) {
  std::string out = options.namespace_prefix;
  const std::string& package = file->package();
  for (size_t at = 0; at < package.size();) {
    size_t end = std::min(package.find('.', at), package.size());
    if (!out.empty()) out += "::";
    out += resolve_keyword(package.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string class_name(const Descriptor* message) {
  std::string outer = message->containing_type() == nullptr ? "" : class_name(message->containing_type()) + "_";
  return resolve_keyword(outer + message->name());
}

std::string enum_type_name(const EnumDescriptor* e) {
  if (e->containing_type() == nullptr) return resolve_keyword(e->name());
  return class_name(e->containing_type()) + "_" + e->name();
}

std::string enum_constant(const EnumValueDescriptor* value) {
  const EnumDescriptor* e = value->type();
  return (e->containing_type() == nullptr ? "" : enum_type_name(e) + "_") + resolve_keyword(value->name());
}

std::string qualified(const Descriptor* message, const Options& options) {
  return in_namespace(message->file(), options, class_name(message));
}
std::string qualified(const EnumDescriptor* e, const Options& options) {
  return in_namespace(e->file(), options, enum_type_name(e));
}
std::string qualified(const EnumValueDescriptor* value, const Options& options) {
  return in_namespace(value->type()->file(), options, enum_constant(value));
}

std::string accessor_name(const FieldDescriptor* field) { return resolve_keyword(lower(field->name())); }
std::string number_constant(const FieldDescriptor* field) {
  std::string name = "k" + camel_case(field->name()) + "FieldNumber";
  for (int i = 0; i < field->index(); ++i) {  // of fields x and x_, the second gets its number behind the name
    if (camel_case(field->containing_type()->field(i)->name()) == camel_case(field->name())) {
      return name + "_" + std::to_string(field->number());
    }
  }
  return name;
}
std::string case_enum(const OneofDescriptor* oneof) { return camel_case(oneof->name()) + "Case"; }
std::string case_constant(const FieldDescriptor* field) { return "k" + camel_case(field->name()); }
std::string case_not_set(const OneofDescriptor* oneof) { return upper(oneof->name()) + "_NOT_SET"; }

std::string literal(const std::string& bytes) {
  std::string out = "\"";
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '?') {
      out += c;
    } else {
      char octal[8];  // three octal digits never run into the character behind them
      std::snprintf(octal, sizeof(octal), "\\%03o", byte);
      out += octal;
    }
  }
  return out + "\"";
}

std::string default_expression(const FieldDescriptor* field, const Options& options) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return signed_integer(field->default_value_int32(), std::numeric_limits<int32_t>::min(), "");
    case FieldDescriptor::CPPTYPE_INT64:
      return signed_integer(field->default_value_int64(), std::numeric_limits<int64_t>::min(), "ll");
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::to_string(field->default_value_uint32()) + "u";
    case FieldDescriptor::CPPTYPE_UINT64:
      return std::to_string(field->default_value_uint64()) + "ull";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return floating(field->default_value_double(), "double", "", 17);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return floating(field->default_value_float(), "float", "f", 9);
    case FieldDescriptor::CPPTYPE_BOOL:
      return field->default_value_bool() ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return qualified(field->default_value_enum(), options);
    default:
      return "";
  }
}

}  // namespace drover::compiler
