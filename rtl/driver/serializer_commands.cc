#include "rtl/driver/serializer_commands.h"

#include <iterator>

namespace drover::rtl {

const char* serializer_error_name(uint8_t error) {
  static const char* const kNames[] = {"none",          "bad_record",  "truncated",    "bad_nesting",
                                       "out_of_bounds", "too_large",   "null_element", "misaligned",
                                       "left_arena",    "left_pieces", "left_depth",   "left_object",
                                       "left_field",    "left_work",   "bad_command",  "bus"};
  return error < std::size(kNames) ? kNames[error] : "?";
}

}  // namespace drover::rtl
