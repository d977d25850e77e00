// LinePeers: which other engines serve which names with RPC lines (lines.peers).
//
//   shop.Stock=10.0.0.2:4700,shop.*=10.0.0.3:4700,shop.*=10.0.0.4:4700
//
// Of the entries that a name matches, the exact ones count, or else those with the longest pattern; several take turns.
// Thread-safety: none; the control thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/datagram/udp_address.h"

namespace drover::engine {

class LinePeers {
 public:
  // Returns what is wrong with `text`, or "".
  static std::string parse(std::string_view text, LinePeers* peers);

  // The next engine that serves the name; nothing: none is known.
  std::optional<UdpAddress> next(std::string_view name);
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    std::string pattern;
    UdpAddress address;
  };
  std::vector<Entry> entries_;
  uint64_t turns_ = 0;
};

}  // namespace drover::engine
