#include "host/listen_address.h"

#include <charconv>

namespace drover::host {
namespace {

bool is_unix(const std::string& address) {
  return address.starts_with("unix:") || address.starts_with("unix-abstract:");
}

// The byte that "%XY" at `at` stands for; -1 if there is no such thing.
int escaped_byte(const std::string& text, size_t at) {
  if (text[at] != '%' || at + 2 >= text.size()) return -1;
  unsigned value = 0;
  const char* end = text.data() + at + 3;
  auto [stop, error] = std::from_chars(text.data() + at + 1, end, value, 16);
  return error == std::errc() && stop == end ? static_cast<int>(value) : -1;
}

}  // namespace

bool split_port(const std::string& address, std::string* host, std::string* port) {
  if (is_unix(address)) return false;
  size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) return false;
  *host = address.substr(0, colon);
  *port = address.substr(colon + 1);
  return true;
}

std::optional<std::string> decoded_address(const std::string& address) {
  if (!is_unix(address)) return address;
  std::string out;
  for (size_t at = 0; at < address.size(); ++at) {
    const int byte = escaped_byte(address, at);
    out += byte < 0 ? address[at] : static_cast<char>(byte);
    if (byte >= 0) at += 2;
  }
  if (out.find('\0') != std::string::npos && !out.starts_with("unix-abstract:")) return std::nullopt;
  return out;
}

}  // namespace drover::host
