// The names of the codec's errors. Freestanding.
#include "codec/decode/decode_types.h"
#include "codec/encode/encode_types.h"

namespace drover {

const char* decode_error_name(DecodeError error) {
  switch (error) {
    case DecodeError::ok:
      return "ok";
    case DecodeError::truncated:
      return "truncated";
    case DecodeError::overlong_varint:
      return "overlong_varint";
    case DecodeError::bad_tag:
      return "bad_tag";
    case DecodeError::unmatched_end_group:
      return "unmatched_end_group";
    case DecodeError::depth_limit:
      return "depth_limit";
    case DecodeError::length_past_end:
      return "length_past_end";
    case DecodeError::bad_utf8:
      return "bad_utf8";
    case DecodeError::out_of_memory:
      return "out_of_memory";
    case DecodeError::too_large:
      return "too_large";
  }
  return "unknown";
}

const char* encode_error_name(EncodeError error) {
  switch (error) {
    case EncodeError::ok:
      return "ok";
    case EncodeError::out_of_bounds:
      return "out_of_bounds";
    case EncodeError::misaligned:
      return "misaligned";
    case EncodeError::depth_limit:
      return "depth_limit";
    case EncodeError::too_large:
      return "too_large";
    case EncodeError::too_much_work:
      return "too_much_work";
    case EncodeError::out_of_memory:
      return "out_of_memory";
    case EncodeError::missing_required:
      return "missing_required";
    case EncodeError::null_element:
      return "null_element";
    case EncodeError::no_room:
      return "no_room";
  }
  return "unknown";
}

}  // namespace drover
