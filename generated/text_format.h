// What google/protobuf/text_format.h calls: parsing with the errors going where protobuf C++ sends them.
#pragma once

#include <string>
#include <string_view>

#include "text/text.h"

namespace drover::generated {

// "wrong type in items[2].price: expected an integer": the error without its place.
std::string describe(const text::Result& result);

// One line on standard error, as protobuf C++ logs an error that no ErrorCollector takes.
void log_text_error(const schema::MessageType& type, const text::Result& result);

}  // namespace drover::generated
