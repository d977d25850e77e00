// HostSession: one host on the control socket, from its connection until the last engine thread has released it.
//
//   connect -> kHello -> kRegistering -> kStarting -> kServing -> kDraining -> kLeaving -> forgotten
//                          images,         all engine threads                   all engine threads
//                          methods,        have attached it                     have released its region
//                          addresses
//
// It interprets the host's messages by stage and attaches the host to the engine threads. The ControlServer owns it,
// waits for its descriptors and its deadline, and brings it the engine threads' answers.
// Thread-safety: none; the control thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "channel/control.h"
#include "channel/control_socket.h"
#include "engine/control/control_events.h"
#include "engine/control/control_options.h"
#include "engine/control/dispatch_threads.h"
#include "engine/control/disposal.h"
#include "engine/control/host_registration.h"
#include "engine/control/listener_registry.h"
#include "object/unique_fd.h"

namespace drover::engine {

class HostSession {
 public:
  enum class Stage { kHello, kRegistering, kStarting, kServing, kDraining, kLeaving };
  static constexpr uint64_t kNoHostYet = UINT64_MAX;
  // What all sessions of a ControlServer share.
  struct Shared {
    const ControlOptions& options;
    DispatchThreads& threads;
    ListenerRegistry& listeners;
    ControlEvents& events;
    Disposal& disposal;  // of what came from the hosts
    Disposal& regions;
    HostTotals totals = {};
    // Another host that serves a method of that registration at one of its addresses; null: no other host does.
    std::function<const HostAttachment*(const HostSession&, std::string* what)> rival = {};
    // A host that serves that name with RPC lines and takes connections, the next in turn; null: none does.
    std::function<HostSession*(const std::string& name)> server_of = {};
    // The lowest seat that no other host of its name has (HostAttachment::seat); null: 0.
    std::function<uint32_t(const HostSession&)> seat_of = {};
    LinePeers line_peers = {};
    uint64_t connections = 0;  // opened so far
    // Of a child: whose stderr its log goes to, 0 once that host has gone. The first host is the one that started it.
    uint64_t log_host = kNoHostYet;
    bool draining = false;  // the engine goes down
  };

  HostSession(uint64_t id, ControlSocket socket, Shared& shared);
  ~HostSession();
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  uint64_t id() const { return id_; }
  Stage stage() const { return stage_; }
  bool serves() const { return stage_ == Stage::kServing || stage_ == Stage::kDraining; }
  bool leaving() const { return stage_ == Stage::kLeaving; }
  // It said goodbye.
  bool in_order() const { return in_order_; }
  // Engine threads may refer to its region.
  bool attached() const { return attached_; }
  bool serves_lines(const std::string& name) const { return registration_.serves_lines(name); }
  // Before Start: whether it registered that method.
  bool has_method(const std::string& path) const { return registration_.has_method(path); }
  // Null before Hello.
  const HostAttachment* attachment() const { return registration_.attachment().get(); }
  // Listeners that were opened for it.
  const std::vector<uint32_t>& opened() const { return opened_; }

  ControlSocket& socket() { return socket_; }
  int socket_fd() const { return socket_.fd(); }
  // Readable when its process has ended; -1: the kernel does not tell.
  int process_fd() const { return process_ ? process_.get() : -1; }

  // Of the handshake or of the drain's grace; INT64_MAX: none.
  int64_t deadline_ns() const { return deadline_ns_; }
  // The deadline has passed: tells the host. The session must be removed, for this reason.
  ControlError expire();

  // Bytes that taking this message will look at, beyond its own.
  uint64_t work_of(const ControlMessage& message) const;
  // Reads one message's meaning. False: refused, `error` says why. After true, wants_to_leave() may hold.
  bool take(ControlMessage& message, std::vector<UniqueFd>& fds, ControlError* error);
  bool wants_to_leave() const { return wants_to_leave_; }

  // ---- answers of the engine threads, one each. True with the last one.
  bool thread_attached();
  void thread_drained(uint64_t calls_ended);
  void connection_opened(uint32_t thread, const HostEvents::Opened& opened);
  // True: all have. May be called more than once for a thread.
  bool thread_let_go(uint32_t thread);

  static constexpr uint32_t kMostOpening = 1024;

  // False: the host did not accept the message. The deadline cuts off a host that never reads.
  bool send(const ControlMessage& message, std::span<const int> fds = {});
  // The host leaves, for any reason. True: engine threads refer to its region, and each will report its release.
  // `others`: that the engine has other hosts, which a host that started it wants to know.
  bool leave(const ControlError& why, bool others);
  // Asks the engine threads again for what leave() asked: one that found no memory for it has dropped the question.
  void leave_again();

 private:
  bool take_hello(const Hello& hello, ControlError* error);
  bool take_listen(const Listen& listen, ControlError* error);
  bool take_start(ControlError* error);
  bool take_listen_tls(const ListenTls& listen, std::vector<UniqueFd>& fds, ControlError* error);
  bool listen_at(const std::string& address, const ListenerRegistry::Security& security, ControlError* error);
  bool take_open(const OpenConnection& open, ControlError* error);
  void take_drain(const Drain& drain);
  Welcome make_welcome() const;
  bool is_own_user() const;
  bool takes_log() const;
  Description describe() const;
  bool take_log(int fd, ControlError* error);

  const uint64_t id_;
  Shared& shared_;
  ControlSocket socket_;
  UniqueFd process_;  // pidfd
  HostRegistration registration_;
  Stage stage_ = Stage::kHello;
  std::vector<uint32_t> opened_;
  uint32_t threads_to_answer_ = 0;  // that have not attached or drained yet
  uint64_t let_go_ = 0;             // threads that have released it, by bit
  uint64_t calls_ended_ = 0;
  int64_t deadline_ns_;
  uint32_t opening_ = 0;      // connections that it asked for and has no answer to
  uint64_t connections_ = 0;  // that other hosts were given to it
  bool attached_ = false;
  bool in_order_ = false;
  bool wants_to_leave_ = false;
};

}  // namespace drover::engine
