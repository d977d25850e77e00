#include "engine/dispatch/remote_lines.h"

#include <algorithm>
#include <new>
#include <utility>

#include "channel/control_format.h"
#include "datagram/link_format.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

namespace drover::engine {
namespace {

constexpr uint32_t kClosedPerTurn = 256;  // ends of connections, of links that are gone

log::Limit g_link_limit(50);

}  // namespace

RemoteLines::RemoteLines(const RemoteOptions& options, uint32_t thread, Io& io, HostLinks& links, HostLines& lines,
                         ThreadMetrics& metrics, HostEvents* events)
    : options_(options),
      thread_(thread),
      io_(io),
      links_(links),
      lines_(lines),
      metrics_(metrics),
      events_(events),
      batch_(ports_),
      table_(options.peers, *this, metrics),
      sent_(metrics.counter("drover_peer_datagrams_sent_total", "Datagrams of links that were sent")),
      not_sent_(metrics.counter("drover_peer_datagrams_not_sent_total", "Datagrams that the kernel did not take")),
      calls_(metrics.counter("drover_peer_send_calls_total", "System calls that sent datagrams of links")) {}

RemoteLines::~RemoteLines() {
  events_ = nullptr;
  table_.end_all(monotonic_ns(), batch_);
  batch_.finish();
  for (const Counter* counter : {sent_, not_sent_, calls_}) metrics_.remove(counter);
}

// ---- ports

bool RemoteLines::open_port(Port port, const SocketAddress& address, std::string* error) {
  ports_[port] = UdpPort::open(
      address, port == kListening && options_.shared, io_, buffers_, [this](UdpPort& ready) { receive(ready); }, error);
  return ports_[port] != nullptr;
}

bool RemoteLines::listen(std::string* error) {
  return !options_.listen || open_port(kListening, *options_.listen, error);
}

bool RemoteLines::have_port(Port port, std::string* error) {
  if (ports_[port] != nullptr) return true;
  UdpAddress any;
  any.family = port == kIpv4 ? 4 : 6;
  SocketAddress address;
  address.size = any.to(&address.storage);
  return open_port(port, address, error);
}

void RemoteLines::receive(UdpPort& port) {
  const int64_t now_ns = monotonic_ns();
  const auto at = std::find_if(ports_.begin(), ports_.end(), [&port](const auto& each) { return each.get() == &port; });
  const auto index = static_cast<uint32_t>(at - ports_.begin());
  port.receive([&](const UdpAddress& from, std::span<const std::byte> bytes, bool truncated) {
    table_.datagram(index, index == kListening, from, bytes, truncated, now_ns, batch_);
  });
}

bool RemoteLines::turn(int64_t now_ns) {
  const bool did = table_.turn(now_ns, batch_);
  batch_.finish();
  sent_->add(batch_.sent() - sent_->value());
  not_sent_->add(batch_.failed() - not_sent_->value());
  calls_->add(batch_.calls() - calls_->value());
  if (!leaving_) [[likely]]
    return did;
  leave();
  return true;
}

// ---- links

RemoteLink* RemoteLines::remote_of(PeerLink& link) {
  if (link.owner == nullptr) {
    remotes_.push_back(std::make_unique<RemoteLink>(link, options_.max_connections));
    link.owner = remotes_.back().get();
  }
  return static_cast<RemoteLink*>(link.owner);
}

bool RemoteLines::on_link(PeerLink& link) {
  try {
    remote_of(link);
  } catch (const std::bad_alloc&) {
    return false;
  }
  sockaddr_storage storage;
  const socklen_t size = link.address().to(&storage);
  log::info(g_link_limit, "peer_linked", {{"peer", describe_peer(storage, size)}});
  return true;
}

void RemoteLines::on_ended(PeerLink& link, const char* why) {
  sockaddr_storage storage;
  const socklen_t size = link.address().to(&storage);
  log::info(g_link_limit, "peer_link_ended", {{"peer", describe_peer(storage, size)}, {"why", why}});
  auto* remote = static_cast<RemoteLink*>(link.owner);
  if (remote == nullptr) return;
  remote->gone = true;
  remote->peer = nullptr;
  for (const auto& [connection, question] : remote->questions) answer(question, ControlCode::kNotServed, 0, why);
  remote->questions.clear();
  leaving_ = true;
}

// Closes the connections of links that are gone, some each turn.
void RemoteLines::leave() {
  uint32_t left = kClosedPerTurn;
  leaving_ = false;
  for (size_t i = remotes_.size(); i-- != 0;) {
    RemoteLink& remote = *remotes_[i];
    if (!remote.gone) continue;
    if (lines_.leave(remote, &left)) {
      remotes_.erase(remotes_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      leaving_ = true;
    }
  }
}

// ---- connections that hosts here ask for

void RemoteLines::answer(const RemoteLink::Question& question, ControlCode code, uint16_t connection, const char* why) {
  if (events_ == nullptr) return;
  events_->connection_opened(question.host, thread_, {question.request, code, connection, why});
}

void RemoteLines::connect(HostLink& client, const LineRequest& request) {
  const RemoteLink::Question question{request.client, request.request};
  const Port port = request.remote->family == 4 ? kIpv4 : kIpv6;
  std::string error;
  if (!have_port(port, &error)) {
    log::error(g_link_limit, "no port for links to other engines", {{"why", error}});
    return answer(question, ControlCode::kNotServed, 0, "the engine cannot open a UDP socket");
  }
  PeerLink* link = table_.open(*request.remote, port, monotonic_ns());
  if (link == nullptr) {
    return answer(question, ControlCode::kNotServed, 0, "the engine can make no link there now (lines.max_peers)");
  }
  RemoteLink& remote = *remote_of(*link);
  const char* why = "";
  std::optional<uint16_t> connection = lines_.begin(client, request.client_worker, remote, &why);
  if (!connection) return answer(question, ControlCode::kResourceExhausted, 0, why);
  try {
    remote.questions.emplace(*connection, question);
  } catch (...) {
    lines_.refused(remote, *connection);
    throw;
  }
  ask(remote, *connection, request.name);
}

void RemoteLines::ask(RemoteLink& remote, uint16_t connection, std::string_view name) {
  for (uint8_t index = 0;; ++index) {
    LineOpenSlot slot{};
    slot.type = kLineOpenType;
    slot.connection = connection;
    slot.index = index;
    slot.length = static_cast<uint8_t>(std::min(name.size(), sizeof slot.name));
    std::memcpy(slot.name, name.data(), slot.length);
    name.remove_prefix(slot.length);
    if (name.empty()) slot.flags = kLineLast;
    remote.push(to_slot(slot));
    if (name.empty()) return;
  }
}

void RemoteLines::take_opened(RemoteLink& remote, const Slot& slot) {
  const auto opened = slot_as<LineOpenedSlot>(slot);
  const auto found = remote.questions.find(opened.connection);
  if (found == remote.questions.end()) return remote.fail("it answered for a connection that it was not asked for");
  const RemoteLink::Question question = found->second;
  remote.questions.erase(found);
  switch (OpenRefusal{opened.refusal}) {
    case OpenRefusal::kNone:
      if (auto number = lines_.opened(remote, opened.connection, opened.number)) {
        answer(question, ControlCode::kNone, *number, "");
      }
      return;
    case OpenRefusal::kNotServed:
      lines_.refused(remote, opened.connection);
      return answer(question, ControlCode::kNotServed, 0, "no host of the other engine serves the name");
    case OpenRefusal::kResourceExhausted:
      lines_.refused(remote, opened.connection);
      return answer(question, ControlCode::kResourceExhausted, 0, "the other engine has no room for the connection");
  }
  lines_.refused(remote, opened.connection);
  answer(question, ControlCode::kNotServed, 0, "the other engine gave no known answer");
}

// ---- connections that other engines ask for

// Hosts that serve one name take turns, in the order of their ids.
HostLink* RemoteLines::server_of(std::string_view name) {
  HostLink* first = nullptr;
  for (const auto& link : links_.attached()) {
    const HostAttachment& host = link->host();
    if (link->leaving || link->draining || link->failure() != nullptr) continue;
    if (std::find(host.line_names.begin(), host.line_names.end(), name) == host.line_names.end()) continue;
    if (first == nullptr || (first->host().id <= last_server_ && host.id > last_server_)) first = link.get();
  }
  if (first != nullptr) last_server_ = first->host().id;
  return first;
}

void RemoteLines::take_open(RemoteLink& remote, const Slot& slot) {
  const auto open = slot_as<LineOpenSlot>(slot);
  const bool last = (open.flags & kLineLast) != 0;
  const bool follows = open.index == remote.name_parts && (open.index == 0 || open.connection == remote.name_of);
  const bool full = open.length == sizeof open.name;
  if (!follows || (open.flags & ~kLineLast) != 0 || open.length > sizeof open.name || (!last && !full) ||
      open.length == 0 || remote.name.size() + open.length > kMaxLineName) {
    return remote.fail("it sent a part of a LINE_OPEN that no engine sends");
  }
  try {
    remote.name.append(reinterpret_cast<const char*>(open.name), open.length);
    remote.name_of = open.connection;
    ++remote.name_parts;
    if (!last) return;
    serve(remote, open.connection);
  } catch (const std::bad_alloc&) {
    return remote.fail("the engine has no memory for what it asks");
  }
  remote.name.clear();
  remote.name_parts = 0;
}

void RemoteLines::serve(RemoteLink& remote, uint16_t connection) {
  LineOpenedSlot opened{};
  opened.type = kLineOpenedType;
  opened.connection = connection;
  opened.refusal = static_cast<uint8_t>(OpenRefusal::kNotServed);
  if (HostLink* server = server_of(remote.name)) {
    opened.refusal = static_cast<uint8_t>(OpenRefusal::kResourceExhausted);
    const char* why = "";
    const auto worker = static_cast<uint32_t>(served_++ % server->workers());
    if (auto number = lines_.accept(remote, connection, *server, worker, &why)) {
      opened.refusal = static_cast<uint8_t>(OpenRefusal::kNone);
      opened.number = *number;
    }
  }
  remote.push(to_slot(opened));
}

void RemoteLines::on_slot(PeerLink& link, const std::byte* bytes) {
  if (link.owner == nullptr) [[unlikely]]
    return link.fail("the engine has no memory for it");
  RemoteLink& remote = *static_cast<RemoteLink*>(link.owner);
  Slot slot;
  std::memcpy(&slot, bytes, sizeof slot);
  if (remote.name_parts != 0 && slot.type != kLineOpenType) [[unlikely]]
    return remote.fail("it sent a part of a LINE_OPEN that no engine sends");
  switch (slot.type) {
    [[likely]] case kLineType:
      return lines_.take_line(remote, 0, slot);
    case kLineCloseType:
      return lines_.take_close(remote, 0, slot);
    case kLineOpenType:
      return take_open(remote, slot);
    case kLineOpenedType:
      return take_opened(remote, slot);
  }
  remote.fail("it sent a slot of an unknown type");
}

}  // namespace drover::engine
