// The schema table of the serializer's walker: the image, and behind it presence lines, by which the walker passes over
// fields that are not set, 64 at a time.
//
//   [ image, padded to a line | presence lines of message 0 | of message 1 | ... ]
//
// A presence line has a PresenceByte (rtl/serializer/serializer.toml) for each of 64 steps of a message, in their
// order. The number of a message's first line stands in MessageEntry.presence_line of this copy; with 0 the walker
// looks at every step.
#pragma once

#include <vector>

#include "schema/image.h"

namespace drover::rtl {

std::vector<unsigned char> serializer_table(const schema::Image& image);

}  // namespace drover::rtl
