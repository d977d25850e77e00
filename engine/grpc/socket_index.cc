#include "engine/grpc/socket_index.h"

#include "engine/grpc/transport_connection.h"
#include "engine/net/acceptor.h"

namespace drover::engine {

void SocketIndex::add(TransportConnection& connection) {
  connections_.emplace(Key{connection.http2.listener(), last_ + 1}, &connection);
  connection.number = ++last_;
}

void SocketIndex::remove(const TransportConnection& connection) {
  connections_.erase({connection.http2.listener(), connection.number});
}

// Merges the listeners' connections, which are in order each.
void SocketIndex::list(std::span<const uint32_t> listeners, uint64_t from, size_t most,
                       std::vector<SocketName>* out) const {
  using At = decltype(connections_)::const_iterator;
  std::vector<At> heads;
  for (const uint32_t listener : listeners) heads.push_back(connections_.lower_bound({listener, from}));
  auto is_of = [&](At at, size_t i) { return at != connections_.end() && at->first.first == listeners[i]; };
  for (; most != 0; --most) {
    size_t least = heads.size();
    for (size_t i = 0; i < heads.size(); ++i) {
      if (!is_of(heads[i], i)) continue;
      if (least == heads.size() || heads[i]->first.second < heads[least]->first.second) least = i;
    }
    if (least == heads.size()) return;
    const At& at = heads[least];
    out->push_back({at->first.second, at->second->http2.peer().address});
    ++heads[least];
  }
}

bool SocketIndex::find(std::span<const uint32_t> listeners, uint64_t number, SocketFacts* out) const {
  for (const uint32_t listener : listeners) {
    const auto at = connections_.find({listener, number});
    if (at == connections_.end()) continue;
    at->second->describe(out);
    return true;
  }
  return false;
}

std::string SocketIndex::listener_address(uint32_t listener) const { return acceptor_.address(listener); }

}  // namespace drover::engine
