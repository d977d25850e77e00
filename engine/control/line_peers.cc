#include "engine/control/line_peers.h"

#include <utility>

#include "channel/control_format.h"
#include "engine/net/socket_address.h"

namespace drover::engine {
namespace {

constexpr size_t kMostEntries = 4096;

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

// Longer ones before shorter ones, exact ones before all.
size_t weight(std::string_view pattern) { return pattern.ends_with('*') ? pattern.size() : SIZE_MAX; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::string LinePeers::parse(std::string_view text, LinePeers* peers) {
  *peers = LinePeers();
  while (!trim(text).empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view entry = trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::string wrong = "lines.peers: '" + std::string(entry) + "' ";
    const size_t equals = entry.rfind('=');
    if (equals == std::string_view::npos) return wrong + "is not NAME=ADDRESS:PORT";
    const std::string_view pattern = trim(entry.substr(0, equals));
    if (pattern.empty() || pattern.size() > kMaxLineName) return wrong + "has no name of 1 to 255 characters";
    if (pattern.substr(0, pattern.size() - 1).find('*') != std::string_view::npos) {
      return wrong + "has a * that is not at the end of its name";
    }
    const ParsedAddress parsed = parse_listen_address(trim(entry.substr(equals + 1)));
    if (!parsed.error.empty()) return wrong + "has no address: " + parsed.error;
    const SocketAddress& address = parsed.candidates.front();
    const UdpAddress udp = UdpAddress::from(address.storage);
    if (udp.family == 0 || udp.port == 0 || udp.ip == UdpAddress{}.ip) {
      return wrong + "has no address of another engine: expected an IP address and a port";
    }
    if (peers->entries_.size() == kMostEntries) return "lines.peers: more than 4096 entries";
    peers->entries_.push_back({std::string(pattern), udp});
  }
  return "";
}

std::optional<UdpAddress> LinePeers::next(std::string_view name) {
  size_t best = 0;
  std::vector<const Entry*> found;
  for (const Entry& entry : entries_) {
    if (!matches(entry.pattern, name) || weight(entry.pattern) < best) continue;
    if (weight(entry.pattern) > best) found.clear();
    best = weight(entry.pattern);
    found.push_back(&entry);
  }
  if (found.empty()) return std::nullopt;
  return found[turns_++ % found.size()]->address;
}

}  // namespace drover::engine
