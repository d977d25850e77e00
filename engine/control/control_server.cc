// The control thread's loop and the ways of hosts; what they say is read in control_server_messages.cc.
#include "engine/control/control_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "channel/doorbell.h"
#include "engine/base/log.h"

namespace drover::engine {
namespace {

constexpr int kMessagesPerTurn = 16;  // of one host, so that a talkative one does not keep others waiting

log::Limit host_log(50);

// A descriptor that becomes readable when the process ends; none if the kernel or the namespace does not give one.
UniqueFd open_process(pid_t pid) {
  return pid > 0 ? UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) : UniqueFd();
}

}  // namespace

ControlServer::ControlServer(const ControlOptions& options, DispatchThreads& threads)
    : options_(options),
      threads_(threads),
      hostless_since_ns_(monotonic_ns()),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

ControlServer::~ControlServer() = default;

bool ControlServer::listen(const std::string& address, ControlError* error) {
  std::optional<ControlListener> socket = ControlListener::listen(address, error);
  if (!socket) return false;
  sockets_.push_back(std::move(*socket));
  return true;
}

bool ControlServer::adopt(UniqueFd connected, ControlError* error) {
  std::optional<ControlSocket> socket = ControlSocket::adopt(std::move(connected), error);
  return socket && add_host(std::move(*socket), error);
}

// ---- from other threads

void ControlServer::post_event(Event event) {
  {
    std::lock_guard<std::mutex> lock(events_mutex_);
    events_.push_back(std::move(event));
  }
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void ControlServer::stop() {
  stop_.store(true, std::memory_order_release);
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void ControlServer::drain(uint64_t grace_ms) { post_event({Event::Kind::kDrainAll, 0, grace_ms, {}}); }
void ControlServer::host_failed(uint64_t host, uint32_t thread, std::string why) {
  post_event({Event::Kind::kFailed, host, thread, std::move(why)});
}
void ControlServer::host_drained(uint64_t host, uint32_t, uint64_t calls_ended) {
  post_event({Event::Kind::kDrained, host, calls_ended, {}});
}
void ControlServer::host_let_go(uint64_t host, uint32_t thread) { post_event({Event::Kind::kLetGo, host, thread, {}}); }

void ControlServer::take_events() {
  uint64_t count;
  [[maybe_unused]] ssize_t got = ::read(wake_.get(), &count, sizeof count);
  std::vector<Event> events;
  {
    std::lock_guard<std::mutex> lock(events_mutex_);
    events.swap(events_);
  }
  for (Event& event : events) take_event(event);
}

void ControlServer::take_event(Event& event) {
  if (event.kind == Event::Kind::kDrainAll) {
    draining_ = true;
    on_all_threads([](Dispatcher& dispatcher) { dispatcher.drain_all(); });
    for (size_t i = 0; i < hosts_.size(); ++i) {
      if (hosts_[i]->stage == Stage::kServing) send(*hosts_[i], Draining{event.number});
    }
    return;
  }
  Host* host = find(event.host);
  if (host == nullptr) return;
  bool last = false;
  switch (event.kind) {
    case Event::Kind::kAttached:
      last = host->stage == Stage::kStarting && --host->threads_to_answer == 0;
      if (!last) return;
      host->stage = Stage::kServing;
      host->deadline_ns = INT64_MAX;
      serving_.fetch_add(1, std::memory_order_relaxed);
      log::info(host_log, "host_serving",
                {{"host", host->attachment->name},
                 {"id", host->id},
                 {"pid", host->attachment->pid},
                 {"methods", host->attachment->methods.size()}});
      send(*host, Started{});
      if (draining_) send(*host, Draining{0});
      return;
    case Event::Kind::kFailed:
      return remove_host(*host, {ControlCode::kInternal, "the host broke the channel: " + event.text});
    case Event::Kind::kDrained:
      host->calls_ended += event.number;
      last = host->stage == Stage::kDraining && --host->threads_to_answer == 0;
      if (last) send(*host, HostStatus{HostStatus::State::kDrained, 0, host->calls_ended});
      return;
    case Event::Kind::kLetGo:
      if (host->stage == Stage::kLeaving && --host->threads_to_answer == 0) forget(host->id);
      return;
    case Event::Kind::kDrainAll:
      return;
  }
}

// ---- the loop

void ControlServer::run() {
  while (!stop_.load(std::memory_order_acquire)) {
    wait_and_take();
    int64_t now = monotonic_ns();
    check_deadlines(now);
    if (is_orphan(now)) {
      orphaned_ = true;
      return;
    }
  }
}

void ControlServer::wait_and_take() {
  // Hosts are named by id: taking one's message may remove it, or another.
  std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}};
  std::vector<uint64_t> ids{0};
  for (const ControlListener& socket : sockets_) {
    fds.push_back({socket.fd(), POLLIN, 0});
    ids.push_back(0);
  }
  for (const auto& host : hosts_) {
    if (host->stage == Stage::kLeaving) continue;
    fds.push_back({host->socket.fd(), POLLIN, 0});
    ids.push_back(host->id);
    if (!host->process) continue;
    fds.push_back({host->process.get(), POLLIN, 0});
    ids.push_back(host->id);
  }
  int64_t next = next_deadline_ns(), now = monotonic_ns();
  int wait = next == INT64_MAX ? -1 : static_cast<int>(std::clamp<int64_t>((next - now) / 1'000'000 + 1, 0, 60'000));
  if (::poll(fds.data(), fds.size(), wait) <= 0) return;
  take_events();
  for (size_t i = 1; i < fds.size(); ++i) {
    if (fds[i].revents == 0) continue;
    if (i <= sockets_.size()) {
      ControlError error;
      std::optional<ControlSocket> socket = sockets_[i - 1].accept(0, &error);
      if (!socket || !add_host(std::move(*socket), &error)) {
        if (error.code != ControlCode::kWouldBlock) log::warn(host_log, "host_refused", {{"why", error.message}});
      }
      continue;
    }
    Host* host = find(ids[i]);
    if (host == nullptr || host->stage == Stage::kLeaving) continue;
    if (fds[i].fd == host->process.get()) {
      remove_host(*host, {ControlCode::kClosed, "the process ended"});
    } else {
      read_from(ids[i]);
    }
  }
}

void ControlServer::read_from(uint64_t id) {
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    Host* host = find(id);
    if (host == nullptr || host->stage == Stage::kLeaving) return;
    ControlError error;
    std::vector<UniqueFd> fds;
    std::optional<ControlMessage> message = host->socket.receive(&fds, 0, &error);
    if (!message && error.code == ControlCode::kWouldBlock) return;
    if (message && take_message(*host, *message, fds, &error)) continue;
    if (error.code != ControlCode::kClosed) {
      host->socket.send_error(error, message ? control_type(*message) : ControlType::kHello);
    }
    // An address that cannot be had is the host's to deal with; anything else ends the attachment.
    bool may_go_on =
        message && (error.code == ControlCode::kAddressInUse || error.code == ControlCode::kAddressInvalid);
    if (may_go_on) continue;
    return remove_host(*host, error);
  }
}

int64_t ControlServer::next_deadline_ns() const {
  int64_t next = INT64_MAX;
  bool any = false;
  for (const auto& host : hosts_) {
    next = std::min(next, host->deadline_ns);
    any |= host->stage != Stage::kLeaving;
  }
  if (options_.child && !any) next = std::min(next, hostless_since_ns_ + options_.orphan_timeout_ns);
  return next;
}

void ControlServer::check_deadlines(int64_t now_ns) {
  for (size_t i = 0; i < hosts_.size(); ++i) {
    Host& host = *hosts_[i];
    if (now_ns < host.deadline_ns) continue;
    host.deadline_ns = INT64_MAX;
    bool draining = host.stage == Stage::kDraining;
    if (draining) send(host, HostStatus{HostStatus::State::kDetached, 0, host.calls_ended});
    if (host.stage == Stage::kLeaving) continue;
    ControlError why{ControlCode::kTimeout, draining ? "its calls did not end in the grace that it gave them"
                                                     : "it did not start serving in time"};
    if (!draining) host.socket.send_error(why, ControlType::kStart);
    size_t before = hosts_.size();
    remove_host(host, why);
    if (hosts_.size() < before) --i;
  }
}

bool ControlServer::is_orphan(int64_t now_ns) {
  bool any = std::any_of(hosts_.begin(), hosts_.end(), [](const auto& h) { return h->stage != Stage::kLeaving; });
  if (any) hostless_since_ns_ = now_ns;
  return options_.child && !any && now_ns - hostless_since_ns_ >= options_.orphan_timeout_ns;
}

// ---- hosts

bool ControlServer::add_host(ControlSocket socket, ControlError* error) {
  if (hosts_.size() >= options_.max_hosts) {
    *error = {ControlCode::kResourceExhausted, std::to_string(options_.max_hosts) + " hosts are attached already"};
    socket.send_error(*error, ControlType::kHello);
    return false;
  }
  auto host = std::make_unique<Host>();
  host->id = next_host_++;
  host->process = open_process(socket.peer_pid());
  host->socket = std::move(socket);
  host->deadline_ns = monotonic_ns() + options_.handshake_timeout_ns;
  hosts_.push_back(std::move(host));
  return true;
}

ControlServer::Host* ControlServer::find(uint64_t id) {
  for (const auto& host : hosts_) {
    if (host->id == id) return host.get();
  }
  return nullptr;
}

bool ControlServer::send(Host& host, const ControlMessage& message, std::span<const int> fds) {
  ControlError error;
  if (host.socket.send(message, fds, 0, &error)) return true;
  // It does not read, or has gone: its own hang-up or process will tell; a host that never reads is cut off.
  if (error.code == ControlCode::kWouldBlock) host.deadline_ns = monotonic_ns();
  return false;
}

void ControlServer::on_all_threads(const std::function<void(Dispatcher&)>& work) {
  for (uint32_t thread = 0; thread < threads_.count(); ++thread) threads_.post(thread, work);
}

// The host leaves, for whatever reason. `host` may be gone when this returns.
void ControlServer::remove_host(Host& host, const ControlError& why) {
  if (host.stage == Stage::kLeaving) return;
  if (host.stage == Stage::kServing || host.stage == Stage::kDraining) serving_.fetch_sub(1, std::memory_order_relaxed);
  bool served = host.attached;
  if (!host.in_order && why.code != ControlCode::kClosed) host.socket.send_error(why, ControlType::kStart);
  if (host.attachment != nullptr) {
    log::write(host_log, host.in_order ? log::Level::kInfo : log::Level::kWarn,
               host.in_order ? "host_left" : "host_lost",
               {{"host", host.attachment->name},
                {"id", host.id},
                {"pid", host.attachment->pid},
                {"why", control_code_name(why.code)},
                {"what", why.message}});
  }
  host.stage = Stage::kLeaving;
  host.deadline_ns = INT64_MAX;
  host.socket.close();
  host.process.reset();
  // A host that died may come back; one that left in order will not, and its child need not wait for it.
  hostless_since_ns_ = monotonic_ns() - (host.in_order ? options_.orphan_timeout_ns : 0);
  if (!served) return forget(host.id);
  detach_from_threads(host);
}

void ControlServer::detach_from_threads(Host& host) {
  host.threads_to_answer = threads_.count();
  uint64_t id = host.id;
  on_all_threads([id](Dispatcher& dispatcher) { dispatcher.detach(id); });
}

// The last reference to the region goes here, so that no engine thread spends its time unmapping it.
void ControlServer::forget(uint64_t id) {
  auto at = std::find_if(hosts_.begin(), hosts_.end(), [id](const auto& host) { return host->id == id; });
  if (at == hosts_.end()) return;
  std::unique_ptr<Host> host = std::move(*at);
  hosts_.erase(at);
  if (host->attachment == nullptr) return;
  if (host->in_order) return close_unused_listeners(host->attachment->listeners);
  if (!host->attached) close_unused_listeners(host->opened);
}

void ControlServer::forget_listener(uint32_t listener) {
  on_all_threads([listener](Dispatcher& dispatcher) { dispatcher.forget_listener(listener); });
}

void ControlServer::close_unused_listeners(const std::vector<uint32_t>& listeners) {
  for (uint32_t id : listeners) {
    bool used = std::any_of(hosts_.begin(), hosts_.end(), [id](const auto& host) {
      if (host->attachment == nullptr) return false;
      const auto& named = host->attachment->listeners;
      return std::find(named.begin(), named.end(), id) != named.end();
    });
    if (used) continue;
    threads_.close(id);
    forget_listener(id);
    std::erase_if(listeners_, [id](const auto& entry) { return entry.second.id == id; });
  }
}

}  // namespace drover::engine
