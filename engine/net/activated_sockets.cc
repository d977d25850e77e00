#include "engine/net/activated_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "engine/net/socket_address.h"

namespace drover::engine {
namespace {

bool parse_number(const char* text, int* number) {
  const char* last = text + std::strlen(text);
  auto [end, error] = std::from_chars(text, last, *number);
  return error == std::errc() && end == last && *number >= 0;
}

int option(int fd, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

// Empty: it listens for streams, and `address` is its own. Otherwise what is wrong with it.
std::string look_at(int fd, SocketAddress* address) {
  if (option(fd, SO_TYPE) != SOCK_STREAM || option(fd, SO_ACCEPTCONN) != 1) return "not a listening stream socket";
  address->size = sizeof address->storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address->storage), &address->size) != 0) {
    return std::strerror(errno);
  }
  const int family = address->storage.ss_family;
  if (family != AF_INET && family != AF_INET6 && family != AF_UNIX) return "neither of an IP address nor a Unix socket";
  return "";
}

}  // namespace

ActivatedSockets ActivatedSockets::from_environment(const std::function<const char*(const char*)>& environment,
                                                    std::vector<std::string>* wrong) {
  const char* process = environment("LISTEN_PID");
  const char* count = environment("LISTEN_FDS");
  if (process == nullptr || count == nullptr) return {};
  int pid = 0, number = 0;
  if (!parse_number(process, &pid)) {
    wrong->push_back("LISTEN_PID: '" + std::string(process) + "' is not a process id");
    return {};
  }
  if (pid != ::getpid()) return {};  // another's, inherited
  if (!parse_number(count, &number) || number > kMost) {
    wrong->push_back("LISTEN_FDS: '" + std::string(count) + "' is not a number from 0 to " + std::to_string(kMost));
    return {};
  }
  const char* names = environment("LISTEN_FDNAMES");
  return take(kFirst, number, names == nullptr ? "" : names, wrong);
}

ActivatedSockets ActivatedSockets::take(int first, int count, std::string_view names, std::vector<std::string>* wrong) {
  ActivatedSockets out;
  for (int number = first; number < first + count; ++number) {
    const std::string name(names.substr(0, names.find(':')));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const int flags = ::fcntl(number, F_GETFD);
    if (flags < 0) {
      wrong->push_back("descriptor " + std::to_string(number) + ": " + std::strerror(errno));
      continue;
    }
    UniqueFd fd(number);
    SocketAddress address;
    if (std::string why = look_at(number, &address); !why.empty()) {
      wrong->push_back("descriptor " + std::to_string(number) + (name.empty() ? "" : " (" + name + ")") + ": " + why);
      continue;
    }
    ::fcntl(number, F_SETFD, flags | FD_CLOEXEC);
    ::fcntl(number, F_SETFL, ::fcntl(number, F_GETFL) | O_NONBLOCK);
    out.sockets_.push_back({std::move(fd), canonical_address(address), name});
  }
  return out;
}

std::vector<int> ActivatedSockets::at(std::string_view address) const {
  std::vector<int> out;
  if (sockets_.empty()) return out;
  const std::vector<std::string> wanted = canonical_addresses(address);
  for (const Socket& socket : sockets_) {
    if (std::find(wanted.begin(), wanted.end(), socket.address) != wanted.end()) out.push_back(socket.fd.get());
  }
  return out;
}

std::string ActivatedSockets::describe() const {
  std::string out;
  for (const Socket& socket : sockets_) {
    out += (out.empty() ? "" : ", ") + socket.address + (socket.name.empty() ? "" : " (" + socket.name + ")");
  }
  return out;
}

}  // namespace drover::engine
