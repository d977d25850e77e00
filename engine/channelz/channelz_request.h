// Requests of gRPC's channelz service, v1 (gRFC A14), and the ids that its messages carry.
//
// An id names a server, a listening socket or a connection for the life of the engine, and is never used again:
//
//   bits  63 .. 2  a server: the host's number; a listening socket: the listener's; a connection: its number on its
//                  engine thread * 256 + the thread
//   bits   1 .. 0  EntityKind
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace drover::engine {

enum class ChannelzMethod : uint8_t {
  kTopChannels,
  kServers,
  kServer,
  kServerSockets,
  kChannel,
  kSubchannel,
  kSocket,
};
// In the order of ChannelzMethod.
inline constexpr std::array<std::string_view, 7> kChannelzPaths = {
    "/grpc.channelz.v1.Channelz/GetTopChannels", "/grpc.channelz.v1.Channelz/GetServers",
    "/grpc.channelz.v1.Channelz/GetServer",      "/grpc.channelz.v1.Channelz/GetServerSockets",
    "/grpc.channelz.v1.Channelz/GetChannel",     "/grpc.channelz.v1.Channelz/GetSubchannel",
    "/grpc.channelz.v1.Channelz/GetSocket",
};
inline constexpr std::string_view kChannelzService = "grpc.channelz.v1.Channelz";

struct ChannelzRequest {
  ChannelzMethod method = ChannelzMethod::kTopChannels;
  int64_t id = 0;           // of the server, channel, subchannel or socket; 0 in lists without
  int64_t start = 0;        // of a list: the first id
  int64_t max_results = 0;  // of a list; 0: as many as the server likes
};

// Null: the bytes are no request of that method. Fields that the request does not have are ignored.
std::optional<ChannelzRequest> parse_channelz(ChannelzMethod method, std::string_view wire);

enum class EntityKind : uint8_t { kNone = 0, kServer = 1, kListener = 2, kConnection = 3 };

struct EntityId {
  EntityKind kind = EntityKind::kNone;
  uint64_t number = 0;
  uint32_t thread = 0;  // of a connection

  static constexpr uint32_t kThreads = 256;  // engine.threads is at most that

  int64_t value() const {
    const uint64_t rest = kind == EntityKind::kConnection ? number * kThreads + thread : number;
    return static_cast<int64_t>(rest << 2 | static_cast<uint64_t>(kind));
  }
  // Of any value; kNone: no id.
  static EntityId of(int64_t value) {
    if (value <= 0) return {};
    const uint64_t rest = static_cast<uint64_t>(value) >> 2;
    const auto kind = static_cast<EntityKind>(value & 3);
    if (kind != EntityKind::kConnection) return {kind, rest, 0};
    return {kind, rest / kThreads, static_cast<uint32_t>(rest % kThreads)};
  }
  // The first number on that thread whose id as a connection is at least `value`, which is not negative.
  static uint64_t first_connection(int64_t value, uint32_t thread) {
    const uint64_t rest = static_cast<uint64_t>(value) >> 2;
    return rest <= thread ? 0 : (rest - thread + kThreads - 1) / kThreads;
  }
};

}  // namespace drover::engine
