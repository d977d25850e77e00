// Listeners: opens and closes addresses on all engine threads. An address is one socket an engine thread
// (SO_REUSEPORT), so that the kernel spreads connections over them; a unix address is one socket that all share, whose
// file is removed when it is closed (channel/socket_file.h).
//
//   control thread:  listeners.listen("0.0.0.0:50051", listener_id)
//                      -> Acceptor of engine thread 0, Acceptor of engine thread 1, ...
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "channel/socket_file.h"
#include "engine/base/errands.h"
#include "engine/net/acceptor.h"
#include "engine/net/activated_sockets.h"
#include "engine/net/event_loop.h"

namespace drover::engine {

struct ListenResult {
  uint16_t port = 0;  // bound port (0 for unix sockets)
  std::string error;  // not empty: nothing was opened, and why
  bool late = false;  // the file system did not answer in time
};

// Unix paths are looked up, bound and removed as errands (engine/base/errands.h): hosts name them, and the file system
// may be of their own making. One that does not answer costs its caller the errands' patience.
//
// Thread-safe; does not wait for the engine threads.
class Listeners {
 public:
  struct Thread {
    EventLoop* loop;
    Acceptor* acceptor;
  };
  explicit Listeners(std::vector<Thread> threads) : threads_(std::move(threads)) {}
  // Removes the files of what is still open.
  ~Listeners();
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;

  // `address` as gRPC's AddListeningPort takes it: "host:port", "[v6]:port", "ipv4:...", "ipv6:...", "dns:///...",
  // "unix:path", "unix-abstract:name". Port 0 picks one. 0.0.0.0 and [::] listen on IPv4 and IPv6 alike. Asking
  // again for an id that is open returns its port. An address that another socket listens on is an error, and so is a
  // path at which there is something else than a socket.
  // `tls`: how its connections are secured; null: cleartext.
  // An address of an activated socket is served by that socket, of which each engine thread has a duplicate.
  ListenResult listen(std::string_view address, uint32_t listener, std::shared_ptr<const tls::Server> tls = nullptr);
  void close(uint32_t listener);

  // Before the first listen().
  void use(ActivatedSockets sockets) { activated_ = std::move(sockets); }
  // What is added to the error of a Unix path that must not be made (EACCES). Called by the errands' threads, since it
  // may look at the path; before the first listen().
  using WhyRefused = std::function<std::string(const std::string& path)>;
  void explain_refused_paths(WhyRefused why) { why_refused_ = std::move(why); }

 private:
  struct Open {
    uint32_t id;
    std::string address;
    uint16_t port;
    std::shared_ptr<SocketFile> file;  // of a unix address; else null
    std::vector<int> activated = {};   // its descriptors of activated_
  };
  void remove(std::shared_ptr<SocketFile> file);
  void adopt(std::vector<UniqueFd> fds, uint32_t listener, const std::shared_ptr<const tls::Server>& tls);
  ListenResult listen_at(const std::vector<int>& activated, std::string_view address, uint32_t listener,
                         const std::shared_ptr<const tls::Server>& tls);

  const std::vector<Thread> threads_;
  ActivatedSockets activated_;
  WhyRefused why_refused_ = [](const std::string&) { return std::string(); };
  Errands errands_;
  std::mutex mutex_;
  std::vector<Open> open_;
};

}  // namespace drover::engine
