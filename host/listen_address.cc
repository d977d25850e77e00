#include "host/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <memory>

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

std::string without_brackets(const std::string& host) {
  return host.size() >= 2 && host.front() == '[' && host.back() == ']' ? host.substr(1, host.size() - 2) : host;
}

// What the engine takes without a look-up: numbers (also with a scope, which it may refuse), wildcards and "localhost".
bool is_no_name(const std::string& host) {
  in_addr four;
  return host.empty() || host == "*" || host == "localhost" || host.find(':') != std::string::npos ||
         inet_pton(AF_INET, host.c_str(), &four) == 1;
}

std::string without_scheme(const std::string& address) {
  for (const char* scheme : {"dns:///", "dns:", "ipv4:", "ipv6:"}) {
    if (address.starts_with(scheme)) return address.substr(std::char_traits<char>::length(scheme));
  }
  return address;
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

std::vector<std::string> resolve_name(const std::string& name, std::string* error) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(name.c_str(), nullptr, &wanted, &found); code != 0) {
    return *error = gai_strerror(code), std::vector<std::string>();
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> held(found, freeaddrinfo);
  std::vector<std::string> all;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) continue;
    if (std::find(all.begin(), all.end(), text) == all.end()) all.emplace_back(text);
  }
  if (all.empty()) *error = "it has no address";
  return all;
}

ListenAddresses listen_addresses(const std::string& address, const ResolveName& resolve) {
  auto decoded = decoded_address(address);
  if (!decoded) return {{}, address + ": a path has no NUL byte (%00); names behind unix-abstract: may have some"};
  const std::string bare = without_scheme(*decoded);
  std::string host, port, error;
  if (!split_port(bare, &host, &port) || is_no_name(without_brackets(host))) return {{bare}, ""};
  ListenAddresses result;
  for (const std::string& number : resolve(host, &error)) {
    const bool six = number.find(':') != std::string::npos;
    result.all.push_back((six ? "[" + number + "]" : number) + ":" + port);
    if (port == "0" || result.all.size() == kMostAddresses) break;
  }
  if (result.all.empty()) result.error = address + ": the name '" + host + "' is not resolved: " + error;
  return result;
}

}  // namespace drover::host
