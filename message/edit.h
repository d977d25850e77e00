// Raw edits of trusted objects, driven by schema entries: what reflection and JSON parsing share. Memory comes from the
// arena passed in. Null (or false): the arena is out of memory, or a size would exceed the formats' limits; the object
// is then unchanged. The field must belong to the object's type and have the label that a function names.
// Thread-safety: as the object's.
#pragma once

#include <string_view>

#include "message/message.h"
#include "message/raw.h"
#include "object/arena.h"
#include "object/map.h"
#include "object/repeated.h"

namespace drover::raw {

// An empty object of that type, which allocates from `arena`.
char* new_object(const schema::MessageType& type, Arena* arena);

// Makes a singular field present: sets its has-bit, or takes over its oneof's slot, which is zero then. The caller then
// writes a scalar's or string's value; a message field is present once its pointer is set, too.
void mark_present(char* object, const schema::FieldEntry& field);

// The sub-object of a singular message field; made, or emptied, if the field was not set.
char* mutable_sub_object(const schema::MessageType& type, char* object, const schema::FieldEntry& field, Arena* arena);

// One more element of a repeated field (no map), behind the others: the address of a scalar, of an empty String, or of
// an empty sub-object.
char* append_element(const schema::MessageType& type, char* object, const schema::FieldEntry& field, Arena* arena);

// Removes the element appended last.
void drop_last_element(char* object, const schema::FieldEntry& field);

// Appends wire bytes to the object's unknown fields.
bool append_unknown(char* object, std::string_view wire, Arena* arena);

}  // namespace drover::raw
