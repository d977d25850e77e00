// Addresses to listen on, as AddListeningPort takes them.
#pragma once

#include <optional>
#include <string>

namespace drover::host {

// Splits "host:port" at its last colon; false for "unix:..." and the like.
bool split_port(const std::string& address, std::string* host, std::string* port);

// The address as the engine takes it: the path behind "unix:" or "unix-abstract:" is percent-decoded once (RFC 3986,
// section 2.1), as gRPC does; a '%' without two hexadecimal digits stands for itself. Other addresses are as they were.
// Nothing: a path would hold a NUL. A name behind "unix-abstract:" may hold some.
std::optional<std::string> decoded_address(const std::string& address);

}  // namespace drover::host
