#include "engine/control/host_registration.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "engine/balance/field_path.h"
#include "engine/base/log.h"
#include "engine/channelz/channelz_request.h"
#include "engine/dispatch/raw_message.h"
#include "engine/net/socket_address.h"

namespace drover::engine {
namespace {

log::Limit g_reflection_limit(50);
log::Limit g_balance_limit(50);

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

bool fits(const RegionSizes& sizes, uint64_t max_bytes) {
  return sizes.rx <= max_bytes && sizes.tx <= max_bytes - sizes.rx;
}

}  // namespace

std::string check_channel_options(const ControlOptions& options, uint32_t engine_threads) {
  ChannelOptions channel;
  channel.engine_threads = engine_threads;
  channel.workers = 1;
  channel.ring_slots = options.ring_slots;
  channel.rx_bytes = options.rx_bytes;
  channel.tx_bytes = options.tx_bytes;
  std::string keys = "channel.rx_bytes=" + std::to_string(options.rx_bytes) +
                     ", channel.tx_bytes=" + std::to_string(options.tx_bytes) +
                     ", engine.threads=" + std::to_string(engine_threads);
  std::string why;
  std::optional<RegionLayout> layout = RegionLayout::compute(channel, &why);
  if (!layout) return keys + ": no host could attach: " + why;
  RegionSizes sizes = layout->sizes();
  if (fits(sizes, options.max_region_bytes)) return "";
  return keys + ": no host could attach: the region of a host with one worker would have " +
         std::to_string(sizes.rx + sizes.tx) + " bytes; at most " + std::to_string(options.max_region_bytes) +
         " are allowed";
}

HostRegistration::~HostRegistration() {
  totals_.region_bytes -= region_bytes_;
  totals_.routes -= routes_;
  if (counted_ != nullptr) totals_.descriptors.leave(counted_);
}

void DescriptorTotals::add(std::shared_ptr<const DescriptorIndex> index) {
  const uint64_t bytes = index->memory();
  kept_.push_back({std::move(index)});
  bytes_ += bytes;
}

void DescriptorTotals::leave(const DescriptorIndex* index) {
  for (Kept& kept : kept_) kept.left |= kept.index.get() == index;
}

bool DescriptorTotals::waits() const {
  return std::any_of(kept_.begin(), kept_.end(), [](const Kept& kept) { return kept.left; });
}

// The last reference is the one held here, and no other thread can copy it: a count of 1 is final.
std::vector<std::shared_ptr<const DescriptorIndex>> DescriptorTotals::take_unused() {
  std::vector<std::shared_ptr<const DescriptorIndex>> unused;
  unused.reserve(static_cast<size_t>(std::count_if(kept_.begin(), kept_.end(), [](const Kept& k) { return k.left; })));
  std::erase_if(kept_, [&](Kept& kept) {
    if (!kept.left || kept.index.use_count() != 1) return false;
    bytes_ -= kept.index->memory();
    unused.push_back(std::move(kept.index));
    return true;
  });
  return unused;
}

bool HostRegistration::greet(const Hello& hello, uint64_t id, int pid, uint32_t engine_threads, ControlError* error) {
  if (!options_.policy.may_attach(user_)) {
    return refuse(error, ControlCode::kPermissionDenied,
                  "hosts of user " + std::to_string(user_) + " may not attach (hosts.allow)");
  }
  if (hello.flags != 0) return refuse(error, ControlCode::kBadValue, "Hello.flags is not 0");
  ChannelOptions channel;
  channel.engine_threads = engine_threads;
  channel.workers = static_cast<uint32_t>(hello.cpus.size());
  channel.ring_slots = hello.ring_slots != 0 ? hello.ring_slots : options_.ring_slots;
  channel.rx_bytes = hello.rx_bytes != 0 ? hello.rx_bytes : options_.rx_bytes;
  channel.tx_bytes = hello.tx_bytes != 0 ? hello.tx_bytes : options_.tx_bytes;
  std::string why;
  auto attachment = std::make_shared<HostAttachment>();
  attachment->layout = RegionLayout::compute(channel, &why);
  if (!attachment->layout) return refuse(error, ControlCode::kBadValue, "Hello: " + why);
  RegionSizes sizes = attachment->layout->sizes();
  if (!fits(sizes, options_.max_region_bytes)) {
    return refuse(error, ControlCode::kResourceExhausted,
                  "Hello: a region of " + std::to_string(sizes.rx + sizes.tx) + " bytes; at most " +
                      std::to_string(options_.max_region_bytes) + " are allowed (hosts.max_region_bytes)");
  }
  if (totals_.region_bytes + sizes.rx + sizes.tx > options_.max_total_region_bytes) {
    return refuse(error, ControlCode::kResourceExhausted,
                  "Hello: with a region of " + std::to_string(sizes.rx + sizes.tx) + " bytes, all hosts' would have " +
                      std::to_string(totals_.region_bytes + sizes.rx + sizes.tx) + "; at most " +
                      std::to_string(options_.max_total_region_bytes) + " are allowed (hosts.max_total_region_bytes)");
  }
  RegionError region_error;
  attachment->region = Region::create(sizes, &region_error);
  if (!attachment->region) return refuse(error, ControlCode::kResourceExhausted, region_error.message);
  if (!attachment->layout->write(*attachment->region)) {
    return refuse(error, ControlCode::kSystem, "the region's layout cannot be written");
  }
  region_bytes_ = sizes.rx + sizes.tx;
  totals_.region_bytes += region_bytes_;
  attachment->id = id;
  attachment->name = printable(hello.name);
  attachment->pid = pid;
  attachment->user = user_;
  for (uint32_t thread = 0; thread < engine_threads; ++thread) {
    UniqueFd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!bell) return refuse(error, ControlCode::kResourceExhausted, std::string("eventfd: ") + std::strerror(errno));
    attachment->bells.push_back(std::move(bell));
  }
  attachment_ = std::move(attachment);
  return true;
}

std::vector<int> HostRegistration::welcome_fds() const {
  std::vector<int> fds{attachment_->region->rx_fd(), attachment_->region->tx_fd()};
  for (const UniqueFd& bell : attachment_->bells) fds.push_back(bell.get());
  return fds;
}

bool HostRegistration::add_image(const RegisterImage& image, int fd, ControlError* error) {
  auto& images = attachment_->images;
  if (images.size() >= kMaxImages) return refuse(error, ControlCode::kResourceExhausted, "too many schema images");
  if (image.size > options_.max_image_bytes - image_bytes_) {
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
  image_bytes_ += image.size;
  images.push_back(std::move(owned));
  return true;
}

bool HostRegistration::check_method(const RegisterMethods::Method& method, ControlError* error) const {
  if ((method.flags & kMethodAny) != 0) {
    if (method.path != kAnyPath || (method.flags & kMethodKind) != kMethodKind) {
      return refuse(error, ControlCode::kBadMethod, "a method for any path has another path than \"*\", or flags");
    }
  } else if (!well_formed_path(method.path)) {
    return refuse(error, ControlCode::kBadMethod, "a method's path is not of the form /package.Service/Method");
  }
  auto bad = [&](const char* what, uint64_t value) {
    return refuse(error, ControlCode::kBadMethod, method.path + ": " + what + " " + std::to_string(value));
  };
  if (method.flags > kAllMethodFlags) return bad("unknown flags", method.flags);
  if (!options_.policy.may_serve(user_, method.path)) {
    return refuse(error, ControlCode::kPermissionDenied,
                  "hosts of user " + std::to_string(user_) + " may not serve " + method.path + " (hosts.allow)");
  }
  if (paths_.contains(method.path)) return bad("registered twice, as method", paths_.size());
  if (paths_.size() >= kMaxMethods) return bad("too many methods, at most", kMaxMethods);
  if (path_bytes_ + method.path.size() > options_.max_path_bytes) {
    return bad("paths too long together, at most bytes", options_.max_path_bytes);
  }
  const auto& images = attachment_->images;
  auto has_message = [&](const char* wrong, uint32_t image, uint32_t message) {
    if (image >= images.size()) return bad("no such image:", image);
    return message < images[image].image().message_count() || bad(wrong, message);
  };
  if (!has_message("no such request message:", method.request_image, method.request) ||
      !has_message("no such response message:", method.response_image, method.response)) {
    return false;
  }
  if ((method.flags & kMethodRaw) == 0) return true;
  if (!is_raw_type({&images[method.request_image].image(), method.request})) {
    return bad("raw, but its request has other fields: message", method.request);
  }
  return is_raw_type({&images[method.response_image].image(), method.response}) ||
         bad("raw, but its response has other fields: message", method.response);
}

bool HostRegistration::add_methods(const RegisterMethods& methods, ControlError* error) {
  size_t addresses = std::max<size_t>(1, attachment_->listeners.size());
  if (!check_routes(attachment_->methods.size() + methods.methods.size(), addresses, error)) return false;
  for (const RegisterMethods::Method& method : methods.methods) {
    if (!check_method(method, error)) return false;
    const auto& images = attachment_->images;
    attachment_->methods.emplace_back(
        method.path, schema::MessageType{&images[method.request_image].image(), method.request},
        schema::MessageType{&images[method.response_image].image(), method.response}, method.flags);
    paths_.insert(method.path);
    path_bytes_ += method.path.size();
  }
  return true;
}

bool HostRegistration::add_descriptors(const RegisterDescriptors& descriptors, int fd, ControlError* error) {
  if (asks_for_reflection_) return refuse(error, ControlCode::kUnexpectedMessage, "descriptors came before");
  for (const std::string_view path : {kReflectionPathV1, kReflectionPathV1Alpha}) {
    if (options_.policy.may_serve(user_, path)) continue;
    return refuse(error, ControlCode::kPermissionDenied,
                  "hosts of user " + std::to_string(user_) + " may not serve " + std::string(path) + " (hosts.allow)");
  }
  std::optional<std::string> bytes = read_image_fd(fd, descriptors.size, error);
  if (!bytes) return false;
  std::string why;
  bool too_large = false;
  descriptors_ = index(std::move(*bytes), &why, &too_large);
  asks_for_reflection_ = descriptors_ != nullptr || too_large;
  if (descriptors_ != nullptr) return true;
  if (!too_large) return refuse(error, ControlCode::kBadValue, "the descriptors: " + why);
  log::warn(g_reflection_limit, "host_not_described",
            {{"host", attachment_->name}, {"id", attachment_->id}, {"why", "the descriptors: " + why}});
  return true;
}

std::shared_ptr<const DescriptorIndex> HostRegistration::index(std::string set, std::string* why, bool* too_large) {
  std::shared_ptr<const DescriptorIndex> made = DescriptorIndex::make(std::move(set), why, too_large);
  if (made == nullptr) return nullptr;
  if (totals_.descriptors.bytes() + made->memory() > options_.max_total_descriptor_bytes) {
    *too_large = true;
    *why = "with them, all hosts' would have " + std::to_string(totals_.descriptors.bytes() + made->memory()) +
           " bytes; at most " + std::to_string(options_.max_total_descriptor_bytes) +
           " are allowed (hosts.max_total_descriptor_bytes)";
    return nullptr;
  }
  totals_.descriptors.add(made);
  counted_ = made.get();
  return made;
}

void HostRegistration::list_services() {
  std::vector<std::string> services;
  for (const HostMethod& method : attachment_->methods) {
    if ((method.flags & kMethodAny) != 0) continue;  // a method for any path names no service
    services.push_back(method.path.substr(1, method.path.rfind('/') - 1));
  }
  std::sort(services.begin(), services.end());
  services.erase(std::unique(services.begin(), services.end()), services.end());
  attachment_->reflection = std::make_shared<ReflectionSource>(std::move(descriptors_), std::move(services));
}

bool HostRegistration::add_channelz(const ServeChannelz& serve, ControlError* error) {
  if (serve.flags != 0) return refuse(error, ControlCode::kBadValue, "ServeChannelz.flags is not 0");
  if (attachment_->channelz) return refuse(error, ControlCode::kUnexpectedMessage, "ServeChannelz came before");
  for (const std::string_view path : kChannelzPaths) {
    if (options_.policy.may_serve(user_, path)) continue;
    return refuse(error, ControlCode::kPermissionDenied,
                  "hosts of user " + std::to_string(user_) + " may not serve " + std::string(path) + " (hosts.allow)");
  }
  attachment_->channelz = true;
  return true;
}

bool HostRegistration::add_line_name(const ServeLines& serve, ControlError* error) {
  auto& names = attachment_->line_names;
  if (!options_.policy.may_serve_lines(user_, serve.name)) {
    return refuse(error, ControlCode::kPermissionDenied,
                  "hosts of user " + std::to_string(user_) + " may not serve lines:" + serve.name + " (hosts.allow)");
  }
  if (serves_lines(serve.name)) {
    return refuse(error, ControlCode::kBadValue, "the name " + serve.name + " is served twice");
  }
  if (names.size() >= options_.max_line_names) {
    return refuse(
        error, ControlCode::kResourceExhausted,
        "more than " + std::to_string(options_.max_line_names) + " names served with RPC lines (lines.max_names)");
  }
  names.push_back(serve.name);
  return true;
}

bool HostRegistration::serves_lines(const std::string& name) const {
  if (attachment_ == nullptr) return false;
  const auto& names = attachment_->line_names;
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool HostRegistration::check_routes(size_t methods, size_t addresses, ControlError* error) const {
  if (methods * addresses <= options_.max_routes) return true;
  return refuse(error, ControlCode::kResourceExhausted,
                std::to_string(methods) + " methods at " + std::to_string(addresses) + " addresses; at most " +
                    std::to_string(options_.max_routes) + " of both together are allowed (hosts.max_routes)");
}

bool HostRegistration::check_address(const std::string& address, ControlError* error) const {
  if (!options_.policy.may_listen(user_, address)) {
    return refuse(error, ControlCode::kPermissionDenied,
                  "hosts of user " + std::to_string(user_) + " may not listen at " + printable_address(address) +
                      " (hosts.allow)");
  }
  if (attachment_->listeners.size() >= options_.max_listeners) {
    return refuse(error, ControlCode::kResourceExhausted, "too many addresses to listen on");
  }
  return check_routes(attachment_->methods.size(), attachment_->listeners.size() + 1, error);
}

// Calls of such a method have no key.
void HostRegistration::check_balance() const {
  for (const HostMethod& method : attachment_->methods) {
    const BalanceRule* rule = options_.balance->find(method.path);
    if (rule == nullptr || rule->field.empty()) continue;
    std::string why;
    if ((method.flags & kMethodRequestStreams) != 0) {
      why = "its requests stream, and a stream's key is in its metadata";
    } else if ((method.flags & kMethodRaw) != 0) {
      why = "its messages are raw";
    } else if (FieldPath::compile(method.request, rule->field, &why)) {
      continue;
    }
    log::warn(g_balance_limit, "no_balance_key",
              {{"method", method.path}, {"field", rule->field}, {"why", why}, {"host", attachment_->name}});
  }
}

bool HostRegistration::finish(uint32_t seat, ControlError* error) {
  uint64_t routes = attachment_->methods.size() * attachment_->listeners.size();
  if (totals_.routes + routes > options_.max_total_routes) {
    return refuse(error, ControlCode::kResourceExhausted,
                  "with its " + std::to_string(routes) + " methods at its addresses, all hosts would have " +
                      std::to_string(totals_.routes + routes) + "; at most " +
                      std::to_string(options_.max_total_routes) + " are allowed (four times hosts.max_routes)");
  }
  routes_ = routes;
  totals_.routes += routes;
  attachment_->seat = seat;
  attachment_->node = options_.balance->node(attachment_->name, seat);
  if (!options_.balance->empty()) check_balance();
  paths_.clear();
  if (descriptors_ != nullptr) list_services();
  return true;
}

}  // namespace drover::engine
