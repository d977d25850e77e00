// Messages whose weight is in their fields rather than in their bytes: the same message with its long strings cut.
#pragma once

#include <string>
#include <string_view>

#include "schema/message_type.h"

namespace drover::workload {

// The wire bytes with every string and bytes value, at all levels, cut to at most `limit` bytes; UTF-8 is cut between
// characters. What the schema does not know, and what stands in groups, stays as it is. The bytes must be well formed.
std::string cut_strings(const schema::MessageType& type, std::string_view wire, size_t limit);

}  // namespace drover::workload
