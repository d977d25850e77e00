// What a host may say on the control socket, by stage. Every value is taken as hostile; a refusal names the value.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "channel/doorbell.h"
#include "engine/base/log.h"
#include "engine/control/control_server.h"

namespace drover::engine {
namespace {

bool refuse(ControlError* error, ControlCode code, std::string message) {
  *error = {code, std::move(message)};
  return false;
}

// "/package.Service/Method": what HTTP/2's :path may hold, with exactly two slashes.
bool well_formed_path(const std::string& path) {
  size_t second = path.find('/', 1);
  if (path.size() < 4 || path[0] != '/' || second == std::string::npos || second == 1) return false;
  if (second + 1 == path.size() || path.find('/', second + 1) != std::string::npos) return false;
  return std::all_of(path.begin(), path.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

// A host's name as logs and metrics can carry it.
std::string printable(std::string name) {
  if (name.size() > 64) name.resize(64);
  for (char& c : name) {
    if (c < 0x20 || c > 0x7e || c == '"' || c == '\\') c = '?';
  }
  return name.empty() ? "unnamed" : name;
}

bool has_port_zero(const std::string& address) {
  return address.size() >= 2 && address.compare(address.size() - 2, 2, ":0") == 0;
}

}  // namespace

bool ControlServer::take_message(Host& host, ControlMessage& message, std::vector<UniqueFd>& fds, ControlError* error) {
  bool hello = std::holds_alternative<Hello>(message), detach = std::holds_alternative<Detach>(message);
  bool drain = std::holds_alternative<Drain>(message);
  bool registering = !hello && !detach && !drain;
  bool in_time = detach || (hello && host.stage == Stage::kHello) ||
                 (registering && host.stage == Stage::kRegistering) || (drain && host.stage == Stage::kServing);
  if (!in_time) {
    return refuse(error, ControlCode::kUnexpectedMessage,
                  std::string(control_type_name(control_type(message))) + " at the wrong time");
  }
  if (auto* m = std::get_if<Hello>(&message)) return take_hello(host, *m, error);
  if (auto* m = std::get_if<RegisterImage>(&message)) return take_image(host, *m, fds[0].get(), error);
  if (auto* m = std::get_if<RegisterMethods>(&message)) return take_methods(host, *m, error);
  if (auto* m = std::get_if<Listen>(&message)) return take_listen(host, *m, error);
  if (std::holds_alternative<Start>(message)) return take_start(host, error);
  if (auto* m = std::get_if<Drain>(&message)) return take_drain(host, *m, error);
  if (detach) {
    host.in_order = true;
    remove_host(host, {ControlCode::kNone, "it detached"});
    return true;
  }
  return refuse(error, ControlCode::kUnexpectedMessage,
                std::string(control_type_name(control_type(message))) + " is not for hosts to send");
}

bool ControlServer::take_hello(Host& host, const Hello& hello, ControlError* error) {
  if (draining_) return refuse(error, ControlCode::kShuttingDown, "the engine is going down");
  if (hello.flags != 0) return refuse(error, ControlCode::kBadValue, "Hello.flags is not 0");
  ChannelOptions channel;
  channel.engine_threads = threads_.count();
  channel.workers = static_cast<uint32_t>(hello.cpus.size());
  channel.ring_slots = hello.ring_slots != 0 ? hello.ring_slots : options_.ring_slots;
  channel.rx_bytes = hello.rx_bytes != 0 ? hello.rx_bytes : options_.rx_bytes;
  channel.tx_bytes = hello.tx_bytes != 0 ? hello.tx_bytes : options_.tx_bytes;
  std::string why;
  auto attachment = std::make_shared<HostAttachment>();
  attachment->layout = RegionLayout::compute(channel, &why);
  if (!attachment->layout) return refuse(error, ControlCode::kBadValue, "Hello: " + why);
  RegionSizes sizes = attachment->layout->sizes();
  if (sizes.rx > options_.max_region_bytes || sizes.tx > options_.max_region_bytes - sizes.rx) {
    return refuse(error, ControlCode::kResourceExhausted,
                  "Hello: a region of " + std::to_string(sizes.rx + sizes.tx) + " bytes; at most " +
                      std::to_string(options_.max_region_bytes) + " are allowed");
  }
  RegionError region_error;
  attachment->region = Region::create(sizes, &region_error);
  if (!attachment->region) return refuse(error, ControlCode::kResourceExhausted, region_error.message);
  attachment->layout->write(*attachment->region);
  attachment->id = host.id;
  attachment->name = printable(hello.name);
  attachment->pid = host.socket.peer_pid();
  std::vector<int> fds{attachment->region->rx_fd(), attachment->region->tx_fd()};
  for (uint32_t thread = 0; thread < threads_.count(); ++thread) {
    UniqueFd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!bell) return refuse(error, ControlCode::kResourceExhausted, std::string("eventfd: ") + std::strerror(errno));
    fds.push_back(bell.get());
    attachment->bells.push_back(std::move(bell));
  }
  host.attachment = std::move(attachment);
  host.stage = Stage::kRegistering;
  if (!send(host, make_welcome(*host.attachment), fds)) {
    return refuse(error, ControlCode::kClosed, "the host does not take its Welcome");
  }
  return true;
}

Welcome ControlServer::make_welcome(const HostAttachment& attachment) const {
  Welcome welcome;
  welcome.pid = static_cast<uint32_t>(::getpid());
  welcome.name = options_.name;
  welcome.channel = attachment.layout->options();
  welcome.rx_size = attachment.region->rx_size();
  welcome.tx_size = attachment.region->tx_size();
  for (uint32_t thread = 0; thread < threads_.count(); ++thread) welcome.cpus.push_back(threads_.cpu(thread));
  return welcome;
}

bool ControlServer::take_image(Host& host, const RegisterImage& image, int fd, ControlError* error) {
  auto& images = host.attachment->images;
  if (images.size() >= kMaxImages) return refuse(error, ControlCode::kResourceExhausted, "too many schema images");
  if (image.size > options_.max_image_bytes - host.image_bytes) {
    return refuse(error, ControlCode::kResourceExhausted,
                  "more than " + std::to_string(options_.max_image_bytes) + " bytes of schema images");
  }
  std::optional<std::string> bytes = read_image_fd(fd, image.size, error);
  if (!bytes) return false;
  schema::OwnedImage owned;
  schema::LoadResult loaded = schema::OwnedImage::load(*bytes, &owned);
  if (!loaded.ok()) {
    return refuse(error, ControlCode::kBadImage,
                  "image " + std::to_string(images.size()) + ": " + schema::load_message(loaded));
  }
  host.image_bytes += image.size;
  images.push_back(std::move(owned));
  return true;
}

bool ControlServer::check_method(const Host& host, const RegisterMethods::Method& method, ControlError* error) const {
  if (!well_formed_path(method.path)) {
    return refuse(error, ControlCode::kBadMethod, "a method's path is not of the form /package.Service/Method");
  }
  auto bad = [&](const char* what, uint64_t value) {
    return refuse(error, ControlCode::kBadMethod, method.path + ": " + what + " " + std::to_string(value));
  };
  if (method.flags != 0) return bad("unknown flags", method.flags);
  if (host.paths.contains(method.path)) return bad("registered twice, as method", host.paths.size());
  if (host.paths.size() >= kMaxMethods) return bad("too many methods, at most", kMaxMethods);
  if (host.path_bytes + method.path.size() > options_.max_path_bytes) {
    return bad("paths too long together, at most bytes", options_.max_path_bytes);
  }
  const auto& images = host.attachment->images;
  auto has_message = [&](const char* wrong, uint32_t image, uint32_t message) {
    if (image >= images.size()) return bad("no such image:", image);
    return message < images[image].image().message_count() || bad(wrong, message);
  };
  return has_message("no such request message:", method.request_image, method.request) &&
         has_message("no such response message:", method.response_image, method.response);
}

bool ControlServer::take_methods(Host& host, const RegisterMethods& methods, ControlError* error) {
  for (const RegisterMethods::Method& method : methods.methods) {
    if (!check_method(host, method, error)) return false;
    const auto& images = host.attachment->images;
    host.attachment->methods.push_back({method.path,
                                        {&images[method.request_image].image(), method.request},
                                        {&images[method.response_image].image(), method.response}});
    host.paths.insert(method.path);
    host.path_bytes += method.path.size();
  }
  return true;
}

bool ControlServer::take_listen(Host& host, const Listen& listen, ControlError* error) {
  if (listen.flags != 0) return refuse(error, ControlCode::kBadValue, "Listen.flags is not 0");
  auto& own = host.attachment->listeners;
  if (own.size() >= options_.max_listeners) {
    return refuse(error, ControlCode::kResourceExhausted, "too many addresses to listen on");
  }
  auto known = listeners_.find(listen.address);
  Listener listener{};
  if (known != listeners_.end()) {
    listener = known->second;
  } else {
    if (listeners_.size() >= options_.max_open_listeners) {
      return refuse(error, ControlCode::kResourceExhausted,
                    "the engine listens at " + std::to_string(listeners_.size()) + " addresses already");
    }
    listener.id = next_listener_++;
    // Calls that come before the host is at work wait for it, instead of finding an unknown method.
    auto paths = std::make_shared<std::vector<std::string>>();
    for (const HostMethod& method : host.attachment->methods) paths->push_back(method.path);
    uint32_t id = listener.id;
    on_all_threads([id, paths](Dispatcher& dispatcher) { dispatcher.expect(id, *paths); });
    ListenResult opened = threads_.listen(listen.address, listener.id);
    if (!opened.error.empty()) {
      forget_listener(id);
      bool in_use = opened.error.find(std::strerror(EADDRINUSE)) != std::string::npos;
      return refuse(error, in_use ? ControlCode::kAddressInUse : ControlCode::kAddressInvalid,
                    listen.address + ": " + opened.error);
    }
    listener.port = opened.port;
    // A host that let the port be chosen and comes again asks for that port by its number.
    std::string name = listen.address;
    if (has_port_zero(name)) name.replace(name.size() - 1, 1, std::to_string(listener.port));
    listeners_[name] = listener;
    host.opened.push_back(listener.id);
  }
  if (std::find(own.begin(), own.end(), listener.id) == own.end()) own.push_back(listener.id);
  if (!send(host, Listening{listen.address, listener.port})) {
    return refuse(error, ControlCode::kClosed, "the host does not take its answers");
  }
  return true;
}

bool ControlServer::take_start(Host& host, ControlError*) {
  host.stage = Stage::kStarting;
  host.attached = true;
  host.paths.clear();
  host.threads_to_answer = threads_.count();
  std::shared_ptr<const HostAttachment> attachment = host.attachment;
  uint64_t id = host.id;
  on_all_threads([this, attachment, id](Dispatcher& dispatcher) {
    dispatcher.attach(attachment);
    post_event({Event::Kind::kAttached, id, 0, {}});
  });
  return true;
}

bool ControlServer::take_drain(Host& host, const Drain& drain, ControlError*) {
  host.stage = Stage::kDraining;
  host.threads_to_answer = threads_.count();
  constexpr uint64_t kMostMs = 24ull * 3600 * 1000;
  host.deadline_ns = monotonic_ns() + static_cast<int64_t>(std::min(drain.grace_ms, kMostMs)) * 1'000'000;
  host.in_order = true;
  log::info("host_draining", {{"host", host.attachment->name}, {"id", host.id}, {"grace_ms", drain.grace_ms}});
  send(host, Draining{drain.grace_ms});
  uint64_t id = host.id;
  on_all_threads([id](Dispatcher& dispatcher) { dispatcher.drain(id); });
  return true;
}

}  // namespace drover::engine
