// Channelz requests of any bytes, and answers with addresses and names of any bytes: u8 method, u8 size of the request,
// the request, an address. What is answered must be fields to its end, and an id must stand for what it was made of.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/channelz/channelz_answer.h"
#include "engine/reflection/wire_fields.h"

using namespace drover::engine;

namespace {

void check(const std::string& wire) {
  WireFields fields(wire);
  while (fields.next()) {
  }
  if (fields.broken()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto method = static_cast<ChannelzMethod>(data[0] % kChannelzPaths.size());
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t split = std::min<size_t>(data[1], rest.size());
  const auto request = parse_channelz(method, rest.substr(0, split));
  SocketFacts facts;
  facts.local = facts.remote = facts.cipher = facts.local_certificate = rest.substr(split);
  ServerFacts server;
  server.name = facts.remote;
  server.listen.push_back({7, facts.remote});
  if (request) {
    const EntityId id = EntityId::of(request->id);
    if (id.kind != EntityKind::kNone && id.value() != request->id) std::abort();
    facts.counts.last_sent_ns = server.last_call_ns = request->start & INT64_MAX;
    facts.send_window = request->max_results;
  }
  check(ChannelzAnswer::connection(request ? request->id : 1, facts, 0));
  check(ChannelzAnswer::listener(server.listen.front()));
  check(ChannelzAnswer::servers({&server, 1}, true, 0));
  const ChannelzAnswer::Ref ref{request ? request->start : 0, facts.remote};
  check(ChannelzAnswer::sockets({&ref, 1}, false));
  return 0;
}
