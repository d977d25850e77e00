#include "engine/channelz/channelz_request.h"

#include "engine/reflection/wire_fields.h"

namespace drover::engine {

// The requests' fields have the same order: an id (of requests about one server's sockets or one thing), the first id
// of a list, the number of results.
std::optional<ChannelzRequest> parse_channelz(ChannelzMethod method, std::string_view wire) {
  ChannelzRequest request;
  request.method = method;
  WireFields fields(wire);
  while (fields.next()) {
    if (fields.type != 0) continue;
    const auto value = static_cast<int64_t>(fields.value);
    switch (method) {
      case ChannelzMethod::kTopChannels:
      case ChannelzMethod::kServers:
        if (fields.number == 1) request.start = value;
        if (fields.number == 2) request.max_results = value;
        break;
      case ChannelzMethod::kServerSockets:
        if (fields.number == 1) request.id = value;
        if (fields.number == 2) request.start = value;
        if (fields.number == 3) request.max_results = value;
        break;
      default:
        if (fields.number == 1) request.id = value;
    }
  }
  if (fields.broken()) return std::nullopt;
  return request;
}

}  // namespace drover::engine
