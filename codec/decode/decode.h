// decode: wire bytes into an object, driven by a schema image.
//
// Semantics are protobuf C++'s: what comes later wins, repeated occurrences of a singular message merge, packed and
// unpacked are both accepted for either declaration, a value that a closed enum does not know becomes an unknown
// field, and so does a known field that comes with another legal wire type (it is no error: protobuf's conformance
// suite asks for that). Unknown fields are kept in wire order, their varints in shortest form. Unknown fields inside
// a map entry are dropped. Strings are checked for UTF-8 where the schema says so (proto3).
//
// The object is merged into; pass an empty one to parse. Decoding never reads outside the wire bytes, and allocates
// from the arena only. Thread-safety: any number of calls at once on different objects and arenas.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "codec/decode/decode_types.h"
#include "message/message.h"
#include "object/arena.h"
#include "schema/message_type.h"

namespace drover {

// "truncated at byte 17, in field 3 of pkg.Message"
std::string to_string(const DecodeResult& result);

DecodeResult decode(const schema::MessageType& type, Message* object, std::string_view wire, Arena& arena,
                    const DecodeOptions& options = {});
// The wire bytes are the pieces, one behind the other. With terminate_aliases only the last piece needs the extra
// byte; a string that ends with an earlier piece is marked as unterminated.
DecodeResult decode(const schema::MessageType& type, Message* object, std::span<const std::string_view> pieces,
                    Arena& arena, const DecodeOptions& options = {});

}  // namespace drover
