// The control thread's loop, and hosts' arrival and end; host_session.cc interprets their messages.
#include "engine/control/control_server.h"

#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <new>
#include <thread>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/heap.h"
#include "engine/base/log.h"

namespace drover::engine {
namespace {

constexpr int64_t kDescriptorsNs = 1'000'000'000;  // until a host's descriptors are looked at again
constexpr int kMessagesPerTurn = 16;               // of one host, so that a talkative one does not keep others waiting
constexpr uint64_t kLeastWork = 4096;              // of a message, however short
constexpr int64_t kAcceptPauseNs = 100'000'000;

constexpr std::chrono::milliseconds kNoMemoryPause{10};

log::Limit g_refused_limit(50);
log::Limit g_memory_limit;

}  // namespace

ControlServer::ControlServer(const ControlOptions& options, DispatchThreads& threads)
    : options_(options),
      threads_(threads),
      disposal_([this] { events_.wake(); }),
      regions_([] {}),
      listeners_(threads, options.max_open_listeners, [this](uint32_t listener) { return names(listener); }),
      shared_{options_, threads_, listeners_, events_, disposal_, regions_},
      hostless_since_ns_(monotonic_ns()) {
  shared_.line_peers = options_.line_peers;
  shared_.server_of = [this](const std::string& name) { return server_of(name); };
  shared_.seat_of = [this](const HostSession& host) { return seat_of(host); };
  if (options_.sharing == Sharing::kFirstCome) {
    shared_.rival = [this](const HostSession& host, std::string* what) { return rival_of(host, what); };
  }
}

ControlServer::~ControlServer() = default;

bool ControlServer::listen(const std::string& address, ControlError* error) {
  std::optional<ControlListener> socket = ControlListener::listen(address, error);
  if (!socket) return false;
  socket->admit(options_.policy.users());
  take(std::move(*socket));
  return true;
}

bool ControlServer::adopt(UniqueFd connected, ControlError* error) {
  std::optional<ControlSocket> socket = ControlSocket::adopt(std::move(connected), error);
  return socket && add_host(std::move(*socket), error);
}

// ---- from other threads

void ControlServer::stop() {
  stop_.store(true, std::memory_order_release);
  events_.wake();
}

void ControlServer::drain(uint64_t grace_ms) { events_.post({ControlEvent::Kind::kDrainAll, 0, grace_ms, {}}); }
void ControlServer::host_attached(uint64_t host, uint32_t thread) {
  events_.post({ControlEvent::Kind::kAttached, host, thread, {}});
}
void ControlServer::host_failed(uint64_t host, uint32_t thread, std::string why) {
  events_.post({ControlEvent::Kind::kFailed, host, thread, std::move(why)});
}
void ControlServer::host_drained(uint64_t host, uint32_t, uint64_t calls_ended) {
  events_.post({ControlEvent::Kind::kDrained, host, calls_ended, {}});
}
void ControlServer::host_let_go(uint64_t host, uint32_t thread) {
  events_.post({ControlEvent::Kind::kLetGo, host, thread, {}});
}

void ControlServer::connection_opened(uint64_t host, uint32_t thread, const Opened& opened) {
  events_.post({ControlEvent::Kind::kOpened, host, thread, {}, opened});
}

void ControlServer::take_events() {
  for (ControlEvent& event : events_.take()) take_event(event);
}

void ControlServer::take_event(ControlEvent& event) {
  if (event.kind == ControlEvent::Kind::kDrainAll) return start_drain(event.number);
  HostSession* host = find(event.host);
  if (host == nullptr) return;
  switch (event.kind) {
    case ControlEvent::Kind::kAttached:
      if (host->thread_attached()) serving_.fetch_add(1, std::memory_order_relaxed);
      return;
    case ControlEvent::Kind::kFailed:
      return remove_host(*host, {ControlCode::kInternal, "the host broke the channel: " + event.text});
    case ControlEvent::Kind::kDrained:
      return host->thread_drained(event.number);
    case ControlEvent::Kind::kLetGo:
      if (host->thread_let_go(static_cast<uint32_t>(event.number))) forget(host->id());
      return;
    case ControlEvent::Kind::kOpened:
      return host->connection_opened(static_cast<uint32_t>(event.number), event.opened);
    case ControlEvent::Kind::kDrainAll:
      return;
  }
}

void ControlServer::start_drain(uint64_t grace_ms) {
  shared_.draining = true;
  threads_.post_all([](Dispatcher& dispatcher) { dispatcher.drain_all(); });
  for (const auto& host : hosts_) {
    if (host->stage() == HostSession::Stage::kServing) host->send(Draining{grace_ms});
  }
}

// ---- the loop

// A host that starts us and is killed before it is served has not said where we are: its successor could not find
// us, and what we hold (metrics.address) would keep its engine from starting.
void ControlServer::end_with_parent(bool ends) {
  ends_with_parent_ = ends;
  ::prctl(PR_SET_PDEATHSIG, ends ? SIGKILL : 0);
}

void ControlServer::run() {
  if (options_.child) end_with_parent(true);
  while (!stop_.load(std::memory_order_acquire)) {
    int64_t now = monotonic_ns();
    try {
      wait_and_take();
      now = monotonic_ns();
      check_deadlines(now);
      for (auto& unused : shared_.totals.descriptors.take_unused()) regions_.dispose(std::move(unused));
    } catch (const std::bad_alloc&) {  // while reading what a host said (read_from), or serving all of them
      log::error(g_memory_limit, "the control thread has no memory for a piece of its work");
      std::this_thread::sleep_for(kNoMemoryPause);
    }
    if (ends_with_parent_ && serving_.load(std::memory_order_relaxed) != 0) end_with_parent(false);
    if (is_orphan(now)) {
      orphaned_ = true;
      return;
    }
  }
}

void ControlServer::wait_and_take() {
  // Hosts are looked up by id: handling a message may remove its host, or another.
  std::vector<pollfd> fds{{events_.fd(), POLLIN, 0}};
  std::vector<uint64_t> ids{0};
  bool full = disposal_.full();  // then what hosts send stays where it is, but their end is noticed
  bool accepts = !full && monotonic_ns() >= accept_again_ns_;
  for (const ControlListener& socket : sockets_) {
    fds.push_back({socket.fd(), static_cast<short>(accepts ? POLLIN : 0), 0});
    ids.push_back(0);
  }
  for (const auto& host : hosts_) {
    if (host->leaving()) continue;
    fds.push_back({host->socket_fd(), static_cast<short>(full ? 0 : POLLIN), 0});
    ids.push_back(host->id());
    if (host->process_fd() < 0) continue;
    fds.push_back({host->process_fd(), POLLIN, 0});
    ids.push_back(host->id());
  }
  int64_t next = next_deadline_ns(), now = monotonic_ns();
  int wait = next == INT64_MAX ? -1 : static_cast<int>(std::clamp<int64_t>((next - now) / 1'000'000 + 1, 0, 60'000));
  if (::poll(fds.data(), fds.size(), wait) <= 0) return;
  take_events();
  std::vector<uint64_t> ready;
  for (size_t i = 1; i < fds.size(); ++i) {
    if (fds[i].revents == 0) continue;
    if (i <= sockets_.size()) {
      accept_from(sockets_[i - 1]);
      continue;
    }
    HostSession* host = find(ids[i]);
    if (host == nullptr || host->leaving()) continue;
    if (fds[i].fd == host->process_fd()) {
      remove_host(*host, {ControlCode::kClosed, "the process ended"});
    } else {
      ready.push_back(ids[i]);
    }
  }
  read_hosts(std::move(ready));
}

// `ready` ascends. Every second turn begins with the hosts that have made the least work so far, so that a newcomer
// does not wait behind the images of all others; the turns between go round, so that each host is reached.
void ControlServer::read_hosts(std::vector<uint64_t> ready) {
  bool by_work = (++turns_ & 1) != 0;
  if (by_work) {
    std::sort(ready.begin(), ready.end(),
              [this](uint64_t a, uint64_t b) { return std::pair(work_[a], a) < std::pair(work_[b], b); });
  } else {
    std::rotate(ready.begin(), std::lower_bound(ready.begin(), ready.end(), next_to_read_), ready.end());
  }
  uint64_t left = kWorkPerTurn;
  for (uint64_t id : ready) {
    uint64_t done = read_from(id, left);
    if (find(id) != nullptr) work_[id] += done;
    if (!by_work) next_to_read_ = id + 1;
    if (done >= left) return;
    left -= done;
  }
}

void ControlServer::accept_from(ControlListener& socket) {
  ControlError error;
  UniqueFd refused;
  std::optional<ControlSocket> accepted = socket.accept(0, &error, &refused);
  bool out_of_descriptors = error.code == ControlCode::kResourceExhausted;
  if (accepted && add_host(std::move(*accepted), &error)) return;
  disposal_.dispose(std::move(refused));
  if (out_of_descriptors) accept_again_ns_ = monotonic_ns() + kAcceptPauseNs;
  if (error.code != ControlCode::kWouldBlock) log::warn(g_refused_limit, "host_refused", {{"why", error.message}});
}

uint64_t ControlServer::read_from(uint64_t id, uint64_t most_work) {
  uint64_t work = 0;
  for (int i = 0; i < kMessagesPerTurn && work < most_work; ++i) {
    HostSession* host = find(id);
    if (host == nullptr || host->leaving()) return work;
    ControlError error;
    std::vector<UniqueFd> fds;
    std::optional<ControlMessage> message;
    bool taken = false;
    try {
      message = host->socket().receive(&fds, 0, &error);
      if (!message && error.code == ControlCode::kWouldBlock) return work;
      work += kLeastWork + (message ? host->work_of(*message) : 0);
      taken = message && host->take(*message, fds, &error);
    } catch (const std::bad_alloc&) {
      error = {ControlCode::kResourceExhausted, "no memory"};
    }
    disposal_.dispose(std::move(fds));
    if (taken) {
      if (host->wants_to_leave()) remove_host(*host, {ControlCode::kNone, "it detached"});
      continue;
    }
    if (error.code != ControlCode::kClosed) {
      host->socket().send_error(error, message ? control_type(*message) : ControlType::kHello);
    }
    // The host handles an address that cannot be opened; any other error ends the attachment.
    bool may_go_on =
        message && (error.code == ControlCode::kAddressInUse || error.code == ControlCode::kAddressInvalid);
    if (may_go_on) continue;
    remove_host(*host, error);
  }
  return work;
}

bool ControlServer::any_host() const {
  return std::any_of(hosts_.begin(), hosts_.end(), [](const auto& host) { return !host->leaving(); });
}

int64_t ControlServer::next_deadline_ns() const {
  int64_t next = accept_again_ns_ > monotonic_ns() ? accept_again_ns_ : INT64_MAX;
  for (const auto& host : hosts_) next = std::min(next, host->deadline_ns());
  if (options_.child && !any_host()) next = std::min(next, hostless_since_ns_ + options_.orphan_timeout_ns);
  // Engine threads drop their references without notice: look again later.
  if (shared_.totals.descriptors.waits()) next = std::min(next, monotonic_ns() + kDescriptorsNs);
  return next;
}

void ControlServer::check_deadlines(int64_t now_ns) {
  for (size_t i = 0; i < hosts_.size(); ++i) {
    HostSession& host = *hosts_[i];
    if (now_ns < host.deadline_ns()) continue;
    if (host.leaving()) {
      host.leave_again();
      continue;
    }
    size_t before = hosts_.size();
    remove_host(host, host.expire());
    if (hosts_.size() < before) --i;
  }
}

bool ControlServer::is_orphan(int64_t now_ns) {
  bool any = any_host();
  if (any) hostless_since_ns_ = now_ns;
  return options_.child && !any && now_ns - hostless_since_ns_ >= options_.orphan_timeout_ns;
}

// ---- hosts

bool ControlServer::add_host(ControlSocket socket, ControlError* error) {
  if (hosts_.size() >= options_.max_hosts) {
    *error = {ControlCode::kResourceExhausted, std::to_string(options_.max_hosts) + " hosts are attached already"};
    socket.send_error(*error, ControlType::kHello);
    disposal_.dispose(socket.release());
    return false;
  }
  hosts_.push_back(std::make_unique<HostSession>(next_host_++, std::move(socket), shared_));
  return true;
}

// A host that drains gets no new calls: what it served is free for its successor.
const HostAttachment* ControlServer::rival_of(const HostSession& host, std::string* what) const {
  const std::vector<uint32_t>& own = host.attachment()->listeners;
  for (const auto& other : hosts_) {
    bool serves = other->stage() == HostSession::Stage::kStarting || other->stage() == HostSession::Stage::kServing;
    if (other.get() == &host || !serves) continue;
    const HostAttachment& theirs = *other->attachment();
    for (const std::string& name : theirs.line_names) {
      if (!host.serves_lines(name)) continue;
      *what = "lines:" + name;
      return &theirs;
    }
    bool meet = std::any_of(own.begin(), own.end(), [&theirs](uint32_t listener) {
      return std::find(theirs.listeners.begin(), theirs.listeners.end(), listener) != theirs.listeners.end();
    });
    if (!meet) continue;
    for (const HostMethod& method : theirs.methods) {
      if (!host.has_method(method.path)) continue;
      *what = method.path;
      return &theirs;
    }
  }
  return nullptr;
}

// Hosts that serve one name take turns, in the order of their ids.
HostSession* ControlServer::server_of(const std::string& name) {
  HostSession* first = nullptr;
  for (const auto& host : hosts_) {
    if (host->stage() != HostSession::Stage::kServing || !host->serves_lines(name)) continue;
    if (first == nullptr || (first->id() <= last_server_ && host->id() > last_server_)) first = host.get();
  }
  if (first != nullptr) last_server_ = first->id();
  return first;
}

// A host that drains or leaves gets no new calls: its seat is free, and with it its keys.
uint32_t ControlServer::seat_of(const HostSession& host) const {
  std::vector<bool> taken(hosts_.size() + 1);
  for (const auto& other : hosts_) {
    const bool serves =
        other->stage() == HostSession::Stage::kStarting || other->stage() == HostSession::Stage::kServing;
    if (other.get() == &host || !serves || other->attachment()->name != host.attachment()->name) continue;
    if (other->attachment()->seat < taken.size()) taken[other->attachment()->seat] = true;
  }
  return static_cast<uint32_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
}

HostSession* ControlServer::find(uint64_t id) {
  for (const auto& host : hosts_) {
    if (host->id() == id) return host.get();
  }
  return nullptr;
}

// `host` may be gone when this returns.
void ControlServer::remove_host(HostSession& host, const ControlError& why) {
  if (host.leaving()) return;
  if (host.serves()) serving_.fetch_sub(1, std::memory_order_relaxed);
  bool others = std::any_of(hosts_.begin(), hosts_.end(),
                            [&host](const auto& other) { return other.get() != &host && !other->leaving(); });
  bool held = host.leave(why, others);
  // A host that died may come back. A host that detached in order will not, so its child need not wait for it.
  hostless_since_ns_ = monotonic_ns() - (host.in_order() ? options_.orphan_timeout_ns : 0);
  if (!held) forget(host.id());
}

// The last reference to the region goes here, so that no engine thread spends its time unmapping it.
void ControlServer::forget(uint64_t id) {
  auto at = std::find_if(hosts_.begin(), hosts_.end(), [id](const auto& host) { return host->id() == id; });
  if (at == hosts_.end()) return;
  std::unique_ptr<HostSession> host = std::move(*at);
  hosts_.erase(at);
  work_.erase(id);
  heap::want_trim();  // its images and methods may have been large
  if (host->attachment() == nullptr) return;
  if (host->in_order()) return listeners_.close_unused(host->attachment()->listeners);
  if (!host->attached()) listeners_.close_unused(host->opened());
}

// Whether a host that is there names the listener.
bool ControlServer::names(uint32_t listener) const {
  return std::any_of(hosts_.begin(), hosts_.end(), [listener](const auto& host) {
    if (host->attachment() == nullptr) return false;
    const auto& named = host->attachment()->listeners;
    return std::find(named.begin(), named.end(), listener) != named.end();
  });
}

}  // namespace drover::engine
