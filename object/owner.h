// The owner word: how a mutating accessor finds the arena that an object allocates from
// (docs/formats.md, section 2).
//
//   0            nothing allocated yet; the first allocation makes an arena on the heap
//   kReceived    the object came from the other process: read-only
//   Arena*       allocates there
//   Arena* | 1   the same, and the object owns the arena
#pragma once

#include <cstdint>

#include "object/arena.h"
#include "object/object_format.h"

// On a member function that returns a reference or pointer into its object: clang warns where the object is a temporary
// that does not live as long. Stands behind the parameter list.
#if defined(__clang__)
#define DROVER_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define DROVER_LIFETIME_BOUND
#endif

namespace drover {

using OwnerWord = uint64_t;
inline constexpr OwnerWord kReceived = object_format::kOwnerReceived;
inline constexpr OwnerWord kOwnsArena = object_format::kOwnerOwnsArena;

// What lies at the front of every object; `unknown` is an OffsetPtr<String> in disguise, so that it stays trivial.
using MessageHeader = object_format::Header;

// Ends the process with a message that names the broken rule; for misuse that no caller can handle.
[[noreturn]] void fatal(const char* what);

Arena* make_owned_arena(OwnerWord* owner);

// The arena behind an owner word, created now if it has none. Ends the process on a received object.
inline Arena* arena_of(OwnerWord* owner) {
  if (*owner > kReceived) [[likely]]
    return reinterpret_cast<Arena*>(static_cast<uintptr_t>(*owner & ~kOwnsArena));
  return make_owned_arena(owner);
}

// The user's arena that holds an object; null if the object, or its parent, is on the stack or heap or was received.
inline Arena* users_arena(OwnerWord owner) {
  if (owner <= kReceived || (owner & kOwnsArena) != 0) return nullptr;
  auto* arena = reinterpret_cast<Arena*>(static_cast<uintptr_t>(owner));
  return arena->made_by_object() ? nullptr : arena;
}

}  // namespace drover
