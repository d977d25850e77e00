// ListenerRegistry: the addresses that the engine listens at for its hosts, each opened once however many hosts name
// it.
//
// A listener stays open when its host dies, so that clients find it when the host comes back; it closes when the last
// host of its address has detached in order. Ids are never used again.
// Thread-safety: none; the control thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "channel/control.h"
#include "engine/control/dispatch_threads.h"

namespace drover::engine {

class ListenerRegistry {
 public:
  // in_use(id): whether a host that is there names the listener. Where there are `max_open`, the oldest that no such
  // host names makes room: addresses of hosts that have died are kept only while there is room for others.
  ListenerRegistry(DispatchThreads& threads, uint32_t max_open, std::function<bool(uint32_t)> in_use)
      : threads_(threads), max_open_(max_open), in_use_(std::move(in_use)) {}

  // How connections of a listener are secured.
  struct Security {
    std::string name;                             // the same for the same identity, or PEM texts; empty: cleartext
    std::shared_ptr<const tls::Server> server;    // of an identity of the configuration
    std::shared_ptr<const tls::Context> context;  // of PEM texts
  };
  struct Listener {
    uint32_t id = 0;
    uint16_t port = 0;
    bool opened = false;  // by this call
  };
  // The listener at `address`, opened now if none is open; from then on calls of `methods` wait there for a host.
  // Nothing: it cannot be opened, `error` says why. A Unix path whose file system did not answer is kTimeout, and then
  // hosts of the same `user` open no Unix paths for kBarredNs: the control thread waits for each a moment.
  //
  // A listener that is open already keeps its security, with two exceptions: PEM texts replace other PEM texts, of the
  // same user or where no host uses it, and a listener that no host uses is closed, for the host to ask again.
  bool open(const std::string& address, uid_t user, const std::vector<ExpectedMethod>& methods,
            const Security& security, Listener* listener, ControlError* error);
  static constexpr int64_t kBarredNs = 30'000'000'000;
  // Closes those of `listeners` that are not in use.
  void close_unused(const std::vector<uint32_t>& listeners);

  size_t size() const { return by_address_.size(); }

 private:
  struct Open {
    uint32_t id;
    uint16_t port;
    std::string security;               // its name
    std::shared_ptr<tls::Server> pems;  // of PEM texts; else null
    uid_t user = 0;                     // whose PEM texts they are
  };
  bool is_barred(std::string_view address, uid_t user);
  void forget_routes(uint32_t id);
  void close_oldest_unused();
  bool secure(const std::string& address, Open& open, uid_t user, const Security& security, ControlError* error);

  DispatchThreads& threads_;
  const uint32_t max_open_;
  const std::function<bool(uint32_t)> in_use_;
  std::map<std::string, Open> by_address_;  // as hosts say it; port 0 is never in it
  std::map<uid_t, int64_t> barred_until_;   // monotonic_ns
  uint32_t next_id_ = 1;
};

}  // namespace drover::engine
