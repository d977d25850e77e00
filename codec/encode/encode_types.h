// The options and the result of an encode; codec/encode/encode.h has the functions. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/errors_format.h"

namespace drover {

// The memory that a hostile object may lie in.
struct Bounds {
  const char* base = nullptr;
  size_t size = 0;
};

struct Piece {
  const char* data;
  size_t size;
};

struct EncodeOptions {
  const Bounds* bounds = nullptr;  // null: the object is trusted
  size_t max_bytes = 0x7fffffff;
  // With bounds: how many fields and objects may be looked at beyond a few for each byte of output. A sparse object
  // looks at many fields for few bytes; a count beyond the object's memory means that the same sub-objects come again
  // and again.
  uint64_t work_allowance = 1 << 20;
  // Heap memory that the Encoded may take for this output, what it kept included; beyond it: kNoRoom. Bytes that are
  // referred to cost 16 for each piece.
  size_t max_buffer_bytes = SIZE_MAX;
  // Where a long encode lets others go on, or ends: called with pause_context every few thousand fields, every 256
  // pieces and with each buffer. False ends the encode in kTooMuchWork. Null: never called. The object may change
  // meanwhile only if it is hostile.
  bool (*pause)(void* context) = nullptr;
  void* pause_context = nullptr;
  // How deep messages may nest below the outermost.
  int depth_limit = 1000;
  // From this size on strings, bytes and packed fixed-size fields are referred to, not copied.
  size_t reference_threshold = 256;
  bool check_required = false;
};

struct EncodeResult {
  EncodeError error = EncodeError::kOk;
  size_t size = 0;                // bytes of all pieces together; 0 after an error
  const char* message_name = "";  // the message that was being written: full name, lives as long as the image
  uint32_t field_number = 0;      // 0: none
  bool ok() const { return error == EncodeError::kOk; }
};

}  // namespace drover
