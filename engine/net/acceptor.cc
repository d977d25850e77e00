#include "engine/net/acceptor.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "engine/base/log.h"
#include "engine/net/socket_address.h"

namespace drover::engine {

namespace {

constexpr int kAcceptsPerTurn = 16;  // of a listener: 25 us each, with the greeting
constexpr int64_t kPauseNs = 100'000'000;

log::Limit g_accept_limit;

bool out_of_resources(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

}  // namespace

void Acceptor::adopt(UniqueFd fd, uint32_t listener_id, std::shared_ptr<const tls::Server> tls) {
  if (stopped_) return;
  auto listener = std::make_unique<Listener>(*this, std::move(fd), listener_id, std::move(tls));
  open_.insert(listener_id);
  if (!loop_.io().add(listener->fd.get(), EPOLLIN, listener.get())) {
    log::error(g_accept_limit, "cannot watch a listener", {{"why", std::strerror(errno)}});
    open_.erase(listener_id);
    return;
  }
  listeners_.push_back(std::move(listener));
}

void Acceptor::close(uint32_t listener_id) {
  open_.erase(listener_id);
  std::erase_if(listeners_, [&](auto& listener) {
    if (listener->id != listener_id) return false;
    loop_.io().remove(listener->fd.get());
    return true;
  });
}

std::string Acceptor::address(uint32_t listener) const {
  for (const auto& one : listeners_) {
    if (one->id == listener) return describe_socket(one->fd.get());
  }
  return {};
}

void Acceptor::close_all() {
  for (auto& listener : listeners_) loop_.io().remove(listener->fd.get());
  listeners_.clear();
  open_.clear();
}

void Acceptor::stop() {
  stopped_ = true;
  close_all();
}

void Acceptor::Listener::on_ready(uint32_t) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    UniqueFd socket(::accept4(fd.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (out_of_resources(errno)) {
        log::error(g_accept_limit, "cannot accept", {{"why", std::strerror(errno)}});
        acceptor.pause(*this);
        return;
      }
      if (errno != ECONNABORTED && errno != EINTR) return;
      continue;
    }
    try {
      acceptor.sink_.adopt_connection({std::move(socket), describe_peer(address, size), id, tls.get()});
    } catch (const std::bad_alloc&) {
      log::error(g_accept_limit, "cannot accept: no memory");
    }
  }
}

void Acceptor::pause(Listener& listener) {
  listener.paused = true;
  loop_.io().modify(listener.fd.get(), 0, &listener);
  resume_ns_ = loop_.now_ns() + kPauseNs;
}

void Acceptor::resume() {
  resume_ns_ = kNoDeadline;
  for (auto& listener : listeners_) {
    if (listener->paused) loop_.io().modify(listener->fd.get(), EPOLLIN, listener.get());
    listener->paused = false;
  }
}

}  // namespace drover::engine
