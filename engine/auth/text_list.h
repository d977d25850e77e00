// The parts of the configuration's short texts: "NAME key=value key=value; NAME ...".
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace drover::engine::auth {

// With spaces for tabs and line ends: such a text may stand on several lines.
inline std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return line;
}

inline std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The parts between `at` that are not empty, without spaces around.
inline std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find(at);
    if (std::string_view part = trimmed(text.substr(0, end)); !part.empty()) parts.push_back(part);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

// "key=value", at the first "="; without one, `value` is empty.
struct Setting {
  explicit Setting(std::string_view word)
      : key(word.substr(0, word.find('='))), value(word.substr(std::min(word.size(), key.size() + 1))) {}
  std::string_view key, value;
};

inline std::vector<std::string> strings(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

}  // namespace drover::engine::auth
