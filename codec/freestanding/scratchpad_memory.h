// ScratchpadMemory: the decoder's memory policy for a core with a small local memory and DMA to the host's
// (codec/decode/host_memory.h says what a policy offers), and decode_to_host, which uses it. Freestanding.
//
//   local:   window  [ root | objects, arrays, short strings -> ]
//                      |  one DMA of the used part, at the end
//   host:    area    [ root | objects, arrays, short strings ->        <- bytes of long strings ]
//                                                                         |  a DMA each, straight
//   local:   packet  [ ... length | bytes of a long string | ... ]  ------+   from the packet
//
// The window maps onto the front of the area byte for byte. Self-relative pointers therefore mean the same in both, and
// none is ever rewritten; a long string's pointer is computed between the two host addresses. The objects' owner word
// is kReceived. A placed string is borrowed and not NUL-terminated (docs/formats.md, String).
//
// A message that does not fit into the window or the area ends in DecodeError::kOutOfMemory: the host has to decode it.
// The window's old content is not wiped, and goes to the host in padding: use one window for one host, or wipe it in
// between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "codec/decode/decode_handlers.h"
#include "codec/freestanding/dma.h"
#include "message/raw.h"
#include "object/arena.h"
#include "object/owner.h"

namespace drover {

template <Dma D>
class ScratchpadMemory {
 public:
  // The decoder's stack for deeper messages is taken from the window.
  static constexpr uint32_t kInlineFrames = 16;
  static constexpr bool kPlacesBytes = true;
  static constexpr uint32_t kDefaultThreshold = 256;

  // `window` is 8-byte aligned local memory. Strings of `threshold` bytes and more go to the host by themselves. Both
  // and `dma` outlive this.
  ScratchpadMemory(D& dma, void* window, size_t window_size, uint32_t threshold = kDefaultThreshold)
      : dma_(dma),
        window_(static_cast<char*>(window)),
        threshold_(threshold),
        arena_(Arena::FixedMemory{window, window_size}) {}
  ScratchpadMemory(const ScratchpadMemory&) = delete;
  ScratchpadMemory& operator=(const ScratchpadMemory&) = delete;

  // ---- the policy
  Arena& arena() { return arena_; }
  OwnerWord owner() const { return kReceived; }
  bool places(uint32_t size) const { return size >= threshold_; }
  // `to` lies in the window, `from` stays as it is until the message is done. False: the area is full.
  bool place_bytes(raw::Words* to, const char* from, uint32_t size) {
    uint64_t room = bytes_ - area_.address, used = arena_.initial_used();
    if (used > room || size > room - used) return false;
    bytes_ -= size;
    dma_.to_host(bytes_, from, size);
    to->data = static_cast<int64_t>(bytes_ - host_address(to));
    to->size = size;
    constexpr uint32_t kBelowBack = (1u << raw::Words::kBackShift) - 1;
    to->meta = (to->meta & ~kBelowBack) | raw::Words::kBorrowed | raw::Words::kUnterminated;
    return true;
  }

  // ---- one message after another
  // Begins one whose object is to lie at the front of `area`. False: the area is not aligned, or no area.
  bool start(const HostArea& area) {
    arena_.reset();
    area_ = area;
    bytes_ = area.address + area.size;
    return area.size != 0 && (area.address & 7) == 0 && bytes_ > area.address;
  }
  // The message is whole. False: it does not fit into the area.
  bool finish() {
    uint64_t used = arena_.initial_used();
    bool fits = used <= bytes_ - area_.address;
    if (fits) dma_.to_host(area_.address, window_, static_cast<size_t>(used));
    dma_.wait();
    return fits;
  }
  // The message failed; afterwards the packet may be reused.
  void abandon() { dma_.wait(); }

  // What the message took: of the window and of the area's front, and for bytes of long strings at the area's end.
  size_t window_used() const { return arena_.initial_used(); }
  uint64_t placed_bytes() const { return area_.address + area_.size - bytes_; }

 private:
  uint64_t host_address(const void* local) const {
    return area_.address + static_cast<size_t>(static_cast<const char*>(local) - window_);
  }

  D& dma_;
  char* window_;
  uint32_t threshold_;
  Arena arena_;
  HostArea area_;
  uint64_t bytes_ = 0;  // host address of the bytes that were placed last
};

// Decodes a packet in local memory, in one or more pieces, into an object at `area.address` of the host's memory.
// Aliasing is not on offer: the packet does not stay. After an error the area's content is unspecified.
template <Dma D>
DecodeResult decode_to_host(const schema::Image& image, uint32_t message, const std::string_view* pieces, size_t count,
                            const HostArea& area, ScratchpadMemory<D>& memory, const DecodeOptions& asked = {}) {
  const schema::MessageEntry& entry = image.message(message);
  DecodeOptions options = asked;
  options.alias = options.terminate_aliases = false;
  DecodeResult failed{DecodeError::kOutOfMemory, 0, image.name(entry.name), 0};
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    total += pieces[i].size();
    if (total > wire::kMaxMessage) {
      failed.error = DecodeError::kTooLarge;
      failed.offset = static_cast<size_t>(total - pieces[i].size());
      return failed;
    }
  }
  char* root = memory.start(area) ? static_cast<char*>(memory.arena().allocate_zeroed(entry.object_size)) : nullptr;
  if (root == nullptr) return failed;
  raw::store(root, memory.owner());
  Decoder<ScratchpadMemory<D>> decoder(image, memory, options);
  DecodeResult result = decoder.run(message, root, pieces, count, static_cast<size_t>(total));
  if (!result.ok()) {
    memory.abandon();
    return result;
  }
  return memory.finish() ? result : failed;
}

}  // namespace drover
