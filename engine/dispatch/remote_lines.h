// RemoteLines: connections of RPC lines to and from hosts of other engines, on one engine thread: it asks links for
// them, gives those that other engines ask for to hosts that serve the name, and runs the sockets.
//
//   host --LineSwitch--> RemoteLink --PeerTable--> UdpBatch --> UDP --> UdpPort --PeerTable--> RemoteLink --> host
//
// Ports: one that other engines may open links to (lines.listen), and one for each address family for links that this
// engine opens, so that the kernel's choice among the threads' listening sockets does not move them.
//
// Thread-safety: none; one engine thread, but for the constructor.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/metrics.h"
#include "engine/datagram/peer_table.h"
#include "engine/datagram/udp_port.h"
#include "engine/dispatch/host_events.h"
#include "engine/dispatch/host_links.h"
#include "engine/dispatch/line_request.h"
#include "engine/dispatch/remote_link.h"
#include "engine/net/io.h"
#include "engine/net/socket_address.h"

namespace drover::engine {

struct RemoteOptions {
  std::optional<SocketAddress> listen;  // nothing: other engines open no links to this one
  bool shared = false;                  // other engine threads listen there, too
  uint32_t max_connections = 4096;      // of one link
  PeerOptions peers;
};

class RemoteLines final : private PeerEvents {
 public:
  // All of them outlive it; `events` may be null.
  RemoteLines(const RemoteOptions& options, uint32_t thread, Io& io, HostLinks& links, HostLines& lines,
              ThreadMetrics& metrics, HostEvents* events);
  // Other engines are told.
  ~RemoteLines();
  RemoteLines(const RemoteLines&) = delete;
  RemoteLines& operator=(const RemoteLines&) = delete;

  // Opens the listening port. False: `error` says why not.
  bool listen(std::string* error);

  // connection_opened follows, in the end. May throw bad_alloc.
  void connect(HostLink& client, const LineRequest& request);

  // Sends what is due. True if it did anything.
  bool turn(int64_t now_ns);
  // turn() has something to do at once.
  bool busy() const { return table_.next_ns() == 0 || leaving_; }
  int64_t next_ns() const { return table_.next_ns(); }

  const PeerTable& peers() const { return table_; }
  // Where other engines may open links.
  UdpAddress listening() const { return ports_[kListening]->address(); }

 private:
  enum Port : uint32_t { kListening, kIpv4, kIpv6, kPorts };

  // ---- PeerEvents
  void on_slot(PeerLink& link, const std::byte* bytes) override;
  bool on_link(PeerLink& link) override;
  void on_ended(PeerLink& link, const char* why) override;

  RemoteLink* remote_of(PeerLink& link);
  bool open_port(Port port, const SocketAddress& address, std::string* error);
  bool have_port(Port port, std::string* error);
  void receive(UdpPort& port);
  void answer(const RemoteLink::Question& question, ControlCode code, uint16_t connection, const char* why);
  void ask(RemoteLink& remote, uint16_t connection, std::string_view name);
  void take_open(RemoteLink& remote, const Slot& slot);
  void take_opened(RemoteLink& remote, const Slot& slot);
  void serve(RemoteLink& remote, uint16_t connection);
  HostLink* server_of(std::string_view name);
  void leave();

  const RemoteOptions options_;
  const uint32_t thread_;
  Io& io_;
  HostLinks& links_;
  HostLines& lines_;
  ThreadMetrics& metrics_;
  HostEvents* events_;
  std::vector<std::unique_ptr<RemoteLink>> remotes_;
  bool leaving_ = false;  // some are gone and have connections
  UdpBuffers buffers_;
  std::array<std::unique_ptr<UdpPort>, kPorts> ports_;
  UdpBatch batch_;
  PeerTable table_;
  uint64_t last_server_ = 0, served_ = 0;
  Counter* sent_;
  Counter* not_sent_;
  Counter* calls_;
};

}  // namespace drover::engine
