// Back to the empty message, without an owner's say: what message::clear and the decoder, which uses cleared elements
// again, have in common. Freestanding.
#pragma once

#include "object/arena.h"
#include "schema/message_type.h"

namespace drover::message {

// How deep objects may nest before a function of this folder gives up.
inline constexpr int kMaxDepth = 1000;

// Zeroes all fields of the object. What they held goes back to `arena`, in which it lies; null: it stays where it is
// until its arena dies.
void clear_content(const schema::MessageType& type, char* object, Arena* arena);

// The same for one field, which holds its slot if it is a member of a oneof.
void clear_field_content(const schema::MessageType& type, char* object, const schema::FieldEntry& field, Arena* arena);

}  // namespace drover::message
