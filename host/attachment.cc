#include "host/attachment.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "channel/secret_memory.h"
#include "host/engine_facts.h"
#include "host/listen_address.h"
#include "host/log.h"
#include "host/start_lock.h"
#include "schema/image.h"

namespace drover::host {
namespace {

constexpr int kAnswerMs = 10'000;  // how long an engine may take for one answer
constexpr int kConnectMs = 1'000;
constexpr int kPortMs = 2'000;  // how long an engine that was killed may still hold our port
constexpr int kRetryMs = 5;
constexpr int kMostMessages = 16;   // that may come before an answer
constexpr int kHangUpMs = 2'000;    // how long our child may take to hang up when we detach
constexpr int kChildEndMs = 5'000;  // and then to end, if we were its last host and no other comes

std::string program_name() { return program_invocation_short_name == nullptr ? "host" : program_invocation_short_name; }

void set(AttachError* error, ControlCode code, std::string message) {
  error->code = code;
  error->message = std::move(message);
}

void set(AttachError* error, const ControlError& what) { set(error, what.code, what.message); }

// Connects to an engine that has published this socket, and so was listening already. One that refuses is dead, and is
// left at once; only one whose backlog is full is asked again.
std::optional<ControlSocket> connect_to_listening(const std::string& path) {
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kConnectMs);
  for (;;) {
    ControlError why;
    auto socket = ControlSocket::connect("unix:" + path, 0, &why);
    if (socket || why.code != ControlCode::kWouldBlock || std::chrono::steady_clock::now() > end) return socket;
    std::this_thread::sleep_for(std::chrono::milliseconds(kRetryMs));
  }
}

// A living engine that an earlier process of this user told to listen on one of our addresses, or attached to with one
// of our names. `died`: one did, and is dead.
std::optional<ControlSocket> connect_to_earlier_engine(const std::string& directory, const Offer& offer, bool* died) {
  std::vector<std::string> links;
  for (const std::string& address : offer.addresses) {
    std::string host, port;
    if (!split_port(address, &host, &port) || port != "0") links.push_back(address_link(directory, address));
  }
  for (const std::string& name : offer.engine_names) links.push_back(address_link(directory, "lines:" + name));
  for (const std::string& link : links) {
    std::string target = link_target(link);
    if (target.empty()) continue;
    if (auto socket = connect_to_listening(target)) return socket;
    *died = true;
    withdraw_link(link, target);
  }
  return std::nullopt;
}

// Connects to an engine that may not listen yet. Gives up when `child` has ended, when waiting cannot help, when
// `give_up` says so, or after `wait_ns`. `child` is null for an engine that DROVER_ENGINE names: the log then says at
// once what is waited for.
std::optional<ControlSocket> wait_for_engine(const std::string& address, int64_t wait_ns, EngineProcess* child,
                                             const std::function<bool()>& give_up, AttachError* error) {
  auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(wait_ns);
  ControlError why;
  auto socket = ControlSocket::connect(address, 0, &why);
  bool can_come = why.code != ControlCode::kPermissionDenied && why.code != ControlCode::kAddressInvalid;
  if (!socket && can_come && child == nullptr) {
    log(LogLevel::kWarning,
        "DROVER_ENGINE: %s; waiting up to %.3g s for it. Start one there (droverd --engine.control_socket=%s), or "
        "unset "
        "DROVER_ENGINE to let this process start its own",
        why.message.c_str(), static_cast<double>(wait_ns) / 1e9, address.c_str());
  }
  while (!socket) {
    std::string how;
    if (child != nullptr && !child->alive(&how)) {
      set(error, ControlCode::kInternal, "the engine ended before it could be attached to (" + how + ")");
      return std::nullopt;
    }
    can_come = why.code != ControlCode::kPermissionDenied && why.code != ControlCode::kAddressInvalid;
    if (!can_come || give_up() || std::chrono::steady_clock::now() > end) {
      set(error, why.code, "cannot attach to the engine at " + address + ": " + why.message);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kRetryMs));
    socket = ControlSocket::connect(address, 0, &why);
  }
  return socket;
}

}  // namespace

SpinPolicy::Options worker_spin(const HostOptions& options, const std::vector<int32_t>& engine_cpus) {
  SpinPolicy::Options spin;
  spin.max_ns = options.spin_ns;
  std::vector<int> peer;
  for (int32_t cpu : engine_cpus) {
    if (cpu < 0) {
      peer = options.engine_cpus;  // empty if it may run anywhere
      break;
    }
    peer.push_back(cpu);
  }
  return SpinPolicy::for_cpus(options.host_cpus, peer, spin);
}

std::unique_ptr<Attachment> Attachment::open(const Offer& offer, std::vector<uint32_t>* ports, AttachError* error,
                                             const std::function<bool()>& give_up) {
  const std::string& service = offer.options.engine;
  if (!service.empty()) {
    auto socket = wait_for_engine(service, offer.options.engine_wait_ns, nullptr, give_up, error);
    return socket ? over(std::move(*socket), offer, ports, error, 0, Whose::kService) : nullptr;
  }
  std::string message;
  std::string directory = control_directory(&message);
  if (directory.empty()) return set(error, ControlCode::kSystem, message), nullptr;

  const StartLock lock(directory, offer.options.engine_wait_ns, give_up);
  std::unique_ptr<Attachment> attachment;
  bool died = false;
  if (auto earlier = connect_to_earlier_engine(directory, offer, &died)) {
    attachment = over(std::move(*earlier), offer, ports, error, 0, Whose::kEarlier);
    died = died || (!attachment && error->code == ControlCode::kClosed);
  }
  if (!attachment) {
    sweep_control_directory(directory);
    std::string path = new_control_path(directory);
    auto child = EngineProcess::start(offer.options, path, &message);
    if (!child) return set(error, ControlCode::kSystem, message), nullptr;
    auto socket = wait_for_engine("unix:" + path, offer.options.engine_wait_ns, &*child, give_up, error);
    if (!socket) return nullptr;
    attachment = over(std::move(*socket), offer, ports, error, died ? kPortMs : 0);
    if (!attachment) return nullptr;
    attachment->child_ = std::move(*child);
    attachment->control_path_ = path;
    for (size_t i = 0; i < offer.addresses.size(); ++i) {
      std::string address = offer.addresses[i], host, port;
      if (split_port(address, &host, &port)) address = host + ":" + std::to_string((*ports)[i]);
      attachment->links_.push_back(address_link(directory, address));
    }
    for (const std::string& name : offer.engine_names) {
      attachment->links_.push_back(address_link(directory, "lines:" + name));
    }
    for (const std::string& link : attachment->links_) {
      if (publish_link(link, path)) continue;
      log(LogLevel::kWarning, "no link in %s: other or restarted hosts will not find this engine", directory.c_str());
    }
  }
  return attachment;
}

std::unique_ptr<Attachment> Attachment::over(ControlSocket socket, const Offer& offer, std::vector<uint32_t>* ports,
                                             AttachError* error, int port_wait_ms, Whose whose) {
  std::unique_ptr<Attachment> attachment(new Attachment());
  attachment->socket_ = std::move(socket);
  if (!attachment->greet(offer, error) || !attachment->tell_of_engine(offer, whose, error) ||
      !attachment->register_methods(offer, error) || !attachment->register_descriptors(offer, error) ||
      !attachment->serve_channelz(offer, error) || !attachment->serve_lines(offer, error) ||
      !attachment->listen(offer, port_wait_ms, ports, error) || !attachment->start(error)) {
    return nullptr;
  }
  return attachment;
}

// What was said could not be sent: an engine that has hung up may have said why before.
bool Attachment::refused(const ControlError& why, AttachError* error) {
  set(error, why);
  ControlError ignored;
  std::vector<UniqueFd> fds;
  auto message = socket_.receive(&fds, 0, &ignored);
  if (auto* refusal = message ? std::get_if<Error>(&*message) : nullptr) set(error, refusal->code, refusal->text);
  return false;
}

template <typename Answer>
std::optional<Answer> Attachment::ask(const ControlMessage* question, std::vector<UniqueFd>* fds, AttachError* error) {
  ControlError why;
  if (question != nullptr && !socket_.send(*question, kAnswerMs, &why)) return refused(why, error), std::nullopt;
  std::vector<UniqueFd> received;
  for (int i = 0;; ++i) {
    if (i == kMostMessages)
      return set(error, ControlCode::kUnexpectedMessage, "the engine does not answer"), std::nullopt;
    auto message = socket_.receive(&received, kAnswerMs, &why);
    if (!message) return set(error, why), std::nullopt;
    if (auto* answer = std::get_if<Answer>(&*message)) {
      if (fds != nullptr) *fds = std::move(received);
      return std::move(*answer);
    }
    if (auto* refusal = std::get_if<Error>(&*message)) return set(error, refusal->code, refusal->text), std::nullopt;
    if (std::holds_alternative<HostStatus>(*message)) continue;
    set(error, ControlCode::kUnexpectedMessage,
        std::string("the engine answered with ") + control_type_name(control_type(*message)));
    return std::nullopt;
  }
}

bool Attachment::greet(const Offer& offer, AttachError* error) {
  Hello hello;
  hello.pid = static_cast<uint32_t>(::getpid());
  hello.name = offer.options.name.empty() ? program_name() : offer.options.name;
  const std::vector<int>& cpus = offer.options.host_cpus;
  hello.ring_slots = offer.ring_slots;
  hello.rx_bytes = offer.rx_bytes;
  hello.tx_bytes = offer.tx_bytes;
  hello.cpus.assign(offer.options.workers, cpus.size() == 1 ? cpus[0] : -1);
  ControlMessage question = hello;
  std::vector<UniqueFd> fds;
  auto welcome = ask<Welcome>(&question, &fds, error);
  if (!welcome) return false;
  if (fds.size() != 2 + welcome->channel.engine_threads || welcome->channel.workers != offer.options.workers) {
    return set(error, ControlCode::kBadValue, "the engine's Welcome does not fit our Hello"), false;
  }
  engine_pid_ = welcome->pid;
  RegionError region_error;
  auto region = Region::attach(std::move(fds[0]), std::move(fds[1]), &region_error);
  if (!region) return set(error, ControlCode::kBadDescriptor, region_error.message), false;
  std::string layout_error;
  auto layout = RegionLayout::read(*region, &layout_error);
  if (!layout) return set(error, ControlCode::kBadValue, layout_error), false;
  if (!(layout->options() == welcome->channel)) {
    return set(error, ControlCode::kBadValue, "the engine's Welcome and its region differ"), false;
  }
  fds.erase(fds.begin(), fds.begin() + 2);
  link_ = std::make_shared<EngineLink>(std::move(*region), *layout, std::move(fds), &offer.methods,
                                       worker_spin(offer.options, welcome->cpus));
  link_->reply_memory_wait_ns = offer.options.reply_memory_wait_ns;
  link_->check_requests = offer.options.check_requests;
  link_->load_reports = offer.load_reports;
  link_->compression = offer.compression;
  link_->interceptors = offer.interceptors;
  return true;
}

// Of an engine that we did not start: what it runs on, and, if it writes its log to the stderr of a process of ours
// that may be gone, another place for it.
bool Attachment::tell_of_engine(const Offer& offer, Whose whose, AttachError* error) {
  if (whose == Whose::kOurs) return true;
  const ControlMessage question = Describe{};
  auto engine = ask<Description>(&question, nullptr, error);
  if (!engine) return false;
  std::optional<EngineFingerprint> own;
  if (std::string why; whose == Whose::kEarlier && !(own = own_fingerprint(offer.options, &why))) {
    log(LogLevel::kWarning, "whether the engine is the one that this process would start is not known: %s",
        why.c_str());
  }
  bool differs = false;
  const std::string line = describe_engine(*engine, engine_pid_, own ? &*own : nullptr, &differs);
  log(differs ? LogLevel::kWarning : LogLevel::kInfo, "attached to an engine that was there already: %s", line.c_str());
  if ((engine->flags & kEngineTakesLog) == 0 || ::fcntl(STDERR_FILENO, F_GETFD) < 0) return true;
  ControlError why;
  const int fd = STDERR_FILENO;
  return socket_.send(LogTo{0}, std::span<const int>(&fd, 1), kAnswerMs, &why) || refused(why, error);
}

// Each .proto file has an image of its own, sent once; a method's messages may stand in different ones.
bool Attachment::register_methods(const Offer& offer, AttachError* error) {
  std::vector<const unsigned char*> sent;
  std::vector<RegisterMethods::Method> records;
  ControlError why;
  auto send_image = [&](const schema::Image& image) -> int64_t {
    auto at = std::find(sent.begin(), sent.end(), image.data());
    if (at != sent.end()) return at - sent.begin();
    UniqueFd fd = make_image_fd(std::string_view(reinterpret_cast<const char*>(image.data()), image.size()), &why);
    int raw = fd.get();
    if (!fd || !socket_.send(RegisterImage{image.size()}, std::span<const int>(&raw, 1), kAnswerMs, &why)) return -1;
    sent.push_back(image.data());
    return static_cast<int64_t>(sent.size() - 1);
  };
  for (const grpc::internal::Method& method : offer.methods) {
    schema::MessageType request = method.request_type(), reply = method.reply_type();
    int64_t request_image = send_image(*request.image);
    int64_t reply_image = request_image < 0 ? -1 : send_image(*reply.image);
    if (reply_image < 0) return refused(why, error);
    records.push_back({method.path, static_cast<uint32_t>(request_image), request.index,
                       static_cast<uint32_t>(reply_image), reply.index,
                       (method.request_streams ? kMethodRequestStreams : 0) |
                           (method.reply_streams ? kMethodReplyStreams : 0) | (method.raw ? kMethodRaw : 0) |
                           (method.any ? kMethodAny : 0) | offer.method_flags});
  }
  for (RegisterMethods& packet : split_methods(records)) {
    if (!socket_.send(std::move(packet), kAnswerMs, &why)) return refused(why, error);
  }
  return true;
}

bool Attachment::register_descriptors(const Offer& offer, AttachError* error) {
  if (offer.descriptors.empty()) return true;
  if (offer.descriptors.size() > kMaxDescriptorBytes) {
    log(LogLevel::kWarning,
        "no server reflection: the services' descriptors have %zu bytes, and an engine takes %zu at most",
        offer.descriptors.size(), static_cast<size_t>(kMaxDescriptorBytes));
    return true;
  }
  ControlError why;
  const UniqueFd fd = make_image_fd(offer.descriptors, &why);
  const int raw = fd.get();
  const RegisterDescriptors message{offer.descriptors.size()};
  return (fd && socket_.send(message, std::span<const int>(&raw, 1), kAnswerMs, &why)) || refused(why, error);
}

bool Attachment::serve_channelz(const Offer& offer, AttachError* error) {
  ControlError why;
  return !offer.channelz || socket_.send(ServeChannelz{}, kAnswerMs, &why) || refused(why, error);
}

bool Attachment::serve_lines(const Offer& offer, AttachError* error) {
  ControlError why;
  for (const std::string& name : offer.line_names) {
    if (!socket_.send(ServeLines{name, 0}, kAnswerMs, &why)) return refused(why, error);
  }
  return true;
}

// The PEM texts go in memory that is overwritten once the engine has answered.
std::optional<Listening> Attachment::listen_at(const std::string& address, const TlsOffer* tls, AttachError* error) {
  if (tls == nullptr || !tls->identity.empty()) {
    ControlMessage question = Listen{address, 0};
    if (tls != nullptr) question = ListenTls{address, tls->identity, tls->clients, 0, 0};
    return ask<Listening>(&question, nullptr, error);
  }
  ControlError why;
  std::optional<SecretMemory> secret = SecretMemory::make(tls->pems, &why);
  if (!secret) return set(error, why), std::nullopt;
  const ControlMessage question = ListenTls{address, "", tls->clients, tls->pairs, secret->size()};
  const int fd = secret->fd();
  if (!socket_.send(question, std::span<const int>(&fd, 1), kAnswerMs, &why)) return refused(why, error), std::nullopt;
  return ask<Listening>(nullptr, nullptr, error);
}

bool Attachment::listen(const Offer& offer, int port_wait_ms, std::vector<uint32_t>* ports, AttachError* error) {
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(port_wait_ms);
  ports->clear();
  for (size_t i = 0; i < offer.addresses.size(); ++i) {
    const std::string& address = offer.addresses[i];
    const TlsOffer* tls = i < offer.tls.size() ? offer.tls[i].get() : nullptr;
    auto answer = listen_at(address, tls, error);
    while (!answer && error->code == ControlCode::kAddressInUse && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kRetryMs));
      answer = listen_at(address, tls, error);
    }
    if (!answer) return false;
    ports->push_back(answer->port);
  }
  return true;
}

bool Attachment::start(AttachError* error) {
  ControlMessage question = Start{};
  return ask<Started>(&question, nullptr, error).has_value();
}

// A working engine hangs up on Detach at once; one that has other hosts says so before.
Attachment::Parting Attachment::detach() {
  ControlError error;
  if (!socket_) return Parting::kNoAnswer;
  socket_.send(Detach{}, 0, &error);
  Parting parting = Parting::kLastHost;
  if (child_.pid() <= 0) return parting;
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kHangUpMs);
  std::vector<UniqueFd> fds;
  while (std::chrono::steady_clock::now() < end) {
    auto message = socket_.receive(&fds, kHangUpMs, &error);
    if (!message) return error.code == ControlCode::kClosed ? parting : Parting::kNoAnswer;
    auto* status = std::get_if<HostStatus>(&*message);
    if (status != nullptr && status->state == HostStatus::State::kEngineStays) parting = Parting::kOthersStay;
  }
  return Parting::kNoAnswer;
}

// Our child ends by itself once its last host has left. Others may have found it by its address links: as long as it
// works it is not ours to end, and the links stay, since it still listens there.
Attachment::~Attachment() {
  Parting parting = detach();
  socket_.close();
  if (child_.pid() <= 0) return;
  if (parting == Parting::kOthersStay || (parting == Parting::kLastHost && !child_.ends_within(kChildEndMs))) {
    log(LogLevel::kInfo, "engine process %d serves other hosts, and is left to them", static_cast<int>(child_.pid()));
    child_.leave();
    return;
  }
  child_.end(0);
  for (const std::string& link : links_) withdraw_link(link, control_path_);
}

}  // namespace drover::host
