// How absl::StrFormat prints a String with %s, where absl is installed. Of absl this declares two names, and includes
// only the header that tells the namespace they are in; absl/strings/str_format.h completes them.
#pragma once

#if __has_include(<absl/base/config.h>)
#include <absl/base/config.h>

#include <cstdint>

namespace absl {
ABSL_NAMESPACE_BEGIN
enum class FormatConversionCharSet : uint64_t;
template <FormatConversionCharSet kCharacters>
struct FormatConvertResult;
ABSL_NAMESPACE_END
}  // namespace absl

namespace drover {

class String;

// Found by absl through its arguments.
template <typename Specification, typename Sink, typename Characters = absl::FormatConversionCharSet>
absl::FormatConvertResult<Characters::kString> AbslFormatConvert(const String& s, const Specification& specification,
                                                                 Sink* sink) {
  return {sink->PutPaddedString(s, specification.width(), specification.precision(), specification.has_left_flag())};
}

}  // namespace drover
#endif
