// How messages are printed in the text format (message/operations.h, debug_text; text/text.h).
#pragma once

#include <cstdint>

#include "message/type_resolver.h"

namespace drover::message {

struct TextOptions {
  bool one_line = false;
  bool keep_utf8 = false;  // in strings, not bytes: do not escape bytes above 127
  // The content of a google.protobuf.Any whose type is known, "[type.googleapis.com/pkg.Type] {...}", instead of its
  // two fields.
  bool expand_any = true;
  bool field_numbers = false;   // instead of the names of fields and extensions
  bool short_repeated = false;  // "a: [1, 2]" for repeated numbers, bools and enums
  bool hide_unknown = false;    // print no fields that the schema does not know; unhidden, they go by their numbers
  // Longer strings and bytes are cut to so many bytes and "...<truncated>..."; 0: never.
  int64_t truncate_strings_to = 0;
  int initial_indent = 0;                  // levels of two blanks
  const TypeResolver* resolver = nullptr;  // null: the message's own image, then those of all generated classes
};

}  // namespace drover::message
