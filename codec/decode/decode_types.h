// The options and the result of a decode; codec/decode/decode.h has the functions. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/errors_format.h"
#include "object/pause.h"

namespace drover {

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
  // Where the decoding of a large message lets others go on: called after about slice_bytes of the wire (eight times
  // as many inside of a string), and every few thousand elements of an array or a map that grows. If it returns false,
  // the result is kOutOfMemory.
  Pause pause = {};
  uint32_t slice_bytes = 8 << 10;
};

struct DecodeResult {
  DecodeError error = DecodeError::kOk;
  size_t offset = 0;              // of the byte at which decoding stopped; without error, the input's size
  const char* message_name = "";  // the message that was being read: full name, lives as long as the image
  uint32_t field_number = 0;      // the field that was being read; 0 none
  bool ok() const { return error == DecodeError::kOk; }
};
}  // namespace drover
