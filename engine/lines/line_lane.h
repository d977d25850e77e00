// LineLane: the connections of RPC lines that end at one lane (one worker of a host, on one engine thread) or at a link
// to another engine, by their index (channel/line.h). A line that comes from there finds in it where it goes.
//
//   opening --- the other engine has opened it ---> open                          (through a link only)
//   open --- the host closes it, or the other end is gone ---> both sides have said LINE_CLOSE ---> free
//     '---- the engine closes it: kClosing, until the host has answered with its own LINE_CLOSE ----'
//
// Since both rings keep their order, and links do, no line of a connection can come after its number has been given to
// another one.
// Thread-safety: none; one engine thread. Freeing an index allocates nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace drover::engine {

template <typename Link, typename Remote>
struct LineEnd {
  enum class State : uint8_t {
    kFree,
    kOpening,  // the other engine has been asked: the host does not know of it yet
    kOpen,
    kClosing,    // this end has been told, and has not answered: what it sends meanwhile is dropped
    kAbandoned,  // of a link: as kOpening, but the host that asked is gone
  };
  Link* peer = nullptr;      // the host at the other end, while it is open
  Remote* remote = nullptr;  // or the link that leads there
  uint32_t peer_worker = 0;
  uint16_t peer_index = 0;  // in the other end's lane
  uint16_t peer_name = 0;   // the connection's number at the other end: that of lines to it
  uint16_t name = 0;        // and at this one
  State state = State::kFree;
  bool client = false;    // sends requests; else responses
  bool dropping = false;  // the rest of the message of `dropped_call`, whose first part found no room
  uint32_t dropped_call = 0;
};

template <typename Link, typename Remote>
class LineLane {
 public:
  using End = LineEnd<Link, Remote>;

  // A free index below `limit`, whose end the caller fills in; nothing: all are in use. May throw bad_alloc, and has
  // done nothing then.
  std::optional<uint32_t> take(uint32_t limit) {
    if (!free_.empty()) {
      uint32_t index = free_.back();
      free_.pop_back();
      return index;
    }
    if (ends_.size() >= limit) return std::nullopt;
    free_.reserve(ends_.size() + 1);
    ends_.emplace_back();
    return static_cast<uint32_t>(ends_.size() - 1);
  }
  // Of an index that take() gave.
  void free(uint32_t index) {
    ends_[index] = End{};
    free_.push_back(index);
  }
  // Null: no connection has that index.
  End* find(uint32_t index) {
    if (index >= ends_.size() || ends_[index].state == End::State::kFree) [[unlikely]]
      return nullptr;
    return &ends_[index];
  }
  End& operator[](uint32_t index) { return ends_[index]; }
  // Of all that were ever in use at once.
  uint32_t size() const { return static_cast<uint32_t>(ends_.size()); }

 private:
  std::vector<End> ends_;
  std::vector<uint32_t> free_;
};

}  // namespace drover::engine
