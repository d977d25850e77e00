// Enums are plain C++ enums of underlying type int at namespace scope, as in protobuf C++.
#include "compiler/enum_text.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "schema/features.h"

namespace drover::compiler {
namespace {

std::string number_text(int number) {
  return number == std::numeric_limits<int>::min() ? "(-2147483647 - 1)" : std::to_string(number);
}

bool is_open(const EnumDescriptor* e) { return schema::features_of(e).enum_type == schema::EnumType::kOpen; }

std::pair<const EnumValueDescriptor*, const EnumValueDescriptor*> extremes(const EnumDescriptor* e) {
  const EnumValueDescriptor* least = e->value(0);
  const EnumValueDescriptor* most = e->value(0);
  for (int i = 1; i < e->value_count(); ++i) {
    if (e->value(i)->number() < least->number()) least = e->value(i);
    if (e->value(i)->number() > most->number()) most = e->value(i);
  }
  return {least, most};
}

// In front of _MIN, _MAX and _ARRAYSIZE at namespace scope. A nested enum's own name stands twice, as in protobuf C++:
// Outer_Kind_MIN is the name of a value MIN.
std::string limit_prefix(const EnumDescriptor* e) {
  std::string type = enum_type_name(e);
  return e->containing_type() == nullptr ? type : type + "_" + e->name();
}

bool has_array_size(const EnumDescriptor* e) { return extremes(e).second->number() != std::numeric_limits<int>::max(); }

}  // namespace

std::string enum_header(const EnumDescriptor* e) {
  std::string type = enum_type_name(e);
  std::string out = "enum " + type + " : int {\n";
  for (int i = 0; i < e->value_count(); ++i) {
    out += "  " + enum_constant(e->value(i)) + " = " + number_text(e->value(i)->number()) + ",\n";
  }
  if (is_open(e)) {  // an open enum can hold numbers that have no name: a switch over it needs a default
    std::string prefix = (e->containing_type() == nullptr ? "" : type + "_") + type;
    out += "  " + prefix + "_INT_MIN_SENTINEL_DO_NOT_USE_ = std::numeric_limits<int32_t>::min(),\n";
    out += "  " + prefix + "_INT_MAX_SENTINEL_DO_NOT_USE_ = std::numeric_limits<int32_t>::max(),\n";
  }
  out += "};\n";
  auto [least, most] = extremes(e);
  const std::string limit = limit_prefix(e);
  out += "inline constexpr " + type + " " + limit + "_MIN = " + enum_constant(least) + ";\n";
  out += "inline constexpr " + type + " " + limit + "_MAX = " + enum_constant(most) + ";\n";
  if (has_array_size(e)) out += "inline constexpr int " + limit + "_ARRAYSIZE = " + limit + "_MAX + 1;\n";
  out += "bool " + type + "_IsValid(int value);\n";
  out += "const std::string& drover_name_of_" + type + "(int value);\n";
  out += "bool " + type + "_Parse(std::string_view name, " + type + "* value);\n";
  out += "template <typename T>\ninline const std::string& " + type + "_Name(T value) {\n";
  out += "  static_assert(std::is_same_v<T, " + type + "> || std::is_integral_v<T>, \"not a " + type + "\");\n";
  out += "  return drover_name_of_" + type + "(static_cast<int>(value));\n}\n";
  return out;
}

std::string enum_source(const EnumDescriptor* e, const std::string& image, int64_t index) {
  std::string type = enum_type_name(e);
  std::set<int> numbers;
  std::vector<std::pair<std::string, int>> names;
  for (int i = 0; i < e->value_count(); ++i) {
    numbers.insert(e->value(i)->number());
    names.emplace_back(e->value(i)->name(), e->value(i)->number());
  }
  std::sort(names.begin(), names.end());
  std::string out = "bool " + type + "_IsValid(int value) {\n  switch (value) {\n";
  for (int number : numbers) out += "    case " + number_text(number) + ":\n";
  out += "      return true;\n    default:\n      return false;\n  }\n}\n";
  out += "const std::string& drover_name_of_" + type + "(int value) {\n";
  out += "  return ::drover::accessors::enum_name(" + image + ", " + std::to_string(index) + ", value);\n}\n";
  out += "bool " + type + "_Parse(std::string_view name, " + type + "* value) {\n";
  out += "  static constexpr ::drover::accessors::EnumName kNames[] = {\n";
  for (const auto& [name, number] : names) out += "      {" + literal(name) + ", " + number_text(number) + "},\n";
  out += "  };\n  int number;\n";
  out += "  if (!::drover::accessors::enum_parse(kNames, " + std::to_string(names.size()) +
         ", name, &number)) return false;\n";
  out += "  *value = static_cast<" + type + ">(number);\n  return true;\n}\n\n";
  return out;
}

std::string enum_aliases(const EnumDescriptor* e) {
  std::string type = enum_type_name(e), inner = resolve_keyword(e->name());
  std::string out = "  using " + inner + " = " + type + ";\n";
  for (int i = 0; i < e->value_count(); ++i) {
    out += "  static constexpr " + inner + " " + resolve_keyword(e->value(i)->name()) + " = " +
           enum_constant(e->value(i)) + ";\n";
  }
  const std::string limit = limit_prefix(e);
  out += "  static constexpr " + inner + " " + e->name() + "_MIN = " + limit + "_MIN;\n";
  out += "  static constexpr " + inner + " " + e->name() + "_MAX = " + limit + "_MAX;\n";
  if (has_array_size(e)) out += "  static constexpr int " + e->name() + "_ARRAYSIZE = " + limit + "_ARRAYSIZE;\n";
  out += "  static bool " + e->name() + "_IsValid(int value) { return " + type + "_IsValid(value); }\n";
  out += "  template <typename T>\n  static const std::string& " + e->name() + "_Name(T value) {\n    return " + type +
         "_Name(value);\n  }\n";
  out += "  static bool " + e->name() + "_Parse(std::string_view name, " + inner + "* value) {\n    return " + type +
         "_Parse(name, value);\n  }\n";
  return out;
}

}  // namespace drover::compiler
