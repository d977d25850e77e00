// Addresses to listen on, as AddListeningPort takes them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace drover::host {

// Splits "host:port" at its last colon; false for "unix:..." and the like.
bool split_port(const std::string& address, std::string* host, std::string* port);

// The address as the engine takes it: the path behind "unix:" or "unix-abstract:" is percent-decoded once (RFC 3986,
// section 2.1), as gRPC does; a '%' without two hexadecimal digits stands for itself. Other addresses are as they were.
// Nothing: a path would hold a NUL. A name behind "unix-abstract:" may hold some.
std::optional<std::string> decoded_address(const std::string& address);

// The numeric addresses of a name, IPv6 without brackets; none, with the reason, if it has none. May block.
using ResolveName = std::function<std::vector<std::string>(const std::string& name, std::string* error)>;
std::vector<std::string> resolve_name(const std::string& name, std::string* error);

struct ListenAddresses {
  std::vector<std::string> all;  // at least one, as the engine takes them
  std::string error;             // not empty: the address stands for none
};
// What an address of AddListeningPort stands for: the address itself, decoded, or all addresses of its name, of at most
// kMostAddresses, each with the same port. A port of 0 is chosen for one address: the name's first. "dns:", "ipv4:" and
// "ipv6:" in front are gRPC's schemes, and go. The engine resolves no name; "localhost" and "*" it knows.
ListenAddresses listen_addresses(const std::string& address, const ResolveName& resolve = resolve_name);
inline constexpr size_t kMostAddresses = 16;

}  // namespace drover::host
