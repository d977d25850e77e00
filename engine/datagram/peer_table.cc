#include "engine/datagram/peer_table.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <new>

namespace drover::engine {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kCookiePeriodNs = 8'000 * kMs;  // a cookie is good for one to two of them
constexpr int64_t kFirstPauseNs = 20 * kMs;       // until hello or connect go out again; doubles
constexpr double kHelloRate = 5'000, kResetRate = 1'000;
constexpr int64_t kMostAskingNs = 5'000 * kMs;  // hosts wait ten seconds for the answer to an OpenConnection
constexpr int64_t kStallPart = 8;  // of the time-out: a turn that is later by so much was the engine's own stop

int64_t real_ns() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

SlotSenderOptions sender_options(const PeerOptions& options) {
  SlotSenderOptions sender;
  sender.max_lines = options.max_lines;
  sender.most_slots =
      static_cast<uint32_t>(std::bit_floor(std::clamp<size_t>(options.peer_memory / sizeof(Slot), 1024, 1 << 24)));
  sender.congestion.most = options.window;
  return sender;
}

}  // namespace

PeerTable::PeerTable(const PeerOptions& options, PeerEvents& events, ThreadMetrics& metrics)
    : options_(options),
      events_(events),
      metrics_(metrics),
      memory_{options.memory},
      hellos_(kHelloRate, kHelloRate / 4, 0),
      resets_(kResetRate, kResetRate / 4, 0),
      received_(metrics.counter("drover_peer_datagrams_total", "Datagrams of links between engines that were taken")),
      resent_(metrics.counter("drover_peer_resent_total", "Datagrams of links that were sent again")),
      ended_(metrics.counter("drover_peer_links_ended_total", "Links to other engines that have ended")),
      links_gauge_(metrics.gauge("drover_peer_links", "Links to other engines")),
      memory_gauge_(metrics.gauge("drover_peer_memory_bytes", "Memory of slots that links keep")) {
  for (size_t why = 0; why < kRefusals; ++why) {
    refused_[why] = metrics.counter("drover_peer_datagrams_dropped_total", "Datagrams of links that were dropped",
                                    {{"why", link_refusal_name(LinkRefusal(why))}});
  }
}

PeerTable::~PeerTable() {
  for (const Counter* counter : refused_) metrics_.remove(counter);
  for (const Counter* counter : {received_, resent_, ended_}) metrics_.remove(counter);
  for (const Gauge* gauge : {links_gauge_, memory_gauge_}) metrics_.remove(gauge);
}

// ---- links

uint64_t PeerTable::random() { return siphash({options_.seed, options_.cookie_key.second}, {++randoms_}); }

void PeerTable::mark(PeerLink& link) {
  if (link.dirty_) return;
  link.dirty_ = true;
  dirty_.push_back(&link);  // as many places as links are reserved
}

PeerLink* PeerTable::make(const UdpAddress& address, uint32_t port, bool opener, int64_t now_ns) {
  if (links() >= options_.max_peers) return nullptr;
  ByAddress& by_address = opener ? opened_ : accepted_;
  try {
    if (free_.empty()) {
      dirty_.reserve(links_.size() + 1);
      in_hand_.reserve(links_.size() + 1);
      free_.reserve(links_.size() + 1);
      links_.emplace_back();
      free_.push_back(static_cast<uint16_t>(links_.size() - 1));
    }
    const uint16_t number = free_.back();
    LinkHolder& holder = *this;
    auto link = std::make_unique<PeerLink>(holder, address, port, number, opener, sender_options(options_),
                                           options_.window, memory_);
    by_address[address] = link.get();
    free_.pop_back();
    links_[number] = std::move(link);
    PeerLink& made = *links_[number];
    made.secret_ = random();
    made.own_keys_ = LinkKeys(made.secret_);
    made.heard_ns_ = made.used_ns_ = now_ns;
    links_gauge_->set(static_cast<int64_t>(links()));
    return &made;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

PeerLink* PeerTable::open(const UdpAddress& address, uint32_t port, int64_t now_ns) {
  if (auto found = opened_.find(address); found != opened_.end() && found->second->failure_ == nullptr) {
    return found->second;
  }
  if (opened_.contains(address)) return nullptr;  // it ends with this turn
  PeerLink* link = make(address, port, true, now_ns);
  if (link == nullptr) return nullptr;
  const auto wall = static_cast<uint64_t>(options_.wall_ns != nullptr ? options_.wall_ns() : real_ns());
  link->nonce_ = last_nonce_ = std::max(wall, last_nonce_ + 1);
  link->pause_ns_ = kFirstPauseNs;
  mark(*link);
  return link;
}

void PeerTable::end(PeerLink& link, int64_t now_ns, DatagramOut& out) {
  if (link.tell_ && link.state_ == PeerLink::State::kOpen) link.send_ack(LinkKind::kEnd, now_ns, out);
  link.state_ = PeerLink::State::kEnded;
  ended_->add();
  events_.on_ended(link, link.failure_);
  ByAddress& by_address = link.opener_ ? opened_ : accepted_;
  if (auto found = by_address.find(link.address_); found != by_address.end() && found->second == &link) {
    by_address.erase(found);
  }
  const uint16_t number = link.number_;
  links_[number].reset();
  free_.push_back(number);
  links_gauge_->set(static_cast<int64_t>(links()));
}

// For one more of an address that has shown that it has it. Links without a use make room, the one that was silent
// longest first.
bool PeerTable::make_room(const UdpAddress& address) {
  uint32_t same = 0;
  PeerLink* idle = nullptr;
  for (const auto& [from, link] : accepted_) {
    same += from.same_ip(address) ? 1 : 0;
    if (link->uses == 0 && link->failure_ == nullptr && (idle == nullptr || link->heard_ns_ < idle->heard_ns_)) {
      idle = link;
    }
  }
  if (same >= options_.max_of_address) return false;
  if (links() < options_.max_peers) return true;
  if (idle != nullptr) idle->fail("it was not in use, and another engine needed its place");
  return false;  // it is free with the next turn, and the other engine asks again
}

// ---- what is due

int64_t PeerTable::patience_ns(const PeerLink& link) const {
  return link.state_ == PeerLink::State::kOpen ? options_.timeout_ns : std::min(options_.timeout_ns, kMostAskingNs);
}

int64_t PeerTable::due_ns(const PeerLink& link) const {
  const int64_t quiet = options_.timeout_ns / 4;
  int64_t due = link.heard_ns_ + patience_ns(link);
  if (link.state_ != PeerLink::State::kOpen) return std::min(due, link.asked_ns_ + link.pause_ns_);
  due = std::min({due, std::max(link.heard_ns_, link.asked_ns_) + quiet, link.sender_.timer_ns(), link.ack_ns()});
  if (link.opener_ && link.uses == 0) due = std::min(due, link.used_ns_ + options_.idle_ns);
  return due;
}

void PeerTable::schedule(const PeerLink& link) { due_at(due_ns(link)); }

void PeerTable::timer(PeerLink& link, int64_t now_ns, DatagramOut& out) {
  if (link.uses != 0) link.used_ns_ = now_ns;
  if (now_ns - link.heard_ns_ >= patience_ns(link)) {
    return link.fail(link.state_ == PeerLink::State::kOpen ? "the other engine was not heard for lines.peer_timeout_ms"
                                                           : "no engine answers there");
  }
  if (link.state_ != PeerLink::State::kOpen) {
    if (now_ns - link.asked_ns_ >= link.pause_ns_) ask(link, now_ns, out);
    return;
  }
  if (link.opener_ && link.uses == 0 && now_ns - link.used_ns_ >= options_.idle_ns) {
    return link.fail("it was not in use");
  }
  if (now_ns >= link.sender_.timer_ns()) link.sender_.timer(now_ns);
  if (now_ns - std::max(link.heard_ns_, link.asked_ns_) >= options_.timeout_ns / 4) {
    link.asked_ns_ = now_ns;
    link.send_ack(LinkKind::kPing, now_ns, out);
  }
  mark(link);
}

// An engine that was stopped itself, or found no CPU, has not listened: its peers have as much longer.
void PeerTable::timers(int64_t now_ns, DatagramOut& out) {
  const int64_t late = now_ns - next_ns_;
  const int64_t stall = late >= options_.timeout_ns / kStallPart ? late : 0;
  next_ns_ = INT64_MAX;
  for (const auto& link : links_) {
    if (link == nullptr) continue;
    link->heard_ns_ = std::min(now_ns, link->heard_ns_ + stall);
    if (due_ns(*link) <= now_ns) timer(*link, now_ns, out);
    schedule(*link);
  }
  memory_gauge_->set(static_cast<int64_t>(memory_.used));
}

bool PeerTable::turn(int64_t now_ns, DatagramOut& out) {
  if (now_ns >= next_ns_) timers(now_ns, out);
  if (dirty_.empty()) return false;
  in_hand_.swap(dirty_);
  for (PeerLink* link : in_hand_) {
    if (link->failure_ != nullptr) {
      end(*link, now_ns, out);
      continue;
    }
    link->dirty_ = false;
    flush(*link, now_ns, out);
    schedule(*link);
  }
  in_hand_.clear();
  return true;
}

void PeerTable::flush(PeerLink& link, int64_t now_ns, DatagramOut& out) {
  if (link.state_ == PeerLink::State::kOpen) {
    const uint64_t before = link.sender_.resent();
    link.flush(now_ns, out);
    resent_->add(link.sender_.resent() - before);
  } else if (link.asked_ns_ == 0) {
    ask(link, now_ns, out);
  }
}

void PeerTable::end_all(int64_t now_ns, DatagramOut& out) {
  for (const auto& link : links_) {
    if (link != nullptr) link->fail("the engine goes down");
  }
  turn(now_ns, out);
}

// ---- how links are made

uint64_t PeerTable::cookie(const UdpAddress& address, uint64_t nonce, int64_t now_ns, int periods_ago) const {
  const auto period = static_cast<uint64_t>(now_ns / kCookiePeriodNs - periods_ago);
  return siphash(options_.cookie_key, {address.high(), address.low(), address.rest(), nonce, period});
}

void PeerTable::send_record(uint32_t port, const UdpAddress& to, LinkKind kind, uint16_t link, const LinkRecord& record,
                            DatagramOut& out) {
  LinkFields fields;
  fields.kind = kind;
  fields.lines = 1;
  fields.link = link;
  std::byte bytes[kLinkHeadSize + sizeof record];
  write_link_head(fields, bytes);
  std::memcpy(bytes + kLinkHeadSize, &record, sizeof record);
  out.send(port, to, bytes, {}, {});
}

// Hello or connect.
void PeerTable::ask(PeerLink& link, int64_t now_ns, DatagramOut& out) {
  if (link.asked_ns_ != 0) link.pause_ns_ = std::min(2 * link.pause_ns_, patience_ns(link) / 4);
  link.asked_ns_ = now_ns;
  // A cookie gets old, and the other engine may have started anew.
  if (link.pause_ns_ >= 8 * kFirstPauseNs) link.state_ = PeerLink::State::kAsking;
  LinkRecord record{};
  record.version = kLinkVersion;
  record.nonce = link.nonce_;
  LinkKind kind = LinkKind::kHello;
  if (link.state_ == PeerLink::State::kConnecting) {
    kind = LinkKind::kConnect;
    record.link = link.number_;
    record.max_lines = static_cast<uint16_t>(options_.max_lines);
    record.window = static_cast<uint16_t>(options_.window);
    record.cookie = link.cookie_;
    record.secret = link.secret_;
  }
  send_record(link.port_, link.address_, kind, 0, record, out);
}

void PeerTable::accept(PeerLink& link, DatagramOut& out) {
  LinkRecord record{};
  record.version = kLinkVersion;
  record.link = link.number_;
  record.max_lines = static_cast<uint16_t>(options_.max_lines);
  record.window = static_cast<uint16_t>(options_.window);
  record.nonce = link.nonce_;
  record.secret = link.secret_;
  send_record(link.port_, link.address_, LinkKind::kAccept, link.far_number_, record, out);
}

LinkRefusal PeerTable::take_hello(uint32_t port, const UdpAddress& from, const LinkRecord& record, int64_t now_ns,
                                  DatagramOut& out) {
  if (!hellos_.spend(now_ns)) return LinkRefusal::kNotListening;
  LinkRecord answer{};
  answer.version = kLinkVersion;
  answer.nonce = record.nonce;
  answer.cookie = cookie(from, record.nonce, now_ns, 0);
  send_record(port, from, LinkKind::kCookie, 0, answer, out);
  return LinkRefusal::kOk;
}

LinkRefusal PeerTable::take_cookie(const UdpAddress& from, const LinkRecord& record, int64_t now_ns, DatagramOut& out) {
  auto found = opened_.find(from);
  if (found == opened_.end()) return LinkRefusal::kStale;
  PeerLink& link = *found->second;
  if (link.state_ == PeerLink::State::kOpen || link.nonce_ != record.nonce || link.asked_ns_ == 0) {
    return LinkRefusal::kStale;
  }
  // A second one is for a hello that went out again; its cookie is newer.
  const bool first = link.state_ == PeerLink::State::kAsking;
  link.state_ = PeerLink::State::kConnecting;
  link.cookie_ = record.cookie;
  if (!first) return LinkRefusal::kOk;
  link.asked_ns_ = 0;
  link.pause_ns_ = kFirstPauseNs;
  ask(link, now_ns, out);
  schedule(link);
  return LinkRefusal::kOk;
}

LinkRefusal PeerTable::take_connect(uint32_t port, const UdpAddress& from, const LinkRecord& record, int64_t now_ns,
                                    DatagramOut& out) {
  if (record.cookie != cookie(from, record.nonce, now_ns, 0) &&
      record.cookie != cookie(from, record.nonce, now_ns, 1)) {
    return LinkRefusal::kCookie;
  }
  if (auto found = accepted_.find(from); found != accepted_.end()) {
    PeerLink& before = *found->second;
    if (record.nonce < before.nonce_ || before.failure_ != nullptr) return LinkRefusal::kStale;
    if (record.nonce == before.nonce_) {
      if (before.far_number_ != record.link) return LinkRefusal::kStale;
      accept(before, out);  // the first one was lost
      return LinkRefusal::kOk;
    }
    before.tell_ = false;
    before.fail("the other engine has started anew");
    return LinkRefusal::kOk;  // it asks again, and its place is free then
  }
  if (!make_room(from)) return LinkRefusal::kTooManyPeers;
  PeerLink* link = make(from, port, false, now_ns);
  if (link == nullptr) return LinkRefusal::kTooManyPeers;
  link->state_ = PeerLink::State::kOpen;
  link->nonce_ = record.nonce;
  link->far_number_ = record.link;
  link->far_keys_ = LinkKeys(record.secret);
  link->sender_.set_peer(record.max_lines, record.window);
  if (!events_.on_link(*link)) {
    link->fail("the engine has no memory for another link");
    return LinkRefusal::kTooManyPeers;
  }
  schedule(*link);
  accept(*link, out);
  return LinkRefusal::kOk;
}

LinkRefusal PeerTable::take_accept(const UdpAddress& from, uint16_t number, const LinkRecord& record, int64_t now_ns) {
  PeerLink* link = find(number);
  if (link == nullptr || !link->opener_ || link->state_ != PeerLink::State::kConnecting ||
      link->nonce_ != record.nonce || link->failure_ != nullptr) {
    return LinkRefusal::kStale;
  }
  if (link->address_ != from) return LinkRefusal::kSource;
  link->state_ = PeerLink::State::kOpen;
  link->far_number_ = record.link;
  link->far_keys_ = LinkKeys(record.secret);
  link->sender_.set_peer(record.max_lines, record.window);
  link->heard_ns_ = now_ns;
  mark(*link);
  return LinkRefusal::kOk;
}

// ---- datagrams of links

LinkRefusal PeerTable::take_reset(const UdpAddress& from, const LinkFields& fields) {
  for (const ByAddress* by_address : {&opened_, &accepted_}) {
    auto found = by_address->find(from);
    if (found == by_address->end()) continue;
    PeerLink& link = *found->second;
    if (link.state_ != PeerLink::State::kOpen || link.far_number_ != fields.ack) continue;
    // The key of a sequence that this end has sent.
    const uint64_t behind = static_cast<uint32_t>(static_cast<uint32_t>(link.sender_.next()) - fields.sequence);
    if (behind > link.sender_.next() - link.sender_.acked()) continue;
    if (link.far_keys_.of(link.sender_.next() - behind) != fields.key) continue;
    link.tell_ = false;
    link.fail("the other engine does not know the link: it has started anew");
    return LinkRefusal::kOk;
  }
  return LinkRefusal::kKey;
}

LinkRefusal PeerTable::take_other(uint32_t port, const UdpAddress& from, const LinkDatagram& datagram, int64_t now_ns,
                                  DatagramOut& out) {
  const LinkFields& fields = datagram.fields;
  PeerLink* link = find(fields.link);
  LinkRefusal refusal = LinkRefusal::kUnknownLink;
  if (link != nullptr && link->state_ == PeerLink::State::kOpen && link->failure_ == nullptr) {
    refusal = link->address_ != from ? LinkRefusal::kSource : link->take(datagram, now_ns);
  }
  if (refusal == LinkRefusal::kOk || refusal == LinkRefusal::kDuplicate || refusal == LinkRefusal::kNoRoom) {
    mark(*link);
    return refusal;
  }
  // Its sender believes in a link that is not there; the answer is no larger, and only that sender can use it.
  const bool gone =
      refusal == LinkRefusal::kUnknownLink || refusal == LinkRefusal::kSource || refusal == LinkRefusal::kKey;
  if (gone && fields.kind != LinkKind::kEnd && resets_.spend(now_ns)) {
    LinkFields reset;
    reset.kind = LinkKind::kReset;
    reset.key = fields.key;
    reset.sequence = fields.sequence;
    reset.ack = fields.link;
    std::byte bytes[kLinkHeadSize];
    write_link_head(reset, bytes);
    out.send(port, from, bytes, {}, {});
  }
  return refusal;
}

LinkRefusal PeerTable::take(uint32_t port, bool listening, const UdpAddress& from, std::span<const std::byte> bytes,
                            int64_t now_ns, DatagramOut& out) {
  LinkDatagram datagram;
  if (LinkRefusal refusal = check_link_datagram(bytes, &datagram); refusal != LinkRefusal::kOk) return refusal;
  switch (datagram.fields.kind) {
    case LinkKind::kHello:
    case LinkKind::kConnect: {
      if (!listening) return LinkRefusal::kNotListening;
      const auto record = datagram.record<LinkRecord>();
      return datagram.fields.kind == LinkKind::kHello ? take_hello(port, from, record, now_ns, out)
                                                      : take_connect(port, from, record, now_ns, out);
    }
    case LinkKind::kCookie:
      return take_cookie(from, datagram.record<LinkRecord>(), now_ns, out);
    case LinkKind::kAccept:
      return take_accept(from, datagram.fields.link, datagram.record<LinkRecord>(), now_ns);
    case LinkKind::kReset:
      return take_reset(from, datagram.fields);
    case LinkKind::kSlots:
    case LinkKind::kAck:
    case LinkKind::kPing:
    case LinkKind::kEnd:
      break;
  }
  return take_other(port, from, datagram, now_ns, out);
}

void PeerTable::datagram(uint32_t port, bool listening, const UdpAddress& from, std::span<const std::byte> bytes,
                         bool truncated, int64_t now_ns, DatagramOut& out) {
  const bool allowed = !listening || options_.allowed.allows(from);
  const LinkRefusal refusal = !allowed    ? LinkRefusal::kNotAllowed
                              : truncated ? LinkRefusal::kSize
                                          : take(port, listening, from, bytes, now_ns, out);
  if (refusal == LinkRefusal::kOk) {
    received_->add();
  } else {
    refused_[static_cast<size_t>(refusal)]->add();
  }
}

}  // namespace drover::engine
