// Messages as RPC lines (channel/channel.toml, LineSlot): a message of up to 48 bytes is one line, a longer one
// several.
//
//   message    [ 48 bytes ][ 48 bytes ][ 4 bytes ]
//   lines      index 0      index 1     index 2, last          all with one connection, call and function
//
// split() is for a sender's own bytes. LineAssembly takes lines as they come out of a ring or a datagram, which are
// hostile: it takes exactly the lines that split() makes of some message, in order, and nothing else. A transport may
// lose lines: a message of which one is missing is given up, and its other lines are dropped. Thread-safety: one
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "channel/line.h"

namespace drover::lines {

inline constexpr size_t kMaxMessageBytes = kMaxMessageLines * kLineArguments;

// What all lines of a message have in common.
struct LineHead {
  uint16_t connection = 0;
  uint16_t function = 0;
  uint32_t call = 0;
  uint8_t flags = 0;  // LineFlag, without kLineLast
};

// Lines of a message of `size` bytes; an empty one is a line too.
constexpr uint32_t lines_of(size_t size) {
  return size <= kLineArguments ? 1 : static_cast<uint32_t>((size + kLineArguments - 1) / kLineArguments);
}

// Line `index` of the message; the message has at most kMaxMessageBytes and more than index * 48, or is empty.
inline AlignedLine line_of(const LineHead& head, std::span<const std::byte> message, uint32_t index) {
  size_t at = size_t{index} * kLineArguments;
  size_t length = std::min(message.size() - at, kLineArguments);
  AlignedLine line{};
  const uint64_t words[2] = {
      line_word0(static_cast<uint8_t>(head.flags | (at + length == message.size() ? kLineLast : 0)), head.function),
      line_word1(head.call, head.connection, static_cast<uint8_t>(index), static_cast<uint8_t>(length))};
  std::memcpy(static_cast<void*>(&line), words, sizeof words);
  copy_arguments(line.arguments, message.data() + at, length);
  return line;
}

// The lines of one message of several lines, as they come.
class LineAssembly {
 public:
  enum class Taken {
    kMore,        // a line in its turn; the message goes on
    kWhole,       // message() has it all
    kIncomplete,  // a line before this one is missing, or is another message's: this one's message is given up
    kDropped,     // another line of a message that was given up
  };

  // `line` is well formed. A line of index 0 begins a message and forgets another that was under way.
  Taken take(const LineSlot& line) {
    if (line.index == 0) {
      bytes_.clear();
      begin(line);
    } else if (!head_ || !same(*head_, line) || (!given_up_ && line.index != next_)) {
      bytes_.clear();
      begin(line);
      given_up_ = true;
      return Taken::kIncomplete;
    } else if (given_up_) {
      return Taken::kDropped;
    }
    const auto* from = reinterpret_cast<const std::byte*>(line.arguments);
    bytes_.insert(bytes_.end(), from, from + line.length);
    ++next_;
    if ((line.flags & kLineLast) == 0) return Taken::kMore;
    head_.reset();
    return Taken::kWhole;
  }
  // A message has begun, and may still become whole.
  bool under_way() const { return head_.has_value() && !given_up_; }
  // Of the last message that was whole; until the next take().
  std::span<const std::byte> message() const { return bytes_; }

 private:
  static LineHead head_of(const LineSlot& line) {
    return {line.connection, line.function, line.call, static_cast<uint8_t>(line.flags & ~kLineLast)};
  }
  static bool same(const LineHead& head, const LineSlot& line) {
    return head.connection == line.connection && head.function == line.function && head.call == line.call &&
           head.flags == (line.flags & ~kLineLast);
  }
  void begin(const LineSlot& line) {
    head_ = head_of(line);
    next_ = 0;
    given_up_ = false;
  }

  std::vector<std::byte> bytes_;
  std::optional<LineHead> head_;  // of the message under way, or given up
  uint32_t next_ = 0;             // the index that comes next
  bool given_up_ = false;
};

}  // namespace drover::lines
