// AllowedPeers: the addresses and networks from which other engines may open links to this one (lines.allow).
//
//   10.0.0.7,10.1.0.0/16,fd00:1::/32
//
// An IPv4 address that an IPv6 socket shows as ::ffff:10.0.0.7 counts as the IPv4 address. Thread-safety: read-only
// once parsed. A look-up is a binary search, without an allocation.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/datagram/udp_address.h"

namespace drover::engine {

class AllowedPeers {
 public:
  static constexpr size_t kMostEntries = 4096;

  // Everybody.
  AllowedPeers() = default;
  // Returns what is wrong with `text`, or "". An empty text: everybody.
  static std::string parse(std::string_view text, AllowedPeers* allowed);

  bool allows(const UdpAddress& address) const;

 private:
  using Ip = std::array<uint8_t, 17>;  // the family (4 or 6), and the address as UdpAddress has it
  struct Range {
    Ip first, last;
  };
  static Ip ip_of(const UdpAddress& address);
  static std::string parse_entry(std::string_view entry, Range* range);

  std::vector<Range> ranges_;  // ascending, apart; none: everybody
};

}  // namespace drover::engine
