// The well-known types with a JSON form of their own, recognized by name and by the fields of the form: a schema loaded
// at run time may give the name google.protobuf.Timestamp to any message.
#pragma once

#include <cstdint>
#include <string_view>

#include "json/json.h"
#include "schema/message_type.h"

namespace drover::json {

enum class WellKnown : uint8_t {
  kNone = 0,
  kAny,        // type_url = 1, value = 2
  kTimestamp,  // seconds = 1, nanos = 2
  kDuration,   // seconds = 1, nanos = 2
  kFieldMask,  // repeated paths = 1
  kStruct,     // map<string, Value> fields = 1
  kValue,      // null_value = 1, number_value = 2, string_value = 3, bool_value = 4, struct_value = 5, list_value = 6
  kListValue,  // repeated Value values = 1
  kWrapper,    // value = 1: DoubleValue and the like
};

WellKnown find_well_known(const schema::MessageType& type);

// Most messages are in another package: checked first.
inline WellKnown well_known(const schema::MessageType& type) {
  const char* name = type.full_name();
  return name[0] == 'g' && name[1] == 'o' && name[2] == 'o' ? find_well_known(type) : WellKnown::kNone;
}

// True if the field's type is google.protobuf.NullValue.
bool is_null_value(const schema::Image& image, const schema::FieldEntry& field);

using message::find_any_type;

}  // namespace drover::json
