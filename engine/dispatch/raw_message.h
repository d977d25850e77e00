// Raw messages: those of methods with kMethodRaw, whose handlers see bytes instead of fields. In the region such a
// message is an object with one field, `optional bytes` with number 1; on the wire it is what that field holds.
//
//   request   wire bytes ------------------ place_raw ------------------> the field of an object in rx
//   reply     object in tx -- encode --> tag | length | bytes -- unwrap_raw --> bytes
//
// Thread-safety: none; one engine thread.
#pragma once

#include <string_view>

#include "codec/decode/decode.h"
#include "codec/encode/encoded.h"
#include "message/message.h"
#include "object/arena.h"
#include "schema/message_type.h"

namespace drover::engine {

// Whether a method whose messages have that type may have kMethodRaw.
bool is_raw_type(const schema::MessageType& type);

// The object, which is empty, becomes the message with these bytes. As decode() with those options, of which it regards
// alias, terminate_aliases and pause; it pauses between two slices of what it copies.
DecodeResult place_raw(const schema::MessageType& type, Message* object, std::string_view wire, Arena& arena,
                       const DecodeOptions& options);

// Leaves the bytes of an encoded raw message. False: they are not all that it has. Its content may be hostile.
bool unwrap_raw(Encoded* encoded);

}  // namespace drover::engine
