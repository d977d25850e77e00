// Addresses to listen on, as gRPC's AddListeningPort spells them, and peers as gRPC's ServerContext::peer spells them.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

namespace drover::engine {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  bool dual_stack = false;  // an IPv6 wildcard that takes IPv4 as well
  std::string unix_path;    // to unlink; empty for others
};

struct ParsedAddress {
  std::vector<SocketAddress> candidates;  // to be tried in order; the first that can be bound is used
  std::string error;
};
// Never blocks: numeric addresses, "*" and "localhost"; other names are not resolved.
ParsedAddress parse_listen_address(std::string_view address);

// The sockets that an address to listen on may stand for, in one spelling each: "*:80" for every wildcard,
// "127.0.0.1:80", "[::1]:80", "unix:/path", "unix-abstract:name". A text that is no address stands for itself.
std::vector<std::string> canonical_addresses(std::string_view address);

// The one that a socket has, as getsockname() tells it, in the same spelling. Unix paths end at their first zero byte.
std::string canonical_address(const SocketAddress& address);

// An address to listen on, for people to read: a name behind "unix-abstract:", which may be any bytes, is
// percent-encoded as in a URI. Others stand for themselves.
std::string printable_address(std::string_view address);

// "ipv4:127.0.0.1:4711", "ipv6:[::1]:4711" (percent-encoded as gRPC does), "unix:".
std::string describe_peer(const sockaddr_storage& address, socklen_t size);
// The address that a socket is bound to, likewise; "unix:/path", "unix-abstract:name" (the name percent-encoded, as
// gRPC does). Empty: there is none.
std::string describe_socket(int fd);
// Who counts as one client, of a peer as describe_peer spells it: the IPv4 address, the first 64 bits of the IPv6
// address ("2001:db8::/64"), or "unix".
std::string network_of(std::string_view peer);

}  // namespace drover::engine
