// One stream of a session. The handler allocates it, as a base of its own call, and owns it again once on_closed was
// called. What is public is the handler's to read; the rest is the session's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "codec/encode/encode_types.h"
#include "engine/http2/flow_window.h"
#include "engine/http2/head_cache.h"
#include "engine/http2/wire.h"

namespace drover::engine::http2 {

// The bytes of one DATA sequence: a few of its own in front, then pieces that belong to the caller and stay until the
// session says that they were sent. Taken from the front.
class Body {
 public:
  static constexpr size_t kPrefixBytes = 5;  // room for gRPC's message prefix

  // `prefix_size`: at most kPrefixBytes.
  void start(const char* prefix, size_t prefix_size, std::span<const Piece> pieces, size_t pieces_size) {
    prefix_at_ = static_cast<uint8_t>(kPrefixBytes - prefix_size);
    if (prefix_size > 0) std::memcpy(prefix_ + prefix_at_, prefix, prefix_size);
    pieces_ = pieces;
    offset_ = 0;
    left_ = prefix_size + pieces_size;
  }
  void drop() { left_ = 0; }
  size_t left() const { return left_; }

  // Hands out exactly `size` bytes (at most left()), as visit(const char*, size_t) in order.
  template <typename Visit>
  void take(size_t size, Visit visit) {
    left_ -= size;
    while (size > 0) {
      const char* from;
      size_t have;
      if (prefix_at_ < kPrefixBytes) {
        from = prefix_ + prefix_at_;
        have = std::min(size, kPrefixBytes - prefix_at_);
        prefix_at_ = static_cast<uint8_t>(prefix_at_ + have);
      } else if (offset_ == pieces_.front().size) {
        pieces_ = pieces_.subspan(1);
        offset_ = 0;
        continue;
      } else {
        from = pieces_.front().data + offset_;
        have = std::min(size, pieces_.front().size - offset_);
        offset_ += have;
      }
      visit(from, have);
      size -= have;
    }
  }

 private:
  char prefix_[kPrefixBytes];
  uint8_t prefix_at_ = kPrefixBytes;
  std::span<const Piece> pieces_;
  size_t offset_ = 0;  // in the first of pieces_
  size_t left_ = 0;
};

class Stream {
 public:
  uint32_t id() const { return id_; }
  // The peer has ended its side.
  bool remote_closed() const { return remote_closed_; }
  // The offset behind its last byte among all that the session has produced; 0: it has produced nothing of it.
  uint64_t produced_until() const { return produced_until_; }
  // What is still to be sent waits for the peer to open this stream's window.
  bool blocked() const { return output_ == Output::kBlocked; }
  // Bytes of the body that have not been produced.
  size_t unsent() const { return body_.left(); }
  Head* head() const { return head_.get(); }

 protected:
  Stream() = default;
  ~Stream() = default;
  // For the next use. The session has closed it.
  void reset_stream() { *this = Stream(); }
  Stream& operator=(const Stream&) = default;
  Stream(const Stream&) = default;

 private:
  friend class Session;
  friend class StreamTable;
  friend class Sender;

  enum class Output : uint8_t {
    kNone,     // nothing to send
    kReady,    // in the list of those that may send
    kWaiting,  // in the list of those that wait for the connection's window
    kBlocked,  // waits for its own
  };

  uint32_t id_ = 0;
  Output output_ = Output::kNone;
  bool headers_pending_ = false;   // to be sent, in this order: headers,
  bool end_pending_ = false;       // (body,) and the end:
  bool trailers_pending_ = false;  // with trailers, or empty
  bool headers_sent_ = false;
  bool local_closed_ = false;
  bool remote_closed_ = false;
  bool head_received_ = false;
  HeadRef head_;
  int64_t content_left_ = -1;  // of the announced content-length; -1: none was announced
  SendWindow send_;
  ReceiveWindow receive_;
  Body body_;
  uint64_t produced_until_ = 0;
  Stream* next_ = nullptr;  // in its list
  Stream* previous_ = nullptr;
};

// The open streams of a session, by id: open addressing. The peer chooses the ids, so their hash has a secret.
class StreamTable {
 public:
  Stream* find(uint32_t id) const {
    if (slots_.empty()) return nullptr;
    for (size_t at = home(id);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].id == id) return slots_[at].stream;
      if (!slots_[at].stream) return nullptr;
    }
  }
  // Makes the next insert() succeed. Throws std::bad_alloc.
  void reserve() {
    if (2 * (count_ + 1) > slots_.size()) rehash(std::max<size_t>(8, 2 * slots_.size()));
  }
  void insert(Stream& stream) {
    reserve();
    place(stream);
    ++count_;
  }
  void erase(const Stream& stream) {
    const size_t mask = slots_.size() - 1;
    size_t hole = home(stream.id_);
    while (slots_[hole].id != stream.id_) hole = (hole + 1) & mask;
    // Moves what follows into the hole, unless that would carry it in front of its home.
    for (size_t at = (hole + 1) & mask; slots_[at].stream; at = (at + 1) & mask) {
      if (((at - home(slots_[at].id)) & mask) < ((at - hole) & mask)) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = {};
    if (--count_ == 0 && slots_.size() > 64) slots_ = {};  // memory goes back
  }
  // The first stream from slot `at` on, which moves to it; null: the end. The stream may be erased before the next
  // call, and no other one.
  Stream* next(size_t& at) const {
    while (at < slots_.size() && !slots_[at].stream) ++at;
    return at < slots_.size() ? slots_[at].stream : nullptr;
  }
  size_t count() const { return count_; }
  size_t memory() const { return slots_.capacity() * sizeof(Slot); }

  // `visit` must not open or close streams.
  template <typename Visit>
  void each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.stream) visit(*slot.stream);
    }
  }

 private:
  struct Slot {
    uint32_t id = 0;
    Stream* stream = nullptr;
  };
  static uint64_t secret();  // odd; of the process

  size_t home(uint32_t id) const {
    static const uint64_t multiplier = secret();
    return (id * multiplier >> 40) & (slots_.size() - 1);
  }
  void place(Stream& stream) {
    size_t at = home(stream.id_);
    while (slots_[at].stream) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {stream.id_, &stream};
  }
  void rehash(size_t size) {
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.stream) place(*slot.stream);
    }
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t count_ = 0;
};

}  // namespace drover::engine::http2
