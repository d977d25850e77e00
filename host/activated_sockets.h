// Listening sockets that systemd passed to this process (socket activation, sd_listen_fds(3)): LISTEN_FDS descriptors
// from 3 on, if LISTEN_PID is this process. The engine serves them: a host passes them on to each engine that it
// starts, at the same numbers, and keeps them for the next one.
#pragma once

#include <vector>

namespace drover::host {

inline constexpr int kFirstActivated = 3;

struct ActivatedSockets {
  int count = 0;             // of descriptors that systemd passed
  std::vector<int> sockets;  // those of them that still are listening sockets
};

// They become close-on-exec, so that other programs which this process starts do not get them. Not thread-safe against
// setenv().
ActivatedSockets activated_sockets();

}  // namespace drover::host
