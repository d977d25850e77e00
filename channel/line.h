// Which slots are RPC lines (channel/channel.toml, LineSlot), for all who take lines from rings that others write, and
// how a connection's number names the engine thread that carries it.
//
// A host's connection numbers are unique for each of its workers over all engine threads: thread t gives the numbers
//
//   number = index * engine_threads + t         index: of the lane (t, worker) alone, from 0 on
//
// so that the number alone says where a line goes. Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "channel/channel_format.h"

namespace drover {

inline constexpr uint32_t kMaxConnectionNumbers = 65'536;  // of one worker: a line has 16 bits for them

// A call has the number of the call before it in its place of the client's window, plus the window, and plus
// kGivenUpStep besides if that one was given up (a time-out, a line that is missing). So a request shows which earlier
// responses its client has: those of its place in the window whose numbers are less than kGivenUpStep behind. A number
// comes again in its place after 2^24 / window calls at the earliest, if 255 of them were given up, and after
// 2^32 / window if none was.
inline constexpr uint32_t kGivenUpStep = uint32_t{1} << 24;

// Whether the request with that number says that its client has the whole response to the other one, of the same place
// in the window.
inline bool shows_answered(uint32_t request, uint32_t earlier) {
  return request != earlier && request - earlier < kGivenUpStep;
}

// Whether a line can be part of any message, whatever came before it.
inline bool well_formed(const LineSlot& line) {
  bool last = (line.flags & kLineLast) != 0;
  bool known = (line.flags & ~(kLineResponse | kLineLast | kLineFailed)) == 0;
  bool full = line.length == kLineArguments;
  bool failure = (line.flags & kLineFailed) == 0 ||
                 ((line.flags & kLineResponse) != 0 && last && line.index == 0 && line.length == 0);
  bool empty_tail = line.length == 0 && line.index != 0;
  bool ends = last || line.index + 1u < kMaxMessageLines;
  return line.type == kLineType && known && line.length <= kLineArguments && (last || full) && failure && !empty_tail &&
         ends;
}

// The header's words, as the ring moves them. A header that is built by its members and then read by words makes the
// reader wait (RingProducer::try_push_with).
namespace line_internal {
constexpr uint64_t at(size_t offset, uint64_t value) { return value << offset % 8 * 8; }
}  // namespace line_internal
inline uint64_t line_word0(uint8_t flags, uint16_t function) {
  using line_internal::at;
  return at(offsetof(LineSlot, type), kLineType) | at(offsetof(LineSlot, flags), flags) |
         at(offsetof(LineSlot, function), function);
}
inline uint64_t line_word1(uint32_t call, uint16_t connection, uint8_t index, uint8_t length) {
  using line_internal::at;
  return at(offsetof(LineSlot, call), call) | at(offsetof(LineSlot, connection), connection) |
         at(offsetof(LineSlot, index), index) | at(offsetof(LineSlot, length), length);
}
static_assert(offsetof(LineSlot, call) == 8 && offsetof(LineSlot, arguments) == 16);

// A slot in private memory seen as a line, and the other way round, without the copy of slot_as and to_slot.
inline const LineSlot& line_view(const Slot& slot) {
  static_assert(sizeof(LineSlot) == sizeof(Slot));
  return reinterpret_cast<const LineSlot&>(slot);
}
struct alignas(Slot) AlignedLine : LineSlot {};
inline const Slot& slot_view(const AlignedLine& line) { return reinterpret_cast<const Slot&>(line); }

// Copies the arguments of a line by words of 8 bytes, as rings do. A wider load of what was just stored by words waits
// until the stores have left the core, behind those to lines that another core has: 30 to 50 ns, for 48 bytes.
inline void copy_arguments(void* to, const void* from, size_t length) {
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
  size_t at = 0;
  for (; at + 8 <= length; at += 8) {
    uint64_t word;
    __builtin_memcpy(&word, in + at, sizeof word);
    asm("" : "+r"(word));  // or else the compiler makes wide moves of two words
    __builtin_memcpy(out + at, &word, sizeof word);
  }
  for (; at < length; ++at) out[at] = in[at];
}

inline LineCloseSlot line_close(uint16_t connection) {
  LineCloseSlot slot{};
  slot.type = kLineCloseType;
  slot.connection = connection;
  return slot;
}

inline uint32_t connection_thread(uint16_t number, uint32_t engine_threads) {
  return engine_threads == 1 ? 0 : number % engine_threads;
}
inline uint32_t connection_index(uint16_t number, uint32_t engine_threads) {
  return engine_threads == 1 ? number : number / engine_threads;
}
// Only where it is below kMaxConnectionNumbers.
inline uint32_t connection_number(uint32_t index, uint32_t engine_threads, uint32_t engine_thread) {
  return index * engine_threads + engine_thread;
}

}  // namespace drover
