// Clears an object without consulting its owner: shared by message::clear and the decoder, which reuses cleared
// elements. Freestanding.
#pragma once

#include "object/arena.h"
#include "schema/message_type.h"

namespace drover::message {

// How deep objects may nest before a function of this folder gives up.
inline constexpr int kMaxDepth = 1000;

// Zeroes all fields of the object. Their memory goes back to `arena`, which holds it; null: it stays until its arena
// dies.
void clear_content(const schema::MessageType& type, char* object, Arena* arena);

// The same for one field; a oneof's member must be the one that is set.
void clear_field_content(const schema::MessageType& type, char* object, const schema::FieldEntry& field, Arena* arena);

}  // namespace drover::message
