// What a decode is told and what it answers; codec/decode/decode.h has the functions. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

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
}  // namespace drover
