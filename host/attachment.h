// Attachment: one engine that this process is attached to: the control connection, the link that the workers use, and
// the child process if we started it. `open` does the whole handshake of channel/control.h.
//
// Thread-safety: one thread at a time (the Runtime's control thread), except for `link`, which the workers use too.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "channel/control_socket.h"
#include "host/call_interception.h"
#include "host/call_requests.h"
#include "host/engine_process.h"
#include "host/options.h"
#include "host/tls_offer.h"
#include "host/worker.h"

namespace drover::host {

class QueuePoller;

// What we ask of every engine that we attach to.
struct Offer {
  std::vector<grpc::internal::Method> methods;       // by the number in CALL
  std::vector<std::string> addresses;                // a port of 0 is replaced once an engine has picked one
  std::vector<std::shared_ptr<const TlsOffer>> tls;  // of each address, null: cleartext; or empty: all cleartext
  std::string descriptors;  // a FileDescriptorSet's bytes, for server reflection; empty: it is not asked for
  bool channelz = false;    // asked for
  HostOptions options;
  std::vector<std::string> line_names;  // served with RPC lines
  // Names by which this process is to find an engine, beside its addresses: those that it serves or opens.
  std::vector<std::string> engine_names;
  ReplyCompressionDefaults compression;
  uint32_t method_flags = 0;  // of MethodFlag, of all methods: the compressions that are refused
  // As in Hello: 0 is the engine's own setting. Where they differ from what `options` has they are wishes, and an
  // engine that has no room for them is asked for less (host/runtime.cc).
  uint32_t ring_slots = 0;
  uint64_t rx_bytes = 0, tx_bytes = 0;
  // Of servers with asynchronous methods. The threads that wait for events lead the workers; no crew is started.
  std::shared_ptr<QueuePoller> poller;
  bool led_by_queues = false;
  std::shared_ptr<CallRequests> requests;                    // null: no method is asynchronous
  std::shared_ptr<const LoadReports> load_reports;           // may be null
  std::shared_ptr<const InterceptorFactories> interceptors;  // null: none
};

struct AttachError {
  ControlCode code = ControlCode::kNone;
  std::string message;
};

class Attachment {
 public:
  // Finds an engine (the service that DROVER_ENGINE names, else an engine that still listens on our address or that an
  // offer of this user with one of our names uses, else a new child) and attaches. `ports` gets the bound port of each
  // address. Null: `error`. Waits for an engine to come only until `give_up` says so, which is asked every few ms.
  static std::unique_ptr<Attachment> open(
      const Offer& offer, std::vector<uint32_t>* ports, AttachError* error,
      const std::function<bool()>& give_up = [] { return false; });
  // An engine: our child, one that an earlier process of this user started, or the one that DROVER_ENGINE names.
  enum class Whose { kOurs, kEarlier, kService };
  // Attaches over an existing connection. An address that is in use is asked for again until `port_wait_ms` have
  // passed.
  static std::unique_ptr<Attachment> over(ControlSocket socket, const Offer& offer, std::vector<uint32_t>* ports,
                                          AttachError* error, int port_wait_ms = 0, Whose whose = Whose::kOurs);
  // Detaches from the engine. Workers must have been told (link->gone). Our child keeps running while other hosts are
  // attached to it; it ends when the last of them has detached.
  ~Attachment();

  ControlSocket& socket() { return socket_; }
  const std::shared_ptr<EngineLink>& link() const { return link_; }
  bool is_child() const { return child_.pid() > 0; }

 private:
  Attachment() = default;
  bool greet(const Offer& offer, AttachError* error);
  bool tell_of_engine(const Offer& offer, Whose whose, AttachError* error);
  bool register_methods(const Offer& offer, AttachError* error);
  bool register_descriptors(const Offer& offer, AttachError* error);
  bool serve_channelz(const Offer& offer, AttachError* error);
  bool refused(const ControlError& why, AttachError* error);
  bool serve_lines(const Offer& offer, AttachError* error);
  std::optional<Listening> listen_at(const std::string& address, const TlsOffer* tls, AttachError* error);
  bool listen(const Offer& offer, int port_wait_ms, std::vector<uint32_t>* ports, AttachError* error);
  bool start(AttachError* error);
  enum class Parting { kLastHost, kOthersStay, kNoAnswer };
  Parting detach();
  template <typename Answer>
  std::optional<Answer> ask(const ControlMessage* question, std::vector<UniqueFd>* fds, AttachError* error);

  ControlSocket socket_;
  std::shared_ptr<EngineLink> link_;
  uint32_t engine_pid_ = 0;
  EngineProcess child_;
  std::string control_path_;        // of our child
  std::vector<std::string> links_;  // that lead to it
};

// The worker threads' CPUs and the engine's, for SpinPolicy.
SpinPolicy::Options worker_spin(const HostOptions& options, const std::vector<int32_t>& engine_cpus);

}  // namespace drover::host
