#include "object/owner.h"

#include <cstdio>
#include <cstdlib>

namespace drover {

void fatal(const char* what) {
  std::fprintf(stderr, "drover: fatal: %s\n", what);
  std::abort();
}

Arena* make_owned_arena(OwnerWord* owner) {
  if (*owner == kReceived) {
    fatal("a message received over a channel is read-only; copy it before changing it");
  }
  auto* arena = new Arena();
  arena->set_made_by_object();
  *owner = reinterpret_cast<OwnerWord>(arena) | kOwnsArena;
  return arena;
}

}  // namespace drover
