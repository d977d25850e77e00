#include "generated/text_format.h"

#include <cstdio>

namespace drover::generated {

std::string describe(const text::Result& result) {
  text::Result placeless = result;
  placeless.line = 0;
  return text::to_string(placeless);
}

void log_text_error(const schema::MessageType& type, const text::Result& result) {
  const std::string place =
      result.line == 0 ? "" : std::to_string(result.line) + ":" + std::to_string(result.column) + ": ";
  std::fprintf(stderr, "Error parsing text-format %s: %s%s\n", type.full_name(), place.c_str(),
               describe(result).c_str());
}

}  // namespace drover::generated
