#include "json/well_known.h"

#include <cstring>
#include <initializer_list>

#include "message/type_resolver.h"

namespace drover::json {
namespace {

using schema::FieldEntry;
using schema::Kind;
using schema::MessageType;

bool has(const MessageType& type, uint32_t number, Kind kind, uint32_t label = schema::kLabelSingular) {
  const FieldEntry* field = type.find_field(number);
  return field != nullptr && field->kind == static_cast<uint8_t>(kind) && field->label == label;
}

// Its struct and list must have their well-known types, so that the recursion over them ends: each takes a bracket.
bool is_value(const MessageType& type) {
  return has(type, 1, Kind::kEnum) && has(type, 2, Kind::kDouble) && has(type, 3, Kind::kString) &&
         has(type, 4, Kind::kBool) && has(type, 5, Kind::kMessage) && has(type, 6, Kind::kMessage) &&
         find_well_known(type.sub(*type.find_field(5))) == WellKnown::kStruct &&
         find_well_known(type.sub(*type.find_field(6))) == WellKnown::kListValue;
}

}  // namespace

WellKnown find_well_known(const MessageType& type) {
  constexpr std::string_view kPackage = "google.protobuf.";
  std::string_view name = type.full_name();
  if (!name.starts_with(kPackage)) return WellKnown::kNone;
  name.remove_prefix(kPackage.size());
  auto form = [](bool fits, WellKnown kind) { return fits ? kind : WellKnown::kNone; };
  if (name == "Any") return form(message::is_any(type), WellKnown::kAny);
  if (name == "Timestamp" || name == "Duration") {
    return form(has(type, 1, Kind::kInt64) && has(type, 2, Kind::kInt32),
                name == "Duration" ? WellKnown::kDuration : WellKnown::kTimestamp);
  }
  if (name == "FieldMask") return form(has(type, 1, Kind::kString, schema::kLabelRepeated), WellKnown::kFieldMask);
  if (name == "Struct") {
    if (!has(type, 1, Kind::kMessage, schema::kLabelMap)) return WellKnown::kNone;
    const MessageType entry = type.sub(*type.find_field(1));
    return form(has(entry, 1, Kind::kString) && has(entry, 2, Kind::kMessage), WellKnown::kStruct);
  }
  if (name == "Value") return form(is_value(type), WellKnown::kValue);
  if (name == "ListValue") return form(has(type, 1, Kind::kMessage, schema::kLabelRepeated), WellKnown::kListValue);
  struct Wrapper {
    std::string_view name;
    Kind kind;
  };
  for (const Wrapper& wrapper : {Wrapper{"DoubleValue", Kind::kDouble},
                                 {"FloatValue", Kind::kFloat},
                                 {"Int64Value", Kind::kInt64},
                                 {"UInt64Value", Kind::kUint64},
                                 {"Int32Value", Kind::kInt32},
                                 {"UInt32Value", Kind::kUint32},
                                 {"BoolValue", Kind::kBool},
                                 {"StringValue", Kind::kString},
                                 {"BytesValue", Kind::kBytes}}) {
    if (name == wrapper.name) return form(has(type, 1, wrapper.kind), WellKnown::kWrapper);
  }
  return WellKnown::kNone;
}

bool is_null_value(const schema::Image& image, const FieldEntry& field) {
  return field.kind == static_cast<uint8_t>(Kind::kEnum) &&
         std::strcmp(image.name(image.enum_entry(field.sub).name), "google.protobuf.NullValue") == 0;
}

}  // namespace drover::json
