#include "engine/control/listener_registry.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include "engine/base/clock.h"
#include "engine/net/socket_address.h"

namespace drover::engine {
namespace {

bool has_port_zero(const std::string& address) {
  return address.size() >= 2 && address.compare(address.size() - 2, 2, ":0") == 0;
}

}  // namespace

bool ListenerRegistry::is_barred(std::string_view address, uid_t user) {
  std::erase_if(barred_until_, [now = monotonic_ns()](const auto& entry) { return entry.second <= now; });
  return address.starts_with("unix:") && barred_until_.contains(user);
}

// Whether an open listener does for a host that wants that security.
bool ListenerRegistry::secure(const std::string& address, Open& open, uid_t user, const Security& security,
                              ControlError* error) {
  if (open.security == security.name) return true;
  const bool used = in_use_(open.id);
  if (open.pems != nullptr && security.context != nullptr && (!used || open.user == user)) {
    open.pems->replace(security.context);
    open.security = security.name;
    open.user = user;
    return true;
  }
  if (used) {
    *error = {ControlCode::kPermissionDenied,
              printable_address(address) + " is served already, with other credentials"};
    return false;
  }
  *error = {ControlCode::kAddressInUse,
            printable_address(address) + " was open with other credentials, and is being closed"};
  close_unused({open.id});
  return false;
}

bool ListenerRegistry::open(const std::string& address, uid_t user, const std::vector<ExpectedMethod>& methods,
                            const Security& security, Listener* listener, ControlError* error) {
  if (auto known = by_address_.find(address); known != by_address_.end()) {
    if (!secure(address, known->second, user, security, error)) return false;
    *listener = {known->second.id, known->second.port, false};
    return true;
  }
  if (by_address_.size() >= max_open_) close_oldest_unused();
  if (by_address_.size() >= max_open_) {
    *error = {ControlCode::kResourceExhausted,
              "the engine listens at " + std::to_string(by_address_.size()) + " addresses already"};
    return false;
  }
  if (is_barred(address, user)) {
    *error = {ControlCode::kTimeout, printable_address(address) + ": a file system that user " + std::to_string(user) +
                                         " named has not answered lately; no Unix paths for 30 s"};
    return false;
  }
  uint32_t id = next_id_++;
  // Calls that arrive before the host serves wait for it, instead of ending as an unknown method.
  auto shared = std::make_shared<const std::vector<ExpectedMethod>>(methods);
  threads_.post_all([id, shared](Dispatcher& dispatcher) { dispatcher.expect(id, shared); });
  std::shared_ptr<tls::Server> pems = security.context ? std::make_shared<tls::Server>(security.context) : nullptr;
  ListenResult opened = threads_.listen(address, id, pems != nullptr ? pems : security.server);
  if (!opened.error.empty()) {
    forget_routes(id);
    if (opened.late) {
      barred_until_[user] = monotonic_ns() + kBarredNs;
      *error = {ControlCode::kTimeout, printable_address(address) + ": " + opened.error};
      return false;
    }
    bool in_use = opened.error.find(std::strerror(EADDRINUSE)) != std::string::npos;
    *error = {in_use ? ControlCode::kAddressInUse : ControlCode::kAddressInvalid,
              printable_address(address) + ": " + opened.error};
    return false;
  }
  // A host that asked for any port names the chosen port when it comes back.
  std::string name = address;
  if (has_port_zero(name)) name.replace(name.size() - 1, 1, std::to_string(opened.port));
  by_address_[name] = {id, opened.port, security.name, std::move(pems), user};
  *listener = {id, opened.port, true};
  return true;
}

void ListenerRegistry::close_oldest_unused() {
  uint32_t oldest = 0;
  for (const auto& [address, open] : by_address_) {
    if ((oldest == 0 || open.id < oldest) && !in_use_(open.id)) oldest = open.id;
  }
  if (oldest != 0) close_unused({oldest});
}

void ListenerRegistry::close_unused(const std::vector<uint32_t>& listeners) {
  for (uint32_t id : listeners) {
    if (in_use_(id)) continue;
    threads_.close(id);
    forget_routes(id);
    std::erase_if(by_address_, [id](const auto& entry) { return entry.second.id == id; });
  }
}

void ListenerRegistry::forget_routes(uint32_t id) {
  threads_.post_all([id](Dispatcher& dispatcher) { dispatcher.forget_listener(id); });
}

}  // namespace drover::engine
