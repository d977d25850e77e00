// The address that metrics are served at, as droverd's start and its check both read it.
#pragma once

#include <string>

namespace drover::engine {

// "HOST:PORT" or "[IPV6]:PORT", in two parts. False for any other text.
bool split_address(const std::string& text, std::string* host, std::string* port);

}  // namespace drover::engine
