// LineRequest: a connection of RPC lines that a host has asked for. Thread-safety: a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/datagram/udp_address.h"

namespace drover::engine {

// `remote`: with a name that an engine at that address serves; else with a host here.
struct LineRequest {
  uint64_t client = 0, server = 0;  // hosts
  uint32_t client_worker = 0, server_worker = 0;
  uint32_t request = 0;  // the client's number of the question
  std::optional<UdpAddress> remote = {};
  std::string name = {};
};

}  // namespace drover::engine
