// ControlServer: the engine's end of the control socket (channel/control.h). The control thread's loop: it takes hosts
// in, reads what they say (HostSession), brings them the engine threads' answers, and notices when they go.
//
// A host is gone when its socket hangs up or its process ends (pidfd), whichever is noticed first, when it breaks the
// protocol, or when an engine thread reports that it violated the channel's rules. One host's end does not affect
// another. If it died while serving, its listeners stay open for the next host. If it detached in order, they close
// unless another host uses them. If it ended before Start, those that were opened for it close.
//
// No host can keep the loop from the others: descriptors that come from hosts are closed by another thread
// (engine/control/disposal.h), each turn looks at a bounded number of bytes of their messages (kWorkPerTurn, and the
// one schema image that goes beyond it), hosts take turns, and accepting pauses while the process is out of
// descriptors.
//
// Thread-safety: `run` is the control thread's; stop, drain and the HostEvents may be called by any thread; the rest
// before `run`.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "channel/control.h"
#include "channel/control_socket.h"
#include "engine/control/control_events.h"
#include "engine/control/control_options.h"
#include "engine/control/dispatch_threads.h"
#include "engine/control/host_session.h"
#include "engine/control/listener_registry.h"
#include "engine/dispatch/dispatcher.h"
#include "object/unique_fd.h"

namespace drover::engine {

class ControlServer final : public HostEvents {
 public:
  ControlServer(const ControlOptions& options, DispatchThreads& threads);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Takes hosts at "unix:PATH" or "unix:@NAME". May be called more than once.
  bool listen(const std::string& address, ControlError* error);
  // Takes hosts at a socket that listens already, with the users of the policy admitted: for a process that may not
  // make one any more.
  void take(ControlListener socket) { sockets_.push_back(std::move(socket)); }
  // Takes the host at the other end of a connected SOCK_SEQPACKET descriptor (a child's).
  bool adopt(UniqueFd connected, ControlError* error);

  // Until stop(), or until the engine is an orphan.
  void run();
  void stop();
  // True once run() has returned because no host was left.
  bool orphaned() const { return orphaned_.load(std::memory_order_acquire); }
  // Takes no new hosts, and tells hosts and workers. Running calls go on; the transport ends them.
  void drain(uint64_t grace_ms);

  // HostEvents
  void host_attached(uint64_t host, uint32_t thread) override;
  void host_failed(uint64_t host, uint32_t thread, std::string why) override;
  void host_drained(uint64_t host, uint32_t thread, uint64_t calls_ended) override;
  void host_let_go(uint64_t host, uint32_t thread) override;
  void connection_opened(uint64_t host, uint32_t thread, const Opened& opened) override;

  static constexpr uint64_t kWorkPerTurn = 1 << 20;  // bytes of messages and of what comes with them

  // For tests and metrics: hosts that serve now.
  uint32_t serving_hosts() const { return serving_.load(std::memory_order_relaxed); }

 private:
  void wait_and_take();
  void read_hosts(std::vector<uint64_t> ready);
  void accept_from(ControlListener& socket);
  uint64_t read_from(uint64_t id, uint64_t most_work);  // the work that it was
  void take_events();
  void take_event(ControlEvent& event);
  void start_drain(uint64_t grace_ms);
  int64_t next_deadline_ns() const;
  void check_deadlines(int64_t now_ns);
  bool is_orphan(int64_t now_ns);

  bool add_host(ControlSocket socket, ControlError* error);
  bool names(uint32_t listener) const;
  HostSession* server_of(const std::string& name);
  uint32_t seat_of(const HostSession& host) const;
  HostSession* find(uint64_t id);
  void remove_host(HostSession& host, const ControlError& why);
  void forget(uint64_t id);
  bool any_host() const;
  const HostAttachment* rival_of(const HostSession& host, std::string* what) const;

  const ControlOptions options_;
  DispatchThreads& threads_;
  ControlEvents events_;
  Disposal disposal_, regions_;
  ListenerRegistry listeners_;
  HostSession::Shared shared_;
  std::vector<ControlListener> sockets_;
  std::vector<std::unique_ptr<HostSession>> hosts_;
  uint64_t next_host_ = 1;
  uint64_t last_server_ = 0;                     // the host that was given a connection last
  std::unordered_map<uint64_t, uint64_t> work_;  // by host: bytes of its messages, and of what came with them
  uint64_t next_to_read_ = 0;                    // the host whose turn it is; ids go up
  uint64_t turns_ = 0;
  int64_t accept_again_ns_ = 0;
  int64_t hostless_since_ns_;
  void end_with_parent(bool ends);  // the control thread's: whether the parent's death is to end this process
  bool ends_with_parent_ = false;
  std::atomic<bool> orphaned_{false};
  std::atomic<uint32_t> serving_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace drover::engine
