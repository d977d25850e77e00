// JSON into an object and back: an object that was parsed is printed, and the text parses to the same object. The first
// byte of the input chooses the message and the options.
#include <cstdio>
#include <cstdlib>

#include "json/json_testing.h"

namespace drover::json {
namespace {

[[noreturn]] void report(const char* what, const std::string& detail, const std::string& text) {
  std::fprintf(stderr, "json_fuzz: %s: %s\n%s\n", what, detail.c_str(), text.c_str());
  std::abort();
}

void run(uint8_t choice, std::string_view text) {
  static const char* const kTypes[] = {"jt.Mapping", "jt2.Mapping", "google.protobuf.Value", "google.protobuf.Any"};
  const schema::MessageType type = testing::type_named(kTypes[choice % 4]);
  testing::Object object(type);
  const Result result = object.parse(text, {.ignore_unknown = (choice & 4) != 0});
  PrintOptions options;
  options.indent = (choice & 8) != 0 ? 2 : 0;
  options.preserve_proto_field_names = (choice & 16) != 0;
  options.enums_as_ints = (choice & 32) != 0;
  options.always_print_fields_without_presence = (choice & 64) != 0;
  std::string printed;
  const Result print_result = print(type, *object.get(), options, &printed);
  if (!result.ok()) return;  // what was read before the error can be walked, but may lack a Value's member
  if (!print_result.ok()) report("what was read is not printed", to_string(print_result), std::string(text));
  testing::Object again(type);
  const Result again_result = again.parse(printed);
  if (!again_result.ok()) report("what was printed is not read", to_string(again_result), printed);
  if (again.print(options) != printed) report("other text comes back", again.print(options), printed);
  // The unknown numbers of a closed enum, which package jt2 has, are among the unknown fields, and not printed.
  const bool may_lose = choice % 4 == 1 || printed.find("jt2.") != std::string::npos;
  if (!may_lose && !again.equals(object)) report("another object comes back", again.print(), printed);
}

}  // namespace
}  // namespace drover::json

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 65536) return 0;
  drover::json::run(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
