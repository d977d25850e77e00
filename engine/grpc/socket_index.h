// SocketIndex: the connections of one engine thread by listener and number, for channelz.
// Thread-safety: none; the loop's thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/call/socket_view.h"

namespace drover::engine {

class Acceptor;
class TransportConnection;

class SocketIndex final : public SocketView {
 public:
  // `acceptor` outlives it.
  explicit SocketIndex(const Acceptor& acceptor) : acceptor_(acceptor) {}
  SocketIndex(const SocketIndex&) = delete;
  SocketIndex& operator=(const SocketIndex&) = delete;

  // Gives the connection its number; it stays until remove(). Throws std::bad_alloc.
  void add(TransportConnection& connection);
  void remove(const TransportConnection& connection);

  // ---- SocketView
  void list(std::span<const uint32_t> listeners, uint64_t from, size_t most,
            std::vector<SocketName>* out) const override;
  bool find(std::span<const uint32_t> listeners, uint64_t number, SocketFacts* out) const override;
  std::string listener_address(uint32_t listener) const override;

 private:
  using Key = std::pair<uint32_t, uint64_t>;  // listener, number

  const Acceptor& acceptor_;
  std::map<Key, const TransportConnection*> connections_;
  uint64_t last_ = 0;
};

}  // namespace drover::engine
