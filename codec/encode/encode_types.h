// What an encode is told and what it answers; codec/encode/encode.h has the functions. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drover {

enum class EncodeError : uint8_t {
  ok = 0,
  out_of_bounds,  // something in the object leads outside the bounds
  misaligned,     // an object or array that is not aligned to its elements
  depth_limit,    // nested deeper than EncodeOptions::depth_limit; a cycle ends so too
  too_large,      // more than max_bytes of output
  too_much_work,  // far more fields looked at than the output explains: the same sub-objects over and over
  out_of_memory,
  missing_required,  // only with check_required
  null_element,      // a repeated message field or map with a null pointer in it
  no_room,           // encode_to_array: the array is too small
};
const char* encode_error_name(EncodeError error);

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
  // With bounds: how many fields may be looked at beyond a few for each byte of output. A sparse object looks at many
  // fields for few bytes; what is more than the memory of the object explains is the same sub-objects over and over.
  uint64_t work_allowance = 1 << 20;
  // How deep messages may nest below the outermost.
  int depth_limit = 1000;
  // From this size on strings, bytes and packed fixed-size fields are referred to, not copied.
  size_t reference_threshold = 256;
  bool check_required = false;
};

struct EncodeResult {
  EncodeError error = EncodeError::ok;
  size_t size = 0;                // bytes of all pieces together; 0 after an error
  const char* message_name = "";  // the message that was being written: full name, lives as long as the image
  uint32_t field_number = 0;      // 0: none
  bool ok() const { return error == EncodeError::ok; }
};

}  // namespace drover
