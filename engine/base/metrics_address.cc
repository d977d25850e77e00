// What is behind the last colon is the port; an IPv6 address, which has colons itself, needs its brackets.
#include "engine/base/metrics_address.h"

#include <charconv>

namespace drover::engine {

bool split_address(const std::string& text, std::string* host, std::string* port) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  *host = text.substr(0, colon);
  *port = text.substr(colon + 1);
  unsigned number = 0;
  auto [end, error] = std::from_chars(port->data(), port->data() + port->size(), number);
  if (error != std::errc() || end != port->data() + port->size() || number > 65535) return false;
  if (host->front() == '[' && host->back() == ']') {
    *host = host->substr(1, host->size() - 2);
    return true;
  }
  return host->find(':') == std::string::npos;
}

}  // namespace drover::engine
