#include "bench/codec/utf8_cases.h"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <regex>
#include <string_view>

#include "bench/codec/subject.h"
#include "codec/utf8.h"

#ifdef DROVER_HAS_SIMDUTF
#include <simdutf.h>
#endif
#ifdef DROVER_UPB_VERSION
#include "utf8_range.h"
#endif

namespace drover::bench {
namespace {

struct Validator {
  const char* name;
  bool (*is_valid)(const char* bytes, size_t size);
};

constexpr Validator kValidators[] = {
    {"drover", is_valid_utf8},
#ifdef DROVER_HAS_SIMDUTF
    {"simdutf", [](const char* bytes, size_t size) { return simdutf::validate_utf8(bytes, size); }},
#endif
#ifdef DROVER_UPB_VERSION
    {"utf8_range", [](const char* bytes, size_t size) { return utf8_range_IsValid(bytes, size) != 0; }},
#endif
};

constexpr size_t kSizes[] = {16, 64, 256, 1024, 4096, 16384, 65536};
constexpr size_t kLargest = 65536;

// Text of `size` bytes. Mixed: characters of one to four bytes, as in a text of many scripts.
std::string text_of(size_t size, bool mixed) {
  constexpr const char* kMixed[] = {"\u4e16", "a", "\u00fc", "\U0001f600", " ", "\u754c", "b", "\u00df", "c"};
  constexpr const char* kAscii[] = {"p", "l", "a", "i", "n", " "};
  std::string text;
  for (size_t i = 0;; ++i) {
    std::string_view next = mixed ? kMixed[i % std::size(kMixed)] : kAscii[i % std::size(kAscii)];
    if (text.size() + next.size() > size) return text.append(size - text.size(), '.');
    text += next;
  }
}

bool agree(const std::string& valid) {
  std::string broken = valid;
  broken[broken.size() / 2] = '\xff';
  for (const Validator& validator : kValidators) {
    if (validator.is_valid(valid.data(), valid.size()) && !validator.is_valid(broken.data(), broken.size())) continue;
    std::fprintf(stderr, "codec_bench: %s judges UTF-8 wrongly\n", validator.name);
    return false;
  }
  return true;
}

// Keeps the compiler from removing or hoisting the repeated operation.
void use(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

std::vector<Operation> operations_on(const std::string& text, Workspace* copies) {
  std::vector<Operation> operations;
  for (const Validator& validator : kValidators) {
    operations.push_back({validator.name, "validate", [&text, &validator](int times) {
                            bool ok = true;
                            for (int i = 0; i < times; ++i) {
                              use(text.data());
                              ok &= validator.is_valid(text.data(), text.size());
                            }
                            return ok;
                          }});
  }
  operations.push_back({"memcpy", "validate", [&text, copies](int times) {
                          char* to = copies->next_place();
                          for (int i = 0; i < times; ++i) {
                            use(text.data());
                            std::memcpy(to, text.data(), text.size());
                            use(to);
                          }
                          return true;
                        }});
  return operations;
}

std::string size_name(size_t size) {
  return size < 1024 ? std::to_string(size) + "B" : std::to_string(size / 1024) + "KB";
}

}  // namespace

bool measure_utf8(const std::string& filter, double seconds, std::vector<Measured>* results) {
  std::regex wanted(filter);
  Workspace copies(kLargest);
  for (bool mixed : {false, true}) {
    for (size_t size : kSizes) {
      std::string name = std::string(mixed ? "utf8-mixed-" : "utf8-ascii-") + size_name(size);
      if (!std::regex_search(name, wanted)) continue;
      std::string text = text_of(size, mixed);
      if (!agree(text)) return false;
      std::vector<Operation> operations = operations_on(text, &copies);
      if (!time_operations(name, "utf8", size, operations, seconds, results)) return false;
    }
  }
  return true;
}

std::string utf8_peers() {
  std::string names = "memcpy";
  for (const Validator& validator : kValidators) {
    if (std::strcmp(validator.name, "drover") != 0) names += std::string(", ") + validator.name;
  }
  return names;
}

}  // namespace drover::bench
