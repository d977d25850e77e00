// HostMemory: the decoder's memory policy where all of an object is built in the memory of the CPU that decodes.
// codec/freestanding/scratchpad_memory.h is the other policy. A policy offers:
//
//   arena()                        where objects and arrays are built
//   owner()                        the owner word of the objects that are made
//   kInlineFrames                  messages may nest so deep before the decoder's own stack is taken from the arena
//   kPlacesBytes, place_bytes()    whether, and how, the bytes of long strings go elsewhere than the objects
#pragma once

#include <cstddef>
#include <cstdint>

#include "object/arena.h"
#include "object/owner.h"

namespace drover {

class HostMemory {
 public:
  static constexpr uint32_t kInlineFrames = 100;
  static constexpr bool kPlacesBytes = false;

  HostMemory(Arena& arena, bool received)
      : arena_(arena), owner_(received ? kReceived : reinterpret_cast<uintptr_t>(&arena)) {}

  OwnerWord owner() const { return owner_; }
  Arena& arena() const { return arena_; }

 private:
  Arena& arena_;
  OwnerWord owner_;
};

}  // namespace drover
