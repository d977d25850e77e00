// Channelz: clients ask the server for its sockets and calls (grpc.channelz.v1). The engine answers; docs/guide.md,
// "Channelz".
#pragma once

namespace grpc::channelz::experimental {

// Servers built from now on offer channelz at their addresses. Not thread-safe.
void InitChannelzService();

}  // namespace grpc::channelz::experimental
