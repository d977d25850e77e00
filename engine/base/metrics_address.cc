// What is behind the last colon is the port; an IPv6 address, which has colons itself, needs its brackets.
#include "engine/base/metrics_address.h"

#include <civetweb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "object/unique_fd.h"

namespace drover::engine {
namespace {

// 0, or errno. Of IPv6, for IPv6 alone, as the server has it.
int try_to_listen(const addrinfo& address) {
  const UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.ai_family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  const bool listens = ::bind(fd.get(), address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd.get(), 1) == 0;
  return listens ? 0 : errno;
}

std::string numeric_text(const addrinfo& address, const std::string& port) {
  char digits[NI_MAXHOST] = "";
  ::getnameinfo(address.ai_addr, address.ai_addrlen, digits, sizeof digits, nullptr, 0, NI_NUMERICHOST);
  return (address.ai_family == AF_INET6 ? "[" + std::string(digits) + "]" : std::string(digits)) + ":" + port;
}

}  // namespace

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

Listening choose_listening(const std::string& text, const std::string& port, const addrinfo* found, bool ipv6) {
  Listening out;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const std::string known = numeric_text(*one, port);
    if (("," + out.numeric + ",").find("," + known + ",") != std::string::npos)
      continue;  // a name may lead there twice
    const bool served = ipv6 || one->ai_family != AF_INET6;
    const int error = served ? try_to_listen(*one) : 0;
    if (served && error == 0) {
      out.numeric += (out.numeric.empty() ? "" : ",") + known;
    } else if (!served || error == EADDRNOTAVAIL || error == EAFNOSUPPORT) {
      out.left_out += (out.left_out.empty() ? "" : ", ") + known + ": " +
                      (served ? std::strerror(error) : "the engine's HTTP server (civetweb) was built without IPv6");
    } else {
      out.error = "cannot serve on '" + text + "': " + std::strerror(error);
      return out;
    }
  }
  if (out.numeric.empty()) out.error = "cannot serve on '" + text + "': " + std::exchange(out.left_out, {});
  return out;
}

Listening resolve_listening(const std::string& text) {
  std::string host, port;
  if (!split_address(text, &host, &port)) {
    return {"'" + text + "' is not an address; expected HOST:PORT, such as 127.0.0.1:9464", {}, {}};
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0) {
    return {"cannot serve on '" + text + "': " + ::gai_strerror(code), {}, {}};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  return choose_listening(text, port, found, ::mg_check_feature(MG_FEATURES_IPV6) != 0);
}

}  // namespace drover::engine
