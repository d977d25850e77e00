// ControlServer: the engine's end of the control socket (channel/control.h). Takes hosts in, makes their regions,
// puts them to work on every engine thread, and notices when they go.
//
//   connect -> kHello -> kRegistering -> kStarting -> kServing -> kDraining -> kLeaving -> forgotten
//                          images,         all engine threads                   all engine threads
//                          methods,        have attached it                     have let go of its region
//                          addresses
//
// A host is gone when its socket hangs up or its process ends (pidfd), whichever is noticed first, when it breaks the
// protocol, or when an engine thread reports that it broke the channel. What it sends is hostile: sizes and counts
// are bounded, schema images are copied before they are checked, every refusal is an Error with a name, and no host
// has a say in another's fate. Its listeners stay open if it died at work (another may come and serve on), and close if
// it left in order, or before Start those that it opened, and nobody else serves there.
//
// Thread-safety: `run` is the control thread's; stop, drain and the HostEvents may be called by any thread; the rest
// before `run`.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "channel/control.h"
#include "channel/control_socket.h"
#include "engine/control/dispatch_threads.h"
#include "engine/dispatch/dispatcher.h"
#include "object/unique_fd.h"

namespace drover::engine {

struct ControlOptions {
  std::string name = "droverd";  // told to hosts
  uint32_t ring_slots = 128;     // of each ring, unless a host asks for something else
  uint64_t rx_bytes = 16 << 20;  // chunks of a channel, likewise
  uint64_t tx_bytes = 16 << 20;
  uint64_t max_region_bytes = uint64_t{16} << 30;  // address space of one host's region; memory is used as touched
  uint32_t max_hosts = 64;                         // connections on the control socket
  uint32_t max_listeners = 64;                     // of one host
  uint32_t max_open_listeners = 1024;              // of all hosts, those that are gone included
  uint64_t max_image_bytes = 256 << 20;            // of one host's images together
  uint64_t max_path_bytes = 16 << 20;              // of one host's method paths together
  int64_t handshake_timeout_ns = 10'000'000'000;   // from connecting to Start
  bool child = false;                              // started by a host: ends when none is left
  int64_t orphan_timeout_ns = 5'000'000'000;       // with child: how long it waits for one
};

class ControlServer final : public HostEvents {
 public:
  ControlServer(const ControlOptions& options, DispatchThreads& threads);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Takes hosts at "unix:PATH" or "unix:@NAME". May be called more than once.
  bool listen(const std::string& address, ControlError* error);
  // Takes the host at the other end of a connected SOCK_SEQPACKET descriptor (a child's).
  bool adopt(UniqueFd connected, ControlError* error);

  // Until stop(), or until the engine is an orphan.
  void run();
  void stop();
  // True once run() has returned because no host was left.
  bool orphaned() const { return orphaned_.load(std::memory_order_acquire); }
  // No new hosts; hosts and workers are told. Running calls go on: ending them is the transport's business.
  void drain(uint64_t grace_ms);

  // HostEvents
  void host_failed(uint64_t host, uint32_t thread, std::string why) override;
  void host_drained(uint64_t host, uint32_t thread, uint64_t calls_ended) override;
  void host_let_go(uint64_t host, uint32_t thread) override;

  // For tests and metrics: hosts that serve now.
  uint32_t serving_hosts() const { return serving_.load(std::memory_order_relaxed); }

 private:
  enum class Stage { kHello, kRegistering, kStarting, kServing, kDraining, kLeaving };
  struct Host {
    uint64_t id = 0;
    Stage stage = Stage::kHello;
    ControlSocket socket;
    UniqueFd process;  // pidfd
    std::shared_ptr<HostAttachment> attachment;
    std::unordered_set<std::string> paths;
    std::vector<uint32_t> opened;  // listeners that nobody had before this host
    uint64_t image_bytes = 0;
    uint64_t path_bytes = 0;
    uint32_t threads_to_answer = 0;  // that have not attached, drained or let go yet
    uint64_t calls_ended = 0;
    int64_t deadline_ns = INT64_MAX;  // of the handshake or of the drain's grace
    bool attached = false;            // engine threads may hold it
    bool in_order = false;            // it said goodbye
  };
  struct Event {
    enum class Kind { kAttached, kFailed, kDrained, kLetGo, kDrainAll } kind;
    uint64_t host = 0;
    uint64_t number = 0;
    std::string text;
  };
  struct Listener {
    uint32_t id;
    uint16_t port;
  };

  // control_server.cc: the loop and the ways of hosts
  void post_event(Event event);
  void take_events();
  void take_event(Event& event);
  void wait_and_take();
  int64_t next_deadline_ns() const;
  void check_deadlines(int64_t now_ns);
  bool is_orphan(int64_t now_ns);
  bool add_host(ControlSocket socket, ControlError* error);
  Host* find(uint64_t id);
  void read_from(uint64_t id);
  void remove_host(Host& host, const ControlError& why);
  void detach_from_threads(Host& host);
  void forget(uint64_t id);
  void close_unused_listeners(const std::vector<uint32_t>& listeners);
  void forget_listener(uint32_t listener);
  bool send(Host& host, const ControlMessage& message, std::span<const int> fds = {});
  void on_all_threads(const std::function<void(Dispatcher&)>& work);

  // control_server_messages.cc: what a host may say, by stage. False: refused, `error` says why.
  bool take_message(Host& host, ControlMessage& message, std::vector<UniqueFd>& fds, ControlError* error);
  bool take_hello(Host& host, const Hello& hello, ControlError* error);
  bool take_image(Host& host, const RegisterImage& image, int fd, ControlError* error);
  bool take_methods(Host& host, const RegisterMethods& methods, ControlError* error);
  bool check_method(const Host& host, const RegisterMethods::Method& method, ControlError* error) const;
  bool take_listen(Host& host, const Listen& listen, ControlError* error);
  bool take_start(Host& host, ControlError* error);
  bool take_drain(Host& host, const Drain& drain, ControlError* error);
  Welcome make_welcome(const HostAttachment& attachment) const;

  const ControlOptions options_;
  DispatchThreads& threads_;
  std::vector<ControlListener> sockets_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::map<std::string, Listener> listeners_;  // by address as hosts say it; port 0 is never in it
  uint32_t next_listener_ = 1;
  uint64_t next_host_ = 1;
  int64_t hostless_since_ns_;
  bool draining_ = false;
  std::atomic<bool> orphaned_{false};
  std::atomic<uint32_t> serving_{0};
  std::atomic<bool> stop_{false};
  UniqueFd wake_;
  std::mutex events_mutex_;
  std::vector<Event> events_;
};

}  // namespace drover::engine
