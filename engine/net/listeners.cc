#include "engine/net/listeners.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "engine/base/log.h"
#include "engine/net/socket_address.h"

namespace drover::engine {

namespace {

constexpr int kBacklog = 4096;
// Nothing depends on a removal: one that is late goes on by itself.
constexpr std::chrono::milliseconds kRemovePatience{50};

log::Limit g_listener_limit(100);  // hosts open and close listeners

std::string errno_text(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

UniqueFd make_socket(const SocketAddress& address, std::string* error) {
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) *error = errno_text("socket");
  return fd;
}

UniqueFd open_socket(const SocketAddress& address, bool reuse_port, std::string* error) {
  UniqueFd fd = make_socket(address, error);
  if (!fd) return fd;
  int on = 1;
  int off = 0;
  if (address.storage.ss_family != AF_UNIX) {
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (reuse_port) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    if (address.storage.ss_family == AF_INET6) {
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, address.dual_stack ? &off : &on, sizeof(on));
    }
  }
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0) {
    return *error = errno_text("bind"), UniqueFd();
  }
  return fd;
}

uint16_t& port_of(SocketAddress& address) {
  return address.storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port
                                               : reinterpret_cast<sockaddr_in&>(address.storage).sin_port;
}

// Whether the address already has a listener. With SO_REUSEPORT we would share the clients of another process of the
// same user, so the first bind is tried without it.
bool is_taken(const SocketAddress& address, std::string* error) {
  UniqueFd probe = open_socket(address, false, error);
  return !probe || ::listen(probe.get(), 1) != 0;
}

struct Opened {
  std::vector<UniqueFd> fds;
  uint16_t port = 0;
  std::shared_ptr<SocketFile> file;
  std::string error;
  bool late = false;
};

// An errand. If it is late, its end closes the socket and removes the file.
struct PathListen {
  UniqueFd socket;
  std::string path;
  Listeners::WhyRefused why_refused;
  std::shared_ptr<SocketFile> file = std::make_shared<SocketFile>();
  SocketFileError why = {};
  bool ok = false;

  void run() {
    ok = file->listen(socket.get(), path, kBacklog, &why);
    if (!ok && why.os_error == EACCES) why.message += why_refused(path);
  }
};

bool listen_at_path(int fd, const std::string& path, const Listeners::WhyRefused& why_refused, Errands* errands,
                    Opened* opened) {
  UniqueFd own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!own) return opened->error = errno_text("fcntl"), false;
  auto errand =
      std::make_shared<PathListen>(PathListen{.socket = std::move(own), .path = path, .why_refused = why_refused});
  Errands::Outcome outcome = errands->run([errand] { errand->run(); });
  if (outcome == Errands::Outcome::kDone) {
    opened->error = errand->why.message;
    opened->file = errand->file;
    return errand->ok;
  }
  opened->late = outcome == Errands::Outcome::kLate;
  opened->error = "'" + path + "': its file system did not answer in time";
  if (outcome == Errands::Outcome::kTooMany) {
    opened->error = "'" + path + "': too many look-ups of paths have not returned";
  }
  return false;
}

// Binds to the name and listens.
bool listen_unix(int fd, const SocketAddress& address, const Listeners::WhyRefused& why_refused, Errands* errands,
                 Opened* opened) {
  if (!address.unix_path.empty()) return listen_at_path(fd, address.unix_path, why_refused, errands, opened);
  auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::bind(fd, name, address.size) == 0 && ::listen(fd, kBacklog) == 0) return true;
  opened->error = errno_text("bind");
  return false;
}

Opened open_unix(const SocketAddress& address, size_t count, const Listeners::WhyRefused& why_refused,
                 Errands* errands) {
  Opened opened;
  UniqueFd fd = make_socket(address, &opened.error);
  if (!fd || !listen_unix(fd.get(), address, why_refused, errands, &opened)) return opened;
  for (size_t i = 1; i < count; ++i) {
    UniqueFd another(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!another) return opened.error = errno_text("fcntl"), std::move(opened);
    opened.fds.push_back(std::move(another));
  }
  opened.fds.push_back(std::move(fd));
  return opened;
}

Opened open_inet(SocketAddress address, size_t count) {
  Opened opened;
  if (port_of(address) != 0 && is_taken(address, &opened.error)) {
    if (opened.error.empty()) opened.error = errno_text("listen");
    return opened;
  }
  for (size_t i = 0; i < count; ++i) {
    UniqueFd fd = open_socket(address, true, &opened.error);
    if (!fd) return opened;
    socklen_t size = sizeof(address.storage);
    if (::listen(fd.get(), kBacklog) != 0 ||
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address.storage), &size) != 0) {
      return opened.error = errno_text("listen"), std::move(opened);
    }
    opened.fds.push_back(std::move(fd));  // the others take the port that the first one got
  }
  opened.port = ntohs(port_of(address));
  return opened;
}

}  // namespace

ListenResult Listeners::listen(std::string_view text, uint32_t listener, std::shared_ptr<const tls::Server> tls) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Open& open : open_) {
    if (open.id == listener) return {open.port, ""};
  }
  ParsedAddress parsed = parse_listen_address(text);
  if (!parsed.error.empty()) return {0, parsed.error};
  if (const std::vector<int> sockets = activated_.at(text); !sockets.empty()) {
    return listen_at(sockets, text, listener, tls);
  }
  std::string error = "no usable address";
  for (const SocketAddress& address : parsed.candidates) {
    bool is_unix = address.storage.ss_family == AF_UNIX;
    Opened opened =
        is_unix ? open_unix(address, threads_.size(), why_refused_, &errands_) : open_inet(address, threads_.size());
    if (opened.fds.size() != threads_.size()) {
      error = "cannot listen on " + printable_address(text) + ": " + opened.error;
      remove(std::move(opened.file));
      if (opened.late) return {0, error, true};
      continue;
    }
    adopt(std::move(opened.fds), listener, tls);
    open_.push_back({listener, std::string(text), opened.port, std::move(opened.file)});
    log::info(g_listener_limit, "listening",
              {{"address", text}, {"port", opened.port}, {"listener", listener}, {"tls", tls != nullptr}});
    return {opened.port, ""};
  }
  return {0, error};
}

// One descriptor an engine thread.
void Listeners::adopt(std::vector<UniqueFd> fds, uint32_t listener, const std::shared_ptr<const tls::Server>& tls) {
  for (size_t i = 0; i < threads_.size(); ++i) {
    Acceptor* acceptor = threads_[i].acceptor;
    auto fd = std::make_shared<UniqueFd>(std::move(fds[i]));
    threads_[i].loop->post([=] { acceptor->adopt(std::move(*fd), listener, tls); });
  }
}

ListenResult Listeners::listen_at(const std::vector<int>& activated, std::string_view address, uint32_t listener,
                                  const std::shared_ptr<const tls::Server>& tls) {
  for (const Open& open : open_) {
    if (std::find_first_of(open.activated.begin(), open.activated.end(), activated.begin(), activated.end()) ==
        open.activated.end())
      continue;
    return {0, "cannot listen on " + printable_address(address) + ": " + std::strerror(EADDRINUSE) +
                   ": its activated socket serves " + printable_address(open.address)};
  }
  std::vector<std::vector<UniqueFd>> all;
  SocketAddress bound;
  for (int socket : activated) {
    std::vector<UniqueFd>& fds = all.emplace_back();
    while (fds.size() < threads_.size()) {
      fds.emplace_back(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
      if (!fds.back()) return {0, "cannot listen on " + printable_address(address) + ": " + errno_text("fcntl")};
    }
    bound.size = sizeof bound.storage;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound.storage), &bound.size);
  }
  for (auto& fds : all) adopt(std::move(fds), listener, tls);
  const uint16_t port = bound.storage.ss_family == AF_UNIX ? 0 : ntohs(port_of(bound));
  open_.push_back({listener, std::string(address), port, nullptr, activated});
  log::info(
      g_listener_limit, "listening",
      {{"address", address}, {"port", port}, {"listener", listener}, {"tls", tls != nullptr}, {"activated", true}});
  return {port, ""};
}

Listeners::~Listeners() {
  for (Open& open : open_) remove(std::move(open.file));
}

// Where the file system does not answer, the file stays until it does.
void Listeners::remove(std::shared_ptr<SocketFile> file) {
  if (file == nullptr) return;
  std::string path = file->path();
  Errands::Outcome outcome = errands_.run([file = std::move(file)] { file->remove(); }, kRemovePatience);
  if (outcome != Errands::Outcome::kDone)
    log::warn(g_listener_limit, "socket_file_stays",
              {{"path", path}, {"why", outcome == Errands::Outcome::kLate ? "late" : "too many are late"}});
}

void Listeners::close(uint32_t listener) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(open_, [&](Open& open) {
    if (open.id != listener) return false;
    remove(std::move(open.file));
    for (const Thread& thread : threads_) {
      thread.loop->post([acceptor = thread.acceptor, listener] { acceptor->close(listener); });
    }
    log::info(g_listener_limit, "listener closed", {{"address", open.address}, {"listener", listener}});
    return true;
  });
}

}  // namespace drover::engine
