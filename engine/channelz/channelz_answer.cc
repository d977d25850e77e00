// Messages by field number; channelz.proto names them.
#include "engine/channelz/channelz_answer.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "engine/reflection/wire_fields.h"

namespace drover::engine {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

void append_int(uint32_t number, uint64_t value, std::string* out) {
  if (value == 0) return;
  append_varint(uint64_t{number} << 3, out);
  append_varint(value, out);
}
void append_text(uint32_t number, std::string_view text, std::string* out) {
  if (!text.empty()) append_bytes(number, text, out);
}

// google.protobuf.Timestamp of a time by CLOCK_MONOTONIC.
void append_time(uint32_t number, int64_t time_ns, int64_t wall_ns, std::string* out) {
  if (time_ns == 0) return;
  const int64_t at = time_ns + wall_ns;
  std::string time;
  append_int(1, static_cast<uint64_t>(at / kSecondNs), &time);
  append_int(2, static_cast<uint64_t>(at % kSecondNs), &time);
  append_bytes(number, time, out);
}

// google.protobuf.Int64Value.
void append_wrapped(uint32_t number, int64_t value, std::string* out) {
  std::string wrapped;
  append_int(1, static_cast<uint64_t>(value), &wrapped);
  append_bytes(number, wrapped, out);
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Address.TcpIpAddress of "127.0.0.1:80" or "%5B::1%5D:80"; empty: it is neither.
std::string tcp_address(std::string_view text, int family) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  std::string_view host = text.substr(0, colon), digits = text.substr(colon + 1);
  take_prefix(host, "%5B");
  if (host.ends_with("%5D")) host.remove_suffix(3);
  char bytes[sizeof(in6_addr)];
  uint16_t port = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (parsed.ec != std::errc() || inet_pton(family, std::string(host).c_str(), bytes) != 1) return {};
  std::string tcp;
  append_bytes(1, {bytes, family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr)}, &tcp);
  append_int(2, port, &tcp);
  return tcp;
}

// Address.
void append_address(uint32_t number, std::string_view address, std::string* out) {
  if (address.empty()) return;
  enum Kind : uint32_t { kTcp = 1, kUnix = 2, kOther = 3 };
  std::string_view rest = address;
  std::string inner, one;
  if (take_prefix(rest, "ipv4:")) {
    inner = tcp_address(rest, AF_INET);
  } else if (take_prefix(rest, "ipv6:")) {
    inner = tcp_address(rest, AF_INET6);
  }
  if (!inner.empty()) {
    append_bytes(kTcp, inner, &one);
  } else if (rest = address; take_prefix(rest, "unix:")) {
    append_text(1, rest, &inner);
    append_bytes(kUnix, inner, &one);
  } else {
    append_text(1, address, &inner);
    append_bytes(kOther, inner, &one);
  }
  append_bytes(number, one, out);
}

// SocketRef.
void append_socket_ref(uint32_t number, int64_t id, std::string_view name, std::string* out) {
  std::string ref;
  append_int(3, static_cast<uint64_t>(id), &ref);
  append_text(4, name, &ref);
  append_bytes(number, ref, out);
}

int64_t listener_id(const ListenSocket& socket) { return EntityId{EntityKind::kListener, socket.listener, 0}.value(); }

// Server.
std::string server_message(const ServerFacts& server, int64_t wall_ns) {
  std::string ref, data, message;
  append_int(5, static_cast<uint64_t>(EntityId{EntityKind::kServer, server.host, 0}.value()), &ref);
  append_text(6, server.name, &ref);
  append_int(2, server.started, &data);
  append_int(3, server.succeeded, &data);
  append_int(4, server.failed, &data);
  append_time(5, server.last_call_ns, wall_ns, &data);
  append_bytes(1, ref, &message);
  append_bytes(2, data, &message);
  for (const ListenSocket& socket : server.listen) {
    append_socket_ref(3, listener_id(socket), socket.address, &message);
  }
  return message;
}

// SocketData.
std::string socket_data(const SocketFacts& facts, int64_t wall_ns) {
  const SocketCounts& counts = facts.counts;
  const uint64_t ended = counts.streams_started - std::min(facts.streams_open, counts.streams_started);
  std::string data;
  append_int(1, counts.streams_started, &data);
  append_int(2, ended - std::min(counts.streams_failed, ended), &data);
  append_int(3, counts.streams_failed, &data);
  append_int(4, counts.messages_sent, &data);
  append_int(5, counts.messages_received, &data);
  append_int(6, counts.keepalives_sent, &data);
  append_time(8, counts.last_stream_ns, wall_ns, &data);
  append_time(9, counts.last_sent_ns, wall_ns, &data);
  append_time(10, counts.last_received_ns, wall_ns, &data);
  append_wrapped(11, facts.send_window, &data);
  append_wrapped(12, facts.receive_window, &data);
  return data;
}

// GetSocketResponse with that Socket.
std::string socket_response(const std::string& socket) {
  std::string response;
  append_bytes(1, socket, &response);
  return response;
}

constexpr uint32_t kEnd = 2;  // of each response that is a list

}  // namespace

std::string ChannelzAnswer::top_channels() {
  std::string response;
  append_int(kEnd, 1, &response);
  return response;
}

std::string ChannelzAnswer::servers(std::span<const ServerFacts> servers, bool end, int64_t wall_ns) {
  std::string response;
  for (const ServerFacts& one : servers) append_bytes(1, server_message(one, wall_ns), &response);
  append_int(kEnd, end, &response);
  return response;
}

std::string ChannelzAnswer::server(const ServerFacts& server, int64_t wall_ns) {
  std::string response;
  append_bytes(1, server_message(server, wall_ns), &response);
  return response;
}

std::string ChannelzAnswer::sockets(std::span<const Ref> sockets, bool end) {
  std::string response;
  for (const Ref& one : sockets) append_socket_ref(1, one.id, one.name, &response);
  append_int(kEnd, end, &response);
  return response;
}

std::string ChannelzAnswer::connection(int64_t id, const SocketFacts& facts, int64_t wall_ns) {
  std::string socket;
  append_socket_ref(1, id, facts.remote, &socket);
  append_bytes(2, socket_data(facts, wall_ns), &socket);
  append_address(3, facts.local, &socket);
  append_address(4, facts.remote, &socket);
  if (!facts.cipher.empty()) {
    std::string tls, security;
    append_text(1, facts.cipher, &tls);
    append_text(3, facts.local_certificate, &tls);
    append_text(4, facts.remote_certificate, &tls);
    append_bytes(1, tls, &security);
    append_bytes(5, security, &socket);
  }
  return socket_response(socket);
}

std::string ChannelzAnswer::listener(const ListenSocket& listening) {
  std::string socket;
  append_socket_ref(1, listener_id(listening), listening.address, &socket);
  append_address(3, listening.address, &socket);
  return socket_response(socket);
}

}  // namespace drover::engine
