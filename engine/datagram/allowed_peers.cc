#include "engine/datagram/allowed_peers.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace drover::engine {
namespace {

constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};  // RFC 4291, section 2.5.5.2

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

UdpAddress parse_ip(std::string_view text) {
  UdpAddress address;
  const std::string terminated(text);
  if (::inet_pton(AF_INET, terminated.c_str(), address.ip.data()) == 1) {
    address.family = 4;
  } else if (::inet_pton(AF_INET6, terminated.c_str(), address.ip.data()) == 1) {
    address.family = 6;
  }
  return address;
}

}  // namespace

AllowedPeers::Ip AllowedPeers::ip_of(const UdpAddress& address) {
  Ip ip{address.family};
  if (address.family == 6 && std::equal(kMapped.begin(), kMapped.end(), address.ip.begin())) {
    ip[0] = 4;
    std::copy(address.ip.begin() + kMapped.size(), address.ip.end(), ip.begin() + 1);
  } else {
    std::copy(address.ip.begin(), address.ip.end(), ip.begin() + 1);
  }
  return ip;
}

std::string AllowedPeers::parse_entry(std::string_view entry, Range* range) {
  const size_t slash = std::min(entry.find('/'), entry.size());
  const UdpAddress address = parse_ip(entry.substr(0, slash));
  if (address.family == 0) return "is no IP address or network; expected such as 10.0.0.7, 10.1.0.0/16 or fd00::/8";
  const Ip first = ip_of(address);
  const unsigned most = first[0] == 4 ? 32 : 128;
  unsigned bits = most;
  if (slash != entry.size()) {
    const std::string_view digits = entry.substr(slash + 1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc() || end != digits.data() + digits.size() || bits > most) {
      return "has no prefix length of 0 to " + std::to_string(most) + " behind its /";
    }
  }
  *range = {first, first};
  for (unsigned bit = bits; bit < most; ++bit) {
    const auto mask = static_cast<uint8_t>(0x80 >> bit % 8);
    if ((first[1 + bit / 8] & mask) != 0) return "has bits behind its prefix: an address, and not a network";
    range->last[1 + bit / 8] |= mask;
  }
  return "";
}

std::string AllowedPeers::parse(std::string_view text, AllowedPeers* allowed) {
  allowed->ranges_.clear();
  if (trim(text).empty()) return "";
  std::vector<Range> ranges;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    const std::string_view entry = trim(text.substr(0, comma));
    if (more) text.remove_prefix(comma + 1);
    if (ranges.size() == kMostEntries) return "lines.allow: more than " + std::to_string(kMostEntries) + " entries";
    std::string wrong = parse_entry(entry, &ranges.emplace_back());
    if (!wrong.empty()) return "lines.allow: '" + std::string(entry) + "' " + wrong;
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  for (const Range& range : ranges) {
    if (!allowed->ranges_.empty() && range.first <= allowed->ranges_.back().last) {
      allowed->ranges_.back().last = std::max(allowed->ranges_.back().last, range.last);
    } else {
      allowed->ranges_.push_back(range);
    }
  }
  return "";
}

bool AllowedPeers::allows(const UdpAddress& address) const {
  if (ranges_.empty()) return true;
  const Ip ip = ip_of(address);
  auto behind = std::upper_bound(ranges_.begin(), ranges_.end(), ip,
                                 [](const Ip& value, const Range& range) { return value < range.first; });
  return behind != ranges_.begin() && ip <= std::prev(behind)->last;
}

}  // namespace drover::engine
