// ChannelzAnswer: responses of gRPC's channelz service, v1, in wire bytes (proto/grpc/channelz/v1/channelz.proto).
// The caller bounds what goes in. All functions throw std::bad_alloc.
// Thread-safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/call/engine_answer.h"
#include "engine/call/socket_view.h"
#include "engine/channelz/channelz_request.h"

namespace drover::engine {

struct ListenSocket {
  uint32_t listener;
  std::string address;  // empty: it is not open
};

struct ServerFacts {
  uint64_t host = 0;
  std::string name;
  uint64_t started = 0, succeeded = 0, failed = 0;  // calls that the host was given
  int64_t last_call_ns = 0;                         // CLOCK_MONOTONIC; 0: never
  std::vector<ListenSocket> listen;
};

class ChannelzAnswer final : public EngineAnswer {
 public:
  // `wall_ns`: CLOCK_REALTIME minus CLOCK_MONOTONIC.
  static std::string top_channels();
  static std::string servers(std::span<const ServerFacts> servers, bool end, int64_t wall_ns);
  static std::string server(const ServerFacts& server, int64_t wall_ns);
  struct Ref {
    int64_t id;
    std::string name;
  };
  static std::string sockets(std::span<const Ref> sockets, bool end);
  static std::string connection(int64_t id, const SocketFacts& facts, int64_t wall_ns);
  static std::string listener(const ListenSocket& socket);

  explicit ChannelzAnswer(std::string wire) : wire_(std::move(wire)), piece_{wire_.data(), wire_.size()} {}
  ChannelzAnswer(const ChannelzAnswer&) = delete;
  ChannelzAnswer& operator=(const ChannelzAnswer&) = delete;

  std::span<const Piece> pieces() const override { return {&piece_, wire_.empty() ? 0u : 1u}; }
  size_t size() const override { return wire_.size(); }
  size_t memory() const override { return sizeof(*this) + wire_.capacity(); }

 private:
  const std::string wire_;
  const Piece piece_;
};

}  // namespace drover::engine
