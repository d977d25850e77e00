// A text into an object and back, beside protobuf C++: both take it or refuse it, and read the same; what was read is
// printed, and the text reads as the same object. The first two bytes of the input choose the message and the options.
#include <cstdio>
#include <cstdlib>

#include "text/text_testing.h"

namespace drover::text {
namespace {

[[noreturn]] void report(const std::string& what, const std::string& text) {
  std::fprintf(stderr, "text_fuzz: %s\n%s\n", what.c_str(), text.c_str());
  std::abort();
}

void run(unsigned bits, const std::string& text) {
  const char* name = (bits & 1) != 0 ? "x.All" : "y.All";
  ParseOptions options;
  options.allow_partial = (bits & 2) != 0;
  options.allow_unknown_field = (bits & 4) != 0;
  options.allow_unknown_extension = (bits & 8) != 0;
  options.allow_any_case = (bits & 16) != 0;
  options.allow_field_number = (bits & 32) != 0;
  options.allow_overwrites = (bits & 64) != 0;
  if ((bits & 128) != 0) options.depth_limit = 3;
  const std::string differs = testing::disagreement(testing::text_schema(), name, text, options);
  if (!differs.empty()) report(differs, text);

  testing::Object object(name);
  options.allow_unknown_enum = (bits & 256) != 0;
  const bool good = object.parse(text, options).ok();
  PrintOptions print_options;
  print_options.one_line = (bits & 512) != 0;
  print_options.keep_utf8 = (bits & 1024) != 0;
  print_options.short_repeated = (bits & 2048) != 0;
  print_options.field_numbers = (bits & 4096) != 0;
  const std::string printed = object.print(print_options);
  if (!good) return;  // what was read before the error can be printed
  testing::Object again(name);
  const Result result = again.parse(printed, {.allow_partial = true, .allow_field_number = true});
  if (!result.ok()) report("what was printed is not read: " + to_string(result), printed);
  if (again.print(print_options) != printed) report("another object comes back", printed);
}

}  // namespace
}  // namespace drover::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const quiet = google::protobuf::SetLogHandler(nullptr);
  if (quiet == nullptr || size < 2 || size > 4096) return 0;
  drover::text::run(static_cast<unsigned>(data[0] | data[1] << 8), {reinterpret_cast<const char*>(data) + 2, size - 2});
  return 0;
}
