#include "engine/control/host_session.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "channel/secret_memory.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/secret_text.h"
#include "engine/net/socket_address.h"
#include "engine/tls/credentials.h"

namespace drover::engine {
namespace {

constexpr int64_t kLeaveAgainNs = 1'000'000'000;

log::Limit g_host_limit(50);
log::Limit g_log_limit(50);

// A descriptor that becomes readable when the process ends; empty if the kernel or the namespace provides none.
UniqueFd open_process(pid_t pid) {
  return pid > 0 ? UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) : UniqueFd();
}

bool refuse(ControlError* error, ControlCode code, std::string message) {
  *error = {code, std::move(message)};
  return false;
}

}  // namespace

HostSession::HostSession(uint64_t id, ControlSocket socket, Shared& shared)
    : id_(id),
      shared_(shared),
      socket_(std::move(socket)),
      process_(open_process(socket_.peer_pid())),
      registration_(shared.options, shared.totals, socket_.peer_uid()),
      deadline_ns_(monotonic_ns() + shared.options.handshake_timeout_ns) {}

HostSession::~HostSession() {
  shared_.disposal.dispose(socket_.release());
  shared_.regions.dispose(registration_.release());
}

bool HostSession::take(ControlMessage& message, std::vector<UniqueFd>& fds, ControlError* error) {
  bool hello = std::holds_alternative<Hello>(message), detach = std::holds_alternative<Detach>(message);
  bool drain = std::holds_alternative<Drain>(message);
  bool open = std::holds_alternative<OpenConnection>(message);
  bool registering = !hello && !detach && !drain && !open;
  bool in_time = detach || (hello && stage_ == Stage::kHello) || (registering && stage_ == Stage::kRegistering) ||
                 ((drain || open) && stage_ == Stage::kServing);
  if (!in_time) {
    return refuse(error, ControlCode::kUnexpectedMessage,
                  std::string(control_type_name(control_type(message))) + " at the wrong time");
  }
  if (auto* m = std::get_if<Hello>(&message)) return take_hello(*m, error);
  if (auto* m = std::get_if<RegisterImage>(&message)) return registration_.add_image(*m, fds[0].get(), error);
  if (auto* m = std::get_if<RegisterMethods>(&message)) return registration_.add_methods(*m, error);
  if (auto* m = std::get_if<RegisterDescriptors>(&message)) {
    return registration_.add_descriptors(*m, fds[0].get(), error);
  }
  if (auto* m = std::get_if<Listen>(&message)) return take_listen(*m, error);
  if (auto* m = std::get_if<ListenTls>(&message)) return take_listen_tls(*m, fds, error);
  if (auto* m = std::get_if<ServeLines>(&message)) return registration_.add_line_name(*m, error);
  if (auto* m = std::get_if<ServeChannelz>(&message)) return registration_.add_channelz(*m, error);
  if (auto* m = std::get_if<OpenConnection>(&message)) return take_open(*m, error);
  if (std::holds_alternative<Describe>(message)) {
    return send(describe()) || refuse(error, ControlCode::kClosed, "the host does not take its Description");
  }
  if (std::holds_alternative<LogTo>(message)) return take_log(fds[0].get(), error);
  if (std::holds_alternative<Start>(message)) return take_start(error);
  if (auto* m = std::get_if<Drain>(&message)) return take_drain(*m), true;
  if (detach) return in_order_ = wants_to_leave_ = true;
  return refuse(error, ControlCode::kUnexpectedMessage,
                std::string(control_type_name(control_type(message))) + " is not for hosts to send");
}

uint64_t HostSession::work_of(const ControlMessage& message) const {
  if (auto* image = std::get_if<RegisterImage>(&message)) return image->size;
  if (auto* descriptors = std::get_if<RegisterDescriptors>(&message)) {
    constexpr uint64_t kWorkPerByte = 8;  // of indexing, about
    return descriptors->size * kWorkPerByte;
  }
  if (std::holds_alternative<Listen>(message)) return registration_.path_bytes();
  if (auto* listen = std::get_if<ListenTls>(&message)) {
    constexpr uint64_t kWorkPerPemByte = 16;  // of parsing, about
    return registration_.path_bytes() + listen->size * kWorkPerPemByte;
  }
  return 0;
}

bool HostSession::take_hello(const Hello& hello, ControlError* error) {
  if (shared_.draining) return refuse(error, ControlCode::kShuttingDown, "the engine is going down");
  if (!registration_.greet(hello, id_, socket_.peer_pid(), shared_.threads.count(), error)) return false;
  stage_ = Stage::kRegistering;
  if (shared_.log_host == kNoHostYet) shared_.log_host = id_;
  if (send(make_welcome(), registration_.welcome_fds())) return true;
  return refuse(error, ControlCode::kClosed, "the host does not take its Welcome");
}

Welcome HostSession::make_welcome() const {
  const HostAttachment& attachment = *registration_.attachment();
  Welcome welcome;
  welcome.pid = static_cast<uint32_t>(::getpid());
  welcome.name = shared_.options.name;
  welcome.channel = attachment.layout->options();
  welcome.rx_size = attachment.region->rx_size();
  welcome.tx_size = attachment.region->tx_size();
  for (uint32_t thread = 0; thread < shared_.threads.count(); ++thread) {
    welcome.cpus.push_back(shared_.threads.cpu(thread));
  }
  return welcome;
}

bool HostSession::is_own_user() const { return socket_.peer_uid() == ::geteuid() || socket_.peer_uid() == 0; }

bool HostSession::takes_log() const {
  const bool free = shared_.log_host == 0 || shared_.log_host == id_;
  return shared_.options.child && free && shared_.options.description.log_file.empty() && is_own_user();
}

// Other users are not told what they could guess the configuration from.
Description HostSession::describe() const {
  const Description& all = shared_.options.description;
  Description told;
  told.version = all.version;
  told.started = all.started;
  if (is_own_user()) told = all;
  told.flags = (shared_.options.child ? kEngineIsChild : 0) | (takes_log() ? kEngineTakesLog : 0);
  return told;
}

// The log is stderr, which was that of a host that has gone. What a host gives is closed by disposal, as ever.
bool HostSession::take_log(int fd, ControlError* error) {
  if (!takes_log()) return refuse(error, ControlCode::kPermissionDenied, "LogTo: this engine's log stays where it is");
  const int access = ::fcntl(fd, F_GETFL);
  if (access < 0 || (access & O_ACCMODE) == O_RDONLY || (access & O_PATH) != 0) {
    return refuse(error, ControlCode::kBadDescriptor, "LogTo: the descriptor cannot be written");
  }
  const log::Fields fields = {{"to", "the stderr of that host"},
                              {"host", attachment()->name},
                              {"pid", attachment()->pid},
                              {"engine", ::getpid()}};
  log::info(g_log_limit, "log_goes", fields);
  std::vector<UniqueFd> old;
  for (int out : {STDERR_FILENO, STDOUT_FILENO}) {
    old.emplace_back(::fcntl(out, F_DUPFD_CLOEXEC, 0));
    if (::dup2(fd, out) < 0) return refuse(error, ControlCode::kSystem, std::string("LogTo: ") + std::strerror(errno));
  }
  shared_.disposal.dispose(std::move(old));
  shared_.log_host = id_;
  log::info(g_log_limit, "log_came", fields);
  return true;
}

bool HostSession::take_listen(const Listen& listen, ControlError* error) {
  if (listen.flags != 0) return refuse(error, ControlCode::kBadValue, "Listen.flags is not 0");
  ListenerRegistry::Security security;
  const tls::Identities* identities = shared_.options.identities;
  const std::string_view configured = identities != nullptr ? identities->for_address(listen.address) : "";
  if (!configured.empty()) security = {"identity " + std::string(configured), identities->find(configured), nullptr};
  return listen_at(listen.address, security, error);
}

bool HostSession::take_listen_tls(const ListenTls& listen, std::vector<UniqueFd>& fds, ControlError* error) {
  const tls::Identities* identities = shared_.options.identities;
  const std::string_view configured = identities != nullptr ? identities->for_address(listen.address) : "";
  if (!configured.empty() && configured != listen.identity) {
    return refuse(error, ControlCode::kPermissionDenied,
                  printable_address(listen.address) + " has the identity " + std::string(configured) +
                      " by the configuration (tls.listen)");
  }
  ListenerRegistry::Security security;
  if (!listen.identity.empty()) {
    security = {"identity " + listen.identity, identities != nullptr ? identities->find(listen.identity) : nullptr,
                nullptr};
    if (security.server != nullptr) return listen_at(listen.address, security, error);
    return refuse(error, ControlCode::kBadValue,
                  printable_address(listen.address) + ": the engine's configuration has no identity '" +
                      listen.identity + "' (tls.identities)");
  }
  static_assert(kMaxCredentialBytes == tls::kMaxPems && kMaxCredentialPairs == tls::kMaxPairs);
  std::optional<std::string> text = read_secret(fds[0].get(), listen.size, kMaxCredentialBytes, error);
  if (!text) return false;
  const WipedAtEnd wiped(*text);
  tls::Credentials credentials;
  credentials.clients = static_cast<tls::ClientCertificates>(listen.clients);
  if (!tls::split_credentials(*text, listen.pairs, &credentials))
    return refuse(error, ControlCode::kBadValue, "ListenTls: its PEM texts are not as many as it says");
  std::string why;
  const tls::Version least = identities != nullptr ? identities->least() : tls::Version::k12;
  security.context = tls::Context::make(credentials, least, &why);
  if (security.context == nullptr) {
    return refuse(error, ControlCode::kBadValue, printable_address(listen.address) + ": TLS credentials: " + why);
  }
  const std::string fingerprint = tls::fingerprint(credentials);
  if (fingerprint.empty()) return refuse(error, ControlCode::kSystem, "no memory to compare credentials");
  security.name = "pem " + fingerprint;
  return listen_at(listen.address, security, error);
}

bool HostSession::listen_at(const std::string& address, const ListenerRegistry::Security& security,
                            ControlError* error) {
  HostAttachment& attachment = *registration_.attachment();
  if (!registration_.check_address(address, error)) return false;
  std::vector<ExpectedMethod> methods;
  for (const HostMethod& method : attachment.methods) methods.push_back({method.path, method.flags});
  ListenerRegistry::Listener listener;
  if (!shared_.listeners.open(address, socket_.peer_uid(), methods, security, &listener, error)) return false;
  if (listener.opened) opened_.push_back(listener.id);
  auto& own = attachment.listeners;
  if (std::find(own.begin(), own.end(), listener.id) == own.end()) own.push_back(listener.id);
  if (send(Listening{address, listener.port})) return true;
  return refuse(error, ControlCode::kClosed, "the host does not take its answers");
}

bool HostSession::take_start(ControlError* error) {
  std::string what;
  const HostAttachment* rival = shared_.rival ? shared_.rival(*this, &what) : nullptr;
  if (rival != nullptr) {
    return refuse(error, ControlCode::kPermissionDenied,
                  what + " is served by " + rival->name + " (host " + std::to_string(rival->id) +
                      ") already, for an address of this host or by name, and belongs to it until it leaves "
                      "(hosts.sharing=first-come)");
  }
  if (!registration_.finish(shared_.seat_of ? shared_.seat_of(*this) : 0, error)) return false;
  stage_ = Stage::kStarting;
  attached_ = true;
  threads_to_answer_ = shared_.threads.count();
  std::shared_ptr<const HostAttachment> attachment = registration_.attachment();
  shared_.threads.post_all([attachment](Dispatcher& dispatcher) { dispatcher.attach(attachment); });
  return true;
}

// The engine threads and the server's workers take turns. Hosts here come before other engines.
bool HostSession::take_open(const OpenConnection& open, ControlError* error) {
  if (open.worker >= attachment()->layout->options().workers) {
    return refuse(error, ControlCode::kBadValue,
                  "OpenConnection: the host has no worker " + std::to_string(open.worker));
  }
  HostSession* server = shared_.server_of ? shared_.server_of(open.name) : nullptr;
  std::optional<UdpAddress> remote;
  if (server == nullptr) remote = shared_.line_peers.next(open.name);
  const bool served = server != nullptr || remote.has_value();
  if (!served || opening_ >= kMostOpening) {
    ConnectionOpened answer{open.request, ControlCode::kNotServed, 0, "no host serves " + open.name};
    if (served) {
      answer.code = ControlCode::kResourceExhausted;
      answer.text = std::to_string(kMostOpening) + " connections are being opened already";
    }
    if (send(answer)) return true;
    return refuse(error, ControlCode::kClosed, "the host does not take its answers");
  }
  const uint32_t thread = static_cast<uint32_t>(shared_.connections++ % shared_.threads.count());
  LineRequest request{.client = id_, .client_worker = open.worker, .request = open.request, .remote = remote};
  if (server != nullptr) {
    request.server = server->id_;
    request.server_worker =
        static_cast<uint32_t>(server->connections_++ % server->attachment()->layout->options().workers);
  } else {
    request.name = open.name;
  }
  ++opening_;
  shared_.threads.post(thread, [request](Dispatcher& dispatcher) { dispatcher.connect(request); });
  return true;
}

void HostSession::connection_opened(uint32_t, const HostEvents::Opened& opened) {
  if (leaving()) return;
  --opening_;
  send(ConnectionOpened{opened.request, opened.code, opened.connection, opened.why});
}

void HostSession::take_drain(const Drain& drain) {
  constexpr uint64_t kMostMs = 24ull * 3600 * 1000;
  stage_ = Stage::kDraining;
  threads_to_answer_ = shared_.threads.count();
  deadline_ns_ = monotonic_ns() + static_cast<int64_t>(std::min(drain.grace_ms, kMostMs)) * 1'000'000;
  in_order_ = true;
  log::info(g_host_limit, "host_draining", {{"host", attachment()->name}, {"id", id_}, {"grace_ms", drain.grace_ms}});
  send(Draining{drain.grace_ms});
  shared_.threads.post_all([id = id_](Dispatcher& dispatcher) { dispatcher.drain(id); });
}

bool HostSession::thread_attached() {
  if (stage_ != Stage::kStarting || --threads_to_answer_ != 0) return false;
  stage_ = Stage::kServing;
  deadline_ns_ = INT64_MAX;
  log::info(g_host_limit, "host_serving",
            {{"host", attachment()->name},
             {"id", id_},
             {"pid", attachment()->pid},
             {"methods", attachment()->methods.size()}});
  send(Started{});
  if (shared_.draining) send(Draining{0});
  return true;
}

void HostSession::thread_drained(uint64_t calls_ended) {
  calls_ended_ += calls_ended;
  if (stage_ != Stage::kDraining || --threads_to_answer_ != 0) return;
  send(HostStatus{HostStatus::State::kDrained, 0, calls_ended_});
}

ControlError HostSession::expire() {
  deadline_ns_ = INT64_MAX;
  if (stage_ == Stage::kDraining) {
    send(HostStatus{HostStatus::State::kDetached, 0, calls_ended_});
    return {ControlCode::kTimeout, "its calls did not end in the grace that it gave them"};
  }
  ControlError why{ControlCode::kTimeout, stage_ == Stage::kServing ? "it does not read its control socket"
                                                                    : "it did not start serving in time"};
  socket_.send_error(why, ControlType::kStart);
  return why;
}

bool HostSession::send(const ControlMessage& message, std::span<const int> fds) {
  ControlError error;
  if (socket_.send(message, fds, 0, &error)) return true;
  // The host does not read, or has ended: a hang-up, its process or the deadline will end the session.
  if (error.code == ControlCode::kWouldBlock) deadline_ns_ = monotonic_ns();
  return false;
}

bool HostSession::leave(const ControlError& why, bool others) {
  if (wants_to_leave_ && others) send(HostStatus{HostStatus::State::kEngineStays, 0, calls_ended_});
  if (!in_order_ && why.code != ControlCode::kClosed) socket_.send_error(why, ControlType::kStart);
  if (const HostAttachment* host = attachment()) {
    log::write(g_host_limit, in_order_ ? log::Level::kInfo : log::Level::kWarn, in_order_ ? "host_left" : "host_lost",
               {{"host", host->name},
                {"id", id_},
                {"pid", host->pid},
                {"why", control_code_name(why.code)},
                {"what", why.message}});
  }
  if (shared_.log_host == id_) shared_.log_host = 0;
  stage_ = Stage::kLeaving;
  deadline_ns_ = INT64_MAX;
  // Not here: with packets unread, its close closes the descriptors that came with them.
  ::shutdown(socket_.fd(), SHUT_RDWR);
  shared_.disposal.dispose(socket_.release());
  process_.reset();
  if (!attached_) return false;
  leave_again();
  return true;
}

void HostSession::leave_again() {
  deadline_ns_ = monotonic_ns() + kLeaveAgainNs;
  shared_.threads.post_all([id = id_](Dispatcher& dispatcher) { dispatcher.detach(id); });
}

bool HostSession::thread_let_go(uint32_t thread) {
  static_assert(kMaxEngineThreads <= 64);
  if (stage_ != Stage::kLeaving) return false;
  let_go_ |= uint64_t{1} << thread;
  return std::popcount(let_go_) == static_cast<int>(shared_.threads.count());
}

}  // namespace drover::engine
