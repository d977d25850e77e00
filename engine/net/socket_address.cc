#include "engine/net/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>

namespace drover::engine {

namespace {

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

ParsedAddress parse_unix(std::string_view path, bool abstract) {
  SocketAddress address;
  auto& un = reinterpret_cast<sockaddr_un&>(address.storage);
  if (path.empty() || path.size() + 1 >= sizeof(un.sun_path)) {
    return {{}, "a unix address needs a path of 1 to " + std::to_string(sizeof(un.sun_path) - 2) + " bytes"};
  }
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path + (abstract ? 1 : 0), path.data(), path.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  if (!abstract) address.unix_path = std::string(path);
  return {{address}, ""};
}

std::optional<uint16_t> parse_port(std::string_view text) {
  unsigned port = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || port > 65535) return std::nullopt;
  return static_cast<uint16_t>(port);
}

SocketAddress ipv4(in_addr host, uint16_t port) {
  SocketAddress address;
  auto& in = reinterpret_cast<sockaddr_in&>(address.storage);
  in.sin_family = AF_INET;
  in.sin_addr = host;
  in.sin_port = htons(port);
  address.size = sizeof(in);
  return address;
}

SocketAddress ipv6(const in6_addr& host, uint16_t port, bool dual_stack) {
  SocketAddress address;
  auto& in = reinterpret_cast<sockaddr_in6&>(address.storage);
  in.sin6_family = AF_INET6;
  in.sin6_addr = host;
  in.sin6_port = htons(port);
  address.size = sizeof(in);
  address.dual_stack = dual_stack;
  return address;
}

constexpr std::string_view kAbstract = "unix-abstract:";

// The name of an abstract socket in gRPC's spelling: the path of a URI (RFC 3986, section 3.3).
std::string percent_encoded(std::string_view name) {
  constexpr std::string_view kPlain = "-._~!$&'()*+,;=:@/";
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || kPlain.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.append({'%', kHex[byte >> 4], kHex[byte & 15]});
  }
  return out;
}

struct Numeric {
  std::string host, port;
  bool six = false;
};

// Of an IP address, in which an IPv4 address that is mapped into IPv6 is an IPv4 address; of others nothing.
std::optional<Numeric> numeric(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    auto& in = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
    return Numeric{text, std::to_string(ntohs(in.sin_port)), false};
  }
  if (address.ss_family != AF_INET6) return std::nullopt;
  auto& in = reinterpret_cast<const sockaddr_in6&>(address);
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&in.sin6_addr);
  inet_ntop(mapped ? AF_INET : AF_INET6, in.sin6_addr.s6_addr + (mapped ? 12 : 0), text, sizeof(text));
  return Numeric{text, std::to_string(ntohs(in.sin6_port)), !mapped};
}

}  // namespace

ParsedAddress parse_listen_address(std::string_view address) {
  std::string_view rest = address;
  if (take_prefix(rest, kAbstract)) return parse_unix(rest, true);
  if (take_prefix(rest, "unix:")) {
    take_prefix(rest, "//");
    return parse_unix(rest, false);
  }
  if (!take_prefix(rest, "ipv4:") && !take_prefix(rest, "ipv6:") && take_prefix(rest, "dns:")) take_prefix(rest, "///");

  size_t colon = rest.rfind(':');
  bool bracketed = !rest.empty() && rest.front() == '[';
  if (colon == std::string_view::npos || (bracketed && rest[colon - 1] != ']') ||
      (!bracketed && rest.find(':') != colon)) {
    return {{}, "'" + std::string(address) + "' is not host:port"};
  }
  std::string host(bracketed ? rest.substr(1, colon - 2) : rest.substr(0, colon));
  auto port = parse_port(rest.substr(colon + 1));
  if (!port) return {{}, "'" + std::string(address) + "' needs a port from 0 to 65535"};

  in_addr four{};
  in6_addr six{};
  if (host == "0.0.0.0" || host == "::" || host == "*") {
    return {{ipv6(in6addr_any, *port, true), ipv4(in_addr{INADDR_ANY}, *port)}, ""};
  }
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return {{ipv4(four, *port)}, ""};
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return {{ipv6(six, *port, false)}, ""};
  // No other names: resolving may take long, and the calling thread serves all hosts.
  if (host == "localhost") {
    return {{ipv4(in_addr{htonl(INADDR_LOOPBACK)}, *port), ipv6(in6addr_loopback, *port, false)}, ""};
  }
  return {{}, "'" + host + "' is not an IP address; names are not resolved here (but for localhost)"};
}

std::vector<std::string> canonical_addresses(std::string_view address) {
  const ParsedAddress parsed = parse_listen_address(address);
  if (!parsed.error.empty()) return {std::string(address)};
  std::vector<std::string> all;
  all.reserve(parsed.candidates.size());
  for (const SocketAddress& one : parsed.candidates) all.push_back(canonical_address(one));
  return all;
}

std::string canonical_address(const SocketAddress& address) {
  if (const auto ip = numeric(address.storage)) {
    const bool any = ip->host == "0.0.0.0" || ip->host == "::";
    return (any ? "*" : ip->six ? "[" + ip->host + "]" : ip->host) + ":" + ip->port;
  }
  if (!address.unix_path.empty()) return "unix:" + address.unix_path;
  auto& un = reinterpret_cast<const sockaddr_un&>(address.storage);
  const size_t before = offsetof(sockaddr_un, sun_path);
  if (address.size <= before) return "unix:";  // without a name
  const std::string_view name(un.sun_path, address.size - before);
  if (name[0] != '\0') return "unix:" + std::string(name.substr(0, name.find('\0')));
  return std::string(kAbstract).append(name.substr(1));
}

std::string printable_address(std::string_view address) {
  if (!take_prefix(address, kAbstract)) return std::string(address);
  return std::string(kAbstract) + percent_encoded(address);
}

std::string describe_peer(const sockaddr_storage& address, socklen_t) {
  const auto ip = numeric(address);
  if (!ip) return "unix:";
  return ip->six ? "ipv6:%5B" + ip->host + "%5D:" + ip->port : "ipv4:" + ip->host + ":" + ip->port;
}

std::string describe_socket(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  if (address.ss_family != AF_UNIX) return describe_peer(address, size);
  auto& un = reinterpret_cast<const sockaddr_un&>(address);
  const size_t before = offsetof(sockaddr_un, sun_path);
  const std::string_view path(un.sun_path, size > before ? size - before : 0);
  if (path.empty()) return "unix:";
  if (path.front() == '\0') return std::string(kAbstract) + percent_encoded(path.substr(1));
  return "unix:" + std::string(path.substr(0, path.find('\0')));
}

std::string network_of(std::string_view peer) {
  std::string_view address = peer.substr(0, peer.rfind(':'));
  if (take_prefix(address, "ipv4:")) return std::string(address);
  if (!take_prefix(address, "ipv6:")) return "unix";
  if (address.starts_with("%5B")) address.remove_prefix(3);
  if (address.ends_with("%5D")) address.remove_suffix(3);
  in6_addr six{};
  if (inet_pton(AF_INET6, std::string(address).c_str(), &six) != 1) return std::string(address);
  std::fill(std::begin(six.s6_addr) + 8, std::end(six.s6_addr), uint8_t{0});
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &six, text, sizeof(text));
  return std::string(text) + "/64";
}

}  // namespace drover::engine
