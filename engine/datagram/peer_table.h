// PeerTable: the links of one engine thread to other engines (datagram/link.toml): how they are made and end, what is
// dropped, and what is due. Sans I/O: datagrams come in by datagram() and go out through a DatagramOut.
//
//   opener --hello--> (remembers nothing) --cookie--> opener --connect(cookie)--> link --accept--> opener: link
//
// Datagrams are hostile: each is dropped and counted by the first reason that applies, and then nothing else has
// happened. A source that has not shown that it has its address costs a hash and at most one answer of the question's
// size; both, and resets, are limited by rate. Links, their connections and their memory are bounded.
//
// A link ends when the other end has not been heard for a time-out, says that it ends it, does not know it any more (it
// has started anew), or breaks the rules; and an unused one after a while. What was sent through it is never sent
// again through another one.
//
// Thread-safety: none; one engine thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "datagram/link_format.h"
#include "datagram/siphash.h"
#include "engine/base/metrics.h"
#include "engine/base/token_bucket.h"
#include "engine/datagram/allowed_peers.h"
#include "engine/datagram/peer_link.h"
#include "engine/datagram/udp_address.h"

namespace drover::engine {

struct PeerOptions {
  uint32_t max_peers = 256;             // links of this thread
  uint32_t max_of_address = 64;         // of them, those that one IP address has opened
  size_t peer_memory = 4 << 20;         // of slots that one link keeps until they are acknowledged
  size_t memory = 64 << 20;             // of all links of this thread
  int64_t timeout_ns = 3'000'000'000;   // without a word from the other end
  int64_t idle_ns = 60'000'000'000;     // without a use
  uint32_t max_lines = kMaxFrameLines;  // of a datagram
  uint32_t window = 4096;               // slots
  SipKey cookie_key = {};               // random
  uint64_t seed = 0;                    // random; of secrets
  AllowedPeers allowed = {};            // who may send to the port that takes links
  int64_t (*wall_ns)() = nullptr;       // CLOCK_REALTIME; null: the real one
};

// What the links are for.
class PeerEvents {
 public:
  // 64 bytes that came through the link, unaligned, next in order.
  virtual void on_slot(PeerLink& link, const std::byte* slot) = 0;
  // Another engine has made a link. False: it is refused.
  virtual bool on_link(PeerLink& link) = 0;
  // The link is gone after this. `why` is a static string.
  virtual void on_ended(PeerLink& link, const char* why) = 0;

 protected:
  ~PeerEvents() = default;
};

class PeerTable final : private LinkHolder {
 public:
  // `events` and `metrics` outlive it.
  PeerTable(const PeerOptions& options, PeerEvents& events, ThreadMetrics& metrics);
  ~PeerTable();
  PeerTable(const PeerTable&) = delete;
  PeerTable& operator=(const PeerTable&) = delete;

  // The link that this end has opened to that address, or a new one; its datagrams go out by `port`. Null: there are as
  // many links as there may be, or no memory.
  PeerLink* open(const UdpAddress& address, uint32_t port, int64_t now_ns);

  // A datagram that came; `listening`: by the port that other engines may open links to. `truncated`: it was longer.
  void datagram(uint32_t port, bool listening, const UdpAddress& from, std::span<const std::byte> bytes, bool truncated,
                int64_t now_ns, DatagramOut& out);
  // Sends what is due, and ends links. True if it did anything.
  bool turn(int64_t now_ns, DatagramOut& out);
  // When turn() is due at the latest; 0: at once.
  int64_t next_ns() const { return dirty_.empty() ? next_ns_ : 0; }
  // Tells all other ends that their links end: the engine goes down.
  void end_all(int64_t now_ns, DatagramOut& out);

  size_t links() const { return links_.size() - free_.size(); }
  uint64_t refused(LinkRefusal why) const { return refused_[static_cast<size_t>(why)]->value(); }
  const LinkMemory& memory() const { return memory_; }

 private:
  static constexpr size_t kRefusals = static_cast<size_t>(LinkRefusal::kNoRoom) + 1;
  using ByAddress = std::unordered_map<UdpAddress, PeerLink*, UdpAddressHash>;

  void mark(PeerLink& link) override;
  void on_slot(PeerLink& link, const std::byte* slot) override { events_.on_slot(link, slot); }
  void due_at(int64_t when_ns) { next_ns_ = std::min(next_ns_, when_ns); }
  void schedule(const PeerLink& link);
  int64_t patience_ns(const PeerLink& link) const;
  int64_t due_ns(const PeerLink& link) const;
  void timers(int64_t now_ns, DatagramOut& out);
  void timer(PeerLink& link, int64_t now_ns, DatagramOut& out);

  PeerLink* make(const UdpAddress& address, uint32_t port, bool opener, int64_t now_ns);
  void flush(PeerLink& link, int64_t now_ns, DatagramOut& out);
  void end(PeerLink& link, int64_t now_ns, DatagramOut& out);
  bool make_room(const UdpAddress& address);
  PeerLink* find(uint16_t number) { return number < links_.size() ? links_[number].get() : nullptr; }
  uint64_t random();

  LinkRefusal take(uint32_t port, bool listening, const UdpAddress& from, std::span<const std::byte> bytes,
                   int64_t now_ns, DatagramOut& out);
  LinkRefusal take_hello(uint32_t port, const UdpAddress& from, const LinkRecord& record, int64_t now_ns,
                         DatagramOut& out);
  LinkRefusal take_cookie(const UdpAddress& from, const LinkRecord& record, int64_t now_ns, DatagramOut& out);
  LinkRefusal take_connect(uint32_t port, const UdpAddress& from, const LinkRecord& record, int64_t now_ns,
                           DatagramOut& out);
  LinkRefusal take_accept(const UdpAddress& from, uint16_t number, const LinkRecord& record, int64_t now_ns);
  LinkRefusal take_reset(const UdpAddress& from, const LinkFields& fields);
  LinkRefusal take_other(uint32_t port, const UdpAddress& from, const LinkDatagram& datagram, int64_t now_ns,
                         DatagramOut& out);
  static void send_record(uint32_t port, const UdpAddress& to, LinkKind kind, uint16_t link, const LinkRecord& record,
                          DatagramOut& out);
  void ask(PeerLink& link, int64_t now_ns, DatagramOut& out);
  void accept(PeerLink& link, DatagramOut& out);
  uint64_t cookie(const UdpAddress& address, uint64_t nonce, int64_t now_ns, int periods_ago) const;

  const PeerOptions options_;
  PeerEvents& events_;
  ThreadMetrics& metrics_;
  LinkMemory memory_;
  std::vector<std::unique_ptr<PeerLink>> links_;  // by number
  std::vector<uint16_t> free_;
  ByAddress opened_, accepted_;
  std::vector<PeerLink*> dirty_, in_hand_;  // to flush or to end
  int64_t next_ns_ = INT64_MAX;
  uint64_t last_nonce_ = 0, randoms_ = 0;
  TokenBucket hellos_, resets_;

  std::array<Counter*, kRefusals> refused_;
  Counter* received_;
  Counter* resent_;
  Counter* ended_;
  Gauge* links_gauge_;
  Gauge* memory_gauge_;
};

}  // namespace drover::engine
