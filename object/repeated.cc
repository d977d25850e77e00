#include "object/repeated.h"

namespace drover {

// String arrays carry one owner word in front, so that an element finds its arena wherever its message is.
bool RepeatedBase::grow(Arena* arena, uint32_t wanted, size_t element_size, Elements elements) {
  if (wanted > 1u << 30) return false;
  uint32_t cls = std::max(3u, static_cast<uint32_t>(std::bit_width(wanted - 1)) + 1);
  uint32_t new_capacity = 1u << (cls - 1);
  size_t prefix = elements == Elements::kStrings ? sizeof(OwnerWord) : 0;
  auto* block = static_cast<char*>(arena->allocate_recycled(prefix + new_capacity * element_size));
  if (block == nullptr) return false;
  if (prefix != 0) *reinterpret_cast<OwnerWord*>(block) = reinterpret_cast<OwnerWord>(arena);
  char* new_data = block + prefix;
  auto* old_data = static_cast<char*>(raw_data());
  uint32_t kept = old_data == nullptr ? 0 : capacity();  // cleared elements behind size are kept for reuse
  if (kept != 0) std::memcpy(new_data, old_data, kept * element_size);
  std::memset(new_data + kept * element_size, 0, (new_capacity - kept) * element_size);
  int64_t delta = new_data - old_data;
  if (kept != 0 && elements == Elements::kStrings) {
    auto* strings = reinterpret_cast<String*>(new_data);
    for (uint32_t i = 0; i < kept; ++i) strings[i].rebase(delta);  // `back` counts inside the block, and stays
  } else if (kept != 0 && elements == Elements::kPointers) {
    auto* pointers = reinterpret_cast<OffsetPtr<char>*>(new_data);
    for (uint32_t i = 0; i < kept; ++i) pointers[i].rebase(delta);
  }
  if (kept != 0) forget_terminated_copies(old_data, kept * element_size);
  // An old array of Strings is not used again: a reference to one of its elements may still be read.
  if (kept != 0 && elements != Elements::kStrings) arena->recycle(old_data, kept * element_size);
  data_ = new_data - reinterpret_cast<char*>(this);
  meta_ = (meta_ & ~kClassMask) | cls << kClassShift;
  return true;
}

}  // namespace drover
