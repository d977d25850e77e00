// What the text format calls a field: its name, and of a group its type's name.
#pragma once

#include <string_view>

#include "schema/message_type.h"

namespace drover::message {

// Whether a field could have been written as proto2's `group Name = 1 {...}`: its type is declared beside it, and it is
// named after its type. Any other delimited field is an edition's.
bool is_group(const schema::MessageType& type, const schema::FieldEntry& field);

// The name as the text format prints it. The field of an extension's type has the extension's full name.
std::string_view text_name(const schema::MessageType& type, const schema::FieldEntry& field);

}  // namespace drover::message
