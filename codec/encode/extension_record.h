// Extensions that a parser has read into a message of their own, as records among an object's unknown fields.
#pragma once

#include "codec/encode/encode.h"
#include "object/arena.h"

namespace drover {

// Appends what `built`, an object of the extension's type, holds to the unknown fields of `object`, an object of the
// extended type (`extendee`): a field, or an item of a message set. `arena` is the object's; `scratch` is for reuse.
// kOutOfMemory also if the unknown fields exceed 2 GiB - 1. After an error the object is as it was.
EncodeError append_extension(const schema::MessageType& extendee, const schema::MessageType& extension,
                             const char* built, Encoded* scratch, char* object, Arena* arena);

}  // namespace drover
