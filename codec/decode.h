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
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "message/message.h"
#include "object/arena.h"
#include "schema/message_type.h"

namespace drover {

enum class DecodeError : uint8_t {
  ok = 0,
  truncated,            // the input ends inside a field
  overlong_varint,      // a varint of more than ten bytes, a tag or length of more than five
  bad_tag,              // field number 0 or above 2^29-1, or wire type 6 or 7
  unmatched_end_group,  // an end-group tag without its start, or a group that nothing ends
  depth_limit,          // messages nested deeper than DecodeOptions::depth_limit
  length_past_end,      // a length that leads out of the message it stands in
  bad_utf8,             // in a field that the schema wants checked
  out_of_memory,        // the arena has no more
  too_large,            // more than 2 GiB - 1 of input, or of one field
};
const char* decode_error_name(DecodeError error);

struct DecodeOptions {
  // How deep messages and groups may nest below the outermost.
  int depth_limit = 100;
  // Strings and bytes of at least min_alias_size refer to the wire buffer where that is possible; the buffer then
  // has to live as long as the object.
  bool alias = false;
  // With alias: the buffer is writable, and one byte longer than the wire. A NUL is written behind each aliased
  // string as soon as the tag that stands there has been read. After an error the buffer's content is unspecified.
  bool terminate_aliases = false;
  // Sub-messages are marked as received: read-only for the process that gets them (docs/formats.md, owner).
  bool received = false;
  uint32_t min_alias_size = 1;
};

struct DecodeResult {
  DecodeError error = DecodeError::ok;
  size_t offset = 0;              // of the byte at which decoding stopped; without error, the input's size
  const char* message_name = "";  // the message that was being read: full name, lives as long as the image
  uint32_t field_number = 0;      // the field that was being read; 0 none
  bool ok() const { return error == DecodeError::ok; }
};
// "truncated at byte 17, in field 3 of pkg.Message"
std::string to_string(const DecodeResult& result);

DecodeResult decode(const schema::MessageType& type, Message* object, std::string_view wire, Arena& arena,
                    const DecodeOptions& options = {});
// The wire bytes are the pieces, one behind the other. With terminate_aliases only the last piece needs the extra
// byte; a string that ends with an earlier piece is marked as unterminated.
DecodeResult decode(const schema::MessageType& type, Message* object, std::span<const std::string_view> pieces,
                    Arena& arena, const DecodeOptions& options = {});

}  // namespace drover
