// HostEvents: what engine threads tell the control server about hosts.
#pragma once

#include <cstdint>
#include <string>

#include "channel/control_format.h"

namespace drover::engine {

// Called on an engine thread; must not block.
class HostEvents {
 public:
  // Calls of all its methods may go to the host on this thread.
  virtual void host_attached(uint64_t host, uint32_t thread) = 0;
  // The host violated the channel's rules: detach it everywhere.
  virtual void host_failed(uint64_t host, uint32_t thread, std::string why) = 0;
  // A draining host has no calls left on this thread; `calls_ended`: how many it completed here in its life.
  virtual void host_drained(uint64_t host, uint32_t thread, uint64_t calls_ended) = 0;
  // After detach: nothing on this thread refers to the host's memory any more.
  virtual void host_let_go(uint64_t host, uint32_t thread) = 0;
  // How an attached host's wish for a connection of RPC lines ended. `why` is a static string.
  struct Opened {
    uint32_t request;
    ControlCode code;  // kNone: open
    uint16_t connection;
    const char* why;
  };
  virtual void connection_opened(uint64_t host, uint32_t thread, const Opened& opened) = 0;

 protected:
  ~HostEvents() = default;
};

}  // namespace drover::engine
