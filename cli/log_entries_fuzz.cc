// Fuzz target: any bytes as a binary log, read in pieces of a size that the first byte says, and printed as a table and
// as JSON. Each text is one line of printable characters, and what is read does not depend on the pieces. Seeds:
// tests/corpus/log_entries_fuzz.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "binlog/log_reader.h"
#include "cli/log_entries.h"

using namespace drover;

namespace {

struct Found {
  std::vector<std::string> entries;
  std::string error;
  friend bool operator==(const Found&, const Found&) = default;
};

Found read(std::string_view file, size_t step) {
  binlog::LogReader reader([&](char* to, size_t size) {
    const size_t n = file.copy(to, std::min(size, step));
    file.remove_prefix(n);
    return static_cast<long>(n);
  });
  Found found;
  for (std::string_view entry; reader.next(&entry);) found.entries.emplace_back(entry);
  found.error = reader.message();
  return found;
}

void check(const std::string& text) {
  if (text.find('\n') != text.size() - 1) std::abort();
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < 0x20 || byte == 0x7f || (byte == 0xc2 && static_cast<uint8_t>(text[i + 1]) < 0xa0)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view file(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Found found = read(file, SIZE_MAX);
  if (!(read(file, size_t{data[0]} + 1) == found)) std::abort();
  const auto decode = [](const std::string&, bool, const std::string& wire) {
    return "\"\x1b\x7f\xc2\x9b" + wire + "\"";  // strings of a message may have any characters
  };
  cli::LogEntries lines({}, false, decode), json({}, true, decode);
  for (const std::string& entry : found.entries) {
    std::string line, object;
    const bool is_entry = lines.print(entry, &line);
    if (json.print(entry, &object) != is_entry) std::abort();
    if (!is_entry) continue;
    check(line);
    check(object);
  }
  return 0;
}
