// PeerLink: one engine thread's link to a thread of another engine: both directions of its slots, its keys, and the
// times at which something is due. PeerTable makes it, ends it, and brings it datagrams.
//
//   asking --cookie--> connecting --accept--> open ------> ended        the side that opened it
//                                  connect--> open ------> ended        the other side
//
// Datagrams to an end carry a key that comes from that end's secret and from the high part of the sequence
// (link_key.h), so that a datagram that was recorded 2^32 slots ago counts no more than one of an earlier link.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <span>

#include "datagram/link_frame.h"
#include "datagram/siphash.h"
#include "datagram/slot_receiver.h"
#include "datagram/slot_sender.h"
#include "engine/datagram/udp_address.h"

namespace drover::engine {

class PeerLink;

// Who holds links (PeerTable).
class LinkHolder {
 public:
  // It has something to send, or has failed.
  virtual void mark(PeerLink& link) = 0;
  // 64 bytes that came through the link, unaligned, next in order.
  virtual void on_slot(PeerLink& link, const std::byte* slot) = 0;

 protected:
  ~LinkHolder() = default;
};

// The keys of datagrams to one end.
class LinkKeys {
 public:
  static constexpr int kEpochBits = 28;

  explicit LinkKeys(uint64_t secret = 0) : secret_(secret) { make(&now_, 0), make(&other_, 1); }
  uint32_t of(uint64_t number) {
    const uint64_t epoch = number >> kEpochBits;
    if (epoch == now_.epoch) [[likely]]
      return now_.key;
    std::swap(now_, other_);
    if (epoch != now_.epoch) make(&now_, epoch);
    return now_.key;
  }

 private:
  struct Key {
    uint64_t epoch;
    uint32_t key;
  };
  void make(Key* key, uint64_t epoch) const {
    *key = {epoch, static_cast<uint32_t>(siphash({secret_, 0x6472'6f76'6572}, {epoch}))};
  }
  uint64_t secret_;
  Key now_, other_;
};

// Where datagrams go out. The parts are used before finish() returns.
class DatagramOut {
 public:
  virtual void send(uint32_t port, const UdpAddress& to, std::span<const std::byte> head, std::span<const Slot> first,
                    std::span<const Slot> second) = 0;

 protected:
  ~DatagramOut() = default;
};

class PeerLink {
 public:
  enum class State : uint8_t { kAsking, kConnecting, kOpen, kEnded };

  PeerLink(LinkHolder& holder, const UdpAddress& address, uint32_t port, uint16_t number, bool opener,
           const SlotSenderOptions& sender, uint32_t window, LinkMemory& memory)
      : holder_(holder),
        address_(address),
        port_(port),
        number_(number),
        opener_(opener),
        sender_(sender, memory),
        receiver_(window, memory) {}
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  const UdpAddress& address() const { return address_; }
  bool opener() const { return opener_; }
  State state() const { return state_; }
  bool ended() const { return state_ == State::kEnded; }
  uint64_t queued() const { return sender_.held(); }
  const SlotSender& sender() const { return sender_; }

  // Sends the slot with `second` as its bytes 8 to 15, in order. False: there is no room; `share` as in SlotSender.
  bool push(const Slot& slot, uint64_t second, uint32_t share);
  // It ends with this turn: on_ended follows. The first reason stays: a static string.
  void fail(const char* why);

  // For who uses the link.
  void* owner = nullptr;
  uint32_t uses = 0;  // 0: it ends when it was idle for a while

 private:
  friend class PeerTable;

  LinkFields fields(LinkKind kind, uint64_t sequence, int64_t now_ns);
  LinkRefusal take(const LinkDatagram& datagram, int64_t now_ns);
  void flush(int64_t now_ns, DatagramOut& out);
  void send_ack(LinkKind kind, int64_t now_ns, DatagramOut& out);
  int64_t ack_ns() const { return receiver_.owes() ? owed_since_ns_ + kAckDelayNs : INT64_MAX; }

  static constexpr int64_t kAckDelayNs = 100'000;

  LinkHolder& holder_;
  const UdpAddress address_;
  const uint32_t port_;
  const uint16_t number_;
  const bool opener_;
  SlotSender sender_;
  SlotReceiver receiver_;
  State state_ = State::kAsking;
  uint16_t far_number_ = 0;
  uint64_t nonce_ = 0, cookie_ = 0, secret_ = 0;
  LinkKeys own_keys_, far_keys_;  // of datagrams to this end, and to the other one
  const char* failure_ = nullptr;
  bool dirty_ = false;         // in the table's list of those to flush
  bool tell_ = true;           // the other end, when this link ends
  int64_t heard_ns_ = 0;       // from the other end
  int64_t asked_ns_ = 0;       // when hello, connect or ping went out
  int64_t pause_ns_ = 0;       // until the next one
  int64_t used_ns_ = 0;        // when it had a use
  int64_t took_ns_ = 0;        // when the newest slot came
  int64_t owed_since_ns_ = 0;  // an acknowledgement
};

}  // namespace drover::engine
