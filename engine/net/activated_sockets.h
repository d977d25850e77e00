// Listening sockets that systemd made and passed on (socket activation): descriptors from 3 on, as sd_listen_fds(3) has
// it. A host that asks for an address which one of them is bound to gets that socket, instead of a new one; so clients
// can connect while no engine or no host is there, and a port below 1024 needs no capability.
//
//   from the environment  LISTEN_PID (this process), LISTEN_FDS (how many), LISTEN_FDNAMES (names, by colons)
//   by a host             --listen-fds N: the host got them, and started this engine as its child
//
// Sockets are found by their addresses, as newer gRPC C++ does; names are for the log. The engine keeps them open when
// its listeners close: connections wait in the socket's queue for the next host. Thread-safe once made.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "object/unique_fd.h"

namespace drover::engine {

class ActivatedSockets {
 public:
  ActivatedSockets() = default;
  ActivatedSockets(ActivatedSockets&&) = default;
  ActivatedSockets& operator=(ActivatedSockets&&) = default;

  // The descriptors from 3 on that the environment says are this process's; none without LISTEN_PID and LISTEN_FDS.
  // What they say that cannot be, and descriptors that do not listen for streams, are told in `wrong`.
  static ActivatedSockets from_environment(const std::function<const char*(const char*)>& environment,
                                           std::vector<std::string>* wrong);
  // `count` descriptors from `first` on. Those that do not listen for streams are closed.
  static ActivatedSockets take(int first, int count, std::string_view names, std::vector<std::string>* wrong);

  // Those bound to `address`, as AddListeningPort spells it: two if IPv4 and IPv6 have one each. Wildcards of both
  // families are one address.
  std::vector<int> at(std::string_view address) const;

  bool empty() const { return sockets_.empty(); }
  // "*:443 (https), unix:/run/x.sock".
  std::string describe() const;

  static constexpr int kFirst = 3;
  static constexpr int kMost = 1024;

 private:
  struct Socket {
    UniqueFd fd;
    std::string address;  // as canonical_addresses() spells it
    std::string name;
  };
  std::vector<Socket> sockets_;
};

}  // namespace drover::engine
