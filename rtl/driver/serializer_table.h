// What the driver loads into the walker's schema table: the image, and behind it presence lines, which let the walker
// pass over fields that are not set 64 at a time.
//
//   [ image, padded to a line | presence lines of message 0 | of message 1 | ... ]
//
// A presence line has a byte for each of 64 steps of a message, in their order: the step's has_bit (62 always, 63 by
// value), or 128 behind the last. The number of a message's first line stands in its MessageEntry's first reserved word
// of this copy; 0 there means that it has none, and the walker does without.
#pragma once

#include <cstddef>
#include <vector>

#include "schema/image.h"

namespace drover::rtl {

inline constexpr size_t kTableLine = 64;

std::vector<unsigned char> serializer_table(const schema::Image& image);

}  // namespace drover::rtl
