// How repeated fields grow. Freestanding.
#include "object/repeated_base.h"

#include <bit>
#include <cstring>

namespace drover {

// String arrays carry one owner word in front, so that an element finds its arena wherever its message is; and so do
// all arrays of a field that stands alone.
bool RepeatedBase::grow(Arena* arena, uint32_t wanted, size_t element_size, Elements elements) {
  if (wanted > 1u << 30) return false;
  uint32_t cls = static_cast<uint32_t>(std::bit_width(wanted - 1)) + 1;
  if (cls < 3) cls = 3;
  uint32_t new_capacity = 1u << (cls - 1);
  size_t prefix = elements == Elements::kStrings || (meta_ & kStandalone) != 0 ? sizeof(OwnerWord) : 0;
  if (new_capacity > (SIZE_MAX / 2 - prefix) / element_size) return false;
  auto* block = static_cast<char*>(arena->allocate_recycled(prefix + new_capacity * element_size));
  if (block == nullptr) return false;
  if (prefix != 0) *reinterpret_cast<OwnerWord*>(block) = reinterpret_cast<OwnerWord>(arena);
  char* new_data = block + prefix;
  auto* old_data = static_cast<char*>(raw_data());
  uint32_t kept = old_data == nullptr ? 0 : capacity();  // cleared elements behind size are kept for reuse
  if (kept != 0) std::memcpy(new_data, old_data, kept * element_size);
  std::memset(new_data + kept * element_size, 0, (new_capacity - kept) * element_size);
  int64_t delta = new_data - old_data;
  if (kept != 0 && elements != Elements::kScalars) {
    for (uint32_t i = 0; i < kept; ++i) {  // a String's `back` counts inside the block, and stays
      auto* relative = reinterpret_cast<raw::Pointer*>(new_data + i * element_size);
      if (relative->offset != 0) relative->offset -= delta;
    }
  }
  if (kept != 0) forget_terminated_copies(old_data, kept * element_size);
  // An old array of Strings is not used again: a reference to one of its elements may still be read.
  if (kept != 0 && elements != Elements::kStrings) arena->recycle(old_data, kept * element_size);
  data_ = new_data - reinterpret_cast<char*>(this);
  meta_ = (meta_ & ~kClassMask) | cls << kClassShift;
  return true;
}

}  // namespace drover
