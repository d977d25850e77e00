// FetchedMemory: the encoder's memory policy for an object in a host's memory that this core reads by DMA
// (codec/encode/encode_memory.h says what a policy offers), and encode_from_host, which uses it. Freestanding.
//
//   host:   area   [ ...... object ........ array ....... string ...... ]
//                        |  lines, as they are looked at    |  long: by one DMA into the output
//   local:  cache  [ line | line | line ... ]   output [ <- ]
//
// The object is hostile, as for BoundedMemory: everything in it is checked against the area, and each word is loaded
// once. A line that was evicted and fetched again may therefore hold other words. The encoder's pointers into the
// object are offsets into the area, plus kBias, so that none is null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codec/encode/encode_handlers.h"
#include "codec/encode/encode_memory.h"
#include "codec/encode/encode_types.h"
#include "codec/encode/fixed_sink.h"
#include "codec/freestanding/dma.h"

namespace drover {

// The lines. One a core, reused from message to message; kLines * kLineBytes of local memory, and 4 bytes a line more.
template <Dma D, size_t kLineBytes = 64, size_t kLines = 32>
class ObjectCache {
  static_assert((kLineBytes & (kLineBytes - 1)) == 0 && kLineBytes >= 16 && (kLines & (kLines - 1)) == 0 &&
                kLines >= 4);

 public:
  explicit ObjectCache(D& dma) : dma_(dma) {}
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  // Forgets every line; reads in `area` from now on. False: the area is not aligned, or ends behind all addresses.
  bool start(const HostArea& area) {
    area_ = area;
    if (area_.size > kLargestArea) area_.size = kLargestArea;
    for (uint32_t& line : held_) line = 0;
    return (area.address & 7) == 0 && area.size <= ~area.address;
  }
  const HostArea& area() const { return area_; }

  // The word at `offset`, which is inside the area and aligned.
  template <typename T>
  T load(uint64_t offset) {
    uint32_t line = static_cast<uint32_t>(offset / kLineBytes);
    if (held_[line % kLines] != line + 1) [[unlikely]]
      fetch(offset, sizeof(T));
    T value;
    const char* at = lines_[line % kLines] + offset % kLineBytes;
    std::memcpy(&value, __builtin_assume_aligned(at, sizeof(T)), sizeof(T));
    return value;
  }

  // Gets the lines of [offset, offset + size) that are missing, neighbours by one command: the last ones, if it is more
  // than fits. The range is inside the area, and not empty.
  void fetch(uint64_t offset, uint64_t size) {
    uint32_t first = static_cast<uint32_t>(offset / kLineBytes);
    const uint32_t last = static_cast<uint32_t>((offset + size - 1) / kLineBytes);
    if (last - first >= kLines) first = last - static_cast<uint32_t>(kLines) + 1;
    bool started = false;
    for (uint32_t line = first; line <= last;) {
      if (held_[line % kLines] == line + 1) {
        ++line;
        continue;
      }
      uint32_t begin = line;
      do {
        held_[line % kLines] = line + 1;
        ++line;
      } while (line <= last && line % kLines != 0 && held_[line % kLines] != line + 1);
      uint64_t from = uint64_t{begin} * kLineBytes, to = uint64_t{line} * kLineBytes;
      if (to > area_.size) to = area_.size;
      dma_.from_host(lines_[begin % kLines], area_.address + from, static_cast<size_t>(to - from));
      started = true;
    }
    if (started) dma_.wait();
  }

  // Bytes for the output, which are there after the next wait().
  void copy(char* to, uint64_t offset, size_t size) {
    if (size == 0) return;
    if (size > kLineBytes) {
      dma_.from_host(to, area_.address + offset, size);
      return;
    }
    fetch(offset, size);
    while (size != 0) {
      size_t at = static_cast<size_t>(offset % kLineBytes);
      size_t now = kLineBytes - at < size ? kLineBytes - at : size;
      std::memcpy(to, lines_[offset / kLineBytes % kLines] + at, now);
      to += now;
      offset += now;
      size -= now;
    }
  }
  void wait() { dma_.wait(); }

 private:
  // Offsets fit into a pointer, and line numbers into 32 bits with room for one more.
  static constexpr uint64_t kLargestArea =
      UINTPTR_MAX / 2 < 0x7fffffff * uint64_t{kLineBytes} ? UINTPTR_MAX / 2 : 0x7fffffff * uint64_t{kLineBytes};
  D& dma_;
  HostArea area_;
  uint32_t held_[kLines] = {};  // 1 + the number of the line; 0 none
  alignas(16) char lines_[kLines][kLineBytes];
};

template <typename Cache>
class FetchedMemory {
 public:
  static constexpr bool kTrusted = false;
  static constexpr bool kDirect = false;
  static constexpr uintptr_t kBias = 64;

  explicit FetchedMemory(Cache& cache) : cache_(&cache) {}

  static const char* pointer(uint64_t offset) {
    return reinterpret_cast<const char*>(static_cast<uintptr_t>(offset) + kBias);
  }
  static uint64_t offset(const char* pointer) { return reinterpret_cast<uintptr_t>(pointer) - kBias; }

  template <typename T>
  T load(const char* at) const {
    return cache_->template load<T>(offset(at));
  }
  const char* load_pointer(const char* at, size_t size, EncodeError* error) const {
    int64_t relative = load<int64_t>(at);
    if (relative == 0) return nullptr;
    uint64_t target = offset(at) + static_cast<uint64_t>(relative);
    if (!check(target, size, 8, error)) return nullptr;
    cache_->fetch(target, size);
    return pointer(target);
  }
  bool load_range(const char* at, uint32_t element_size, uint32_t alignment, LoadedRange* range,
                  EncodeError* error) const {
    range->size = load<uint32_t>(at + offsetof(raw::Words, size));
    range->data = nullptr;
    if (range->size == 0) return true;
    uint64_t target = offset(at) + static_cast<uint64_t>(load<int64_t>(at));
    uint64_t bytes = uint64_t{range->size} * element_size;
    if (!check(target, bytes, alignment, error)) return false;
    if (element_size > 1) cache_->fetch(target, bytes);
    range->data = pointer(target);
    return true;
  }
  void copy(char* to, const char* from, size_t size) const { cache_->copy(to, offset(from), size); }

  bool check(uint64_t target, uint64_t size, uint32_t alignment, EncodeError* error) const {
    const HostArea& area = cache_->area();
    if (target >= area.size || size > area.size - target) {
      *error = EncodeError::kOutOfBounds;
      return false;
    }
    if ((target & (alignment - 1)) != 0) {
      *error = EncodeError::kMisaligned;
      return false;
    }
    return true;
  }

 private:
  Cache* cache_;
};

// Encodes the object at the host address `object`, all of which lies in `area`, into `out`. A referred piece's address
// is the host's. The output is there when this returns. EncodeOptions::bounds is not looked at.
template <Dma D, size_t kLineBytes, size_t kLines>
EncodeResult encode_from_host(const schema::Image& image, uint32_t message, uint64_t object, const HostArea& area,
                              ObjectCache<D, kLineBytes, kLines>& cache, const EncodeOptions& options,
                              FixedOutput* out) {
  using Memory = FetchedMemory<ObjectCache<D, kLineBytes, kLines>>;
  const schema::MessageEntry& entry = image.message(message);
  EncodeResult result{EncodeError::kOutOfBounds, 0, image.name(entry.name), 0};
  Memory memory(cache);
  if (!cache.start(area)) return result;
  if (!memory.check(object - area.address, entry.object_size, 8, &result.error)) return result;
  cache.fetch(object - area.address, entry.object_size);
  Encoder<Memory, FixedSink> encoder(image, memory, options, out, options);
  FixedSink& sink = encoder.sink();
  char* p = sink.start();
  bool started = p != nullptr;
  if (started) p = encoder.message(p, Memory::pointer(object - area.address), entry);
  cache.wait();
  if (p == nullptr || !sink.finish(p)) {
    result.error = p == nullptr && started ? encoder.error() : sink.error();
    if (p == nullptr && started) {
      result.message_name = image.name(encoder.error_message().name);
      result.field_number = encoder.error_field();
    }
    return result;
  }
  for (size_t i = 0; i < out->piece_count; ++i) {
    FixedPiece& piece = out->first_piece[i];
    if (piece.referred) piece.address = piece.address - Memory::kBias + area.address;
  }
  return {EncodeError::kOk, sink.total(p), "", 0};
}

}  // namespace drover
