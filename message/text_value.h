// Scalars as the text format writes them.
#pragma once

#include <string>
#include <string_view>

#include "message/text_options.h"
#include "schema/message_type.h"

namespace drover::message {

// Appends the value of a scalar, string or enum field of `type` that is stored at `at`.
void append_text_value(const schema::MessageType& type, const schema::FieldEntry& field, const char* at,
                       const TextOptions& options, std::string* out);

// In double quotes; what is not printable ASCII is escaped.
void append_quoted(std::string_view bytes, bool keep_utf8, std::string* out);

}  // namespace drover::message
