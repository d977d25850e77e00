// Repeated fields and maps that are variables, not parts of a message: each owns an arena on the heap.
//
//   data -> [owner word: the arena] elements ...
//
// The word stands in front of the elements of every kind, also of a field that has no element yet.
#include "object/repeated_base.h"

namespace drover {
namespace {

OwnerWord* word_before(void* elements) { return static_cast<OwnerWord*>(elements) - 1; }

}  // namespace

Arena* RepeatedBase::standalone_arena() {
  if ((meta_ & kStandalone) == 0) {
    if (data_ != 0) fatal("a repeated field is changed that was not reached through a mutating accessor");
    auto* arena = new Arena();
    arena->set_made_by_object();
    auto* word = static_cast<OwnerWord*>(arena->allocate(sizeof(OwnerWord)));
    if (word == nullptr) fatal("out of memory for a repeated field");
    *word = reinterpret_cast<OwnerWord>(arena);
    data_ = reinterpret_cast<char*>(word + 1) - reinterpret_cast<char*>(this);
    meta_ |= kStandalone;
  }
  return arena_of(word_before(raw_data()));
}

void RepeatedBase::free_standalone() { delete arena_of(word_before(raw_data())); }

bool RepeatedBase::take_standalone(RepeatedBase* other) {
  if ((other->meta_ & kStandalone) == 0) return false;
  data_ = static_cast<char*>(other->raw_data()) - reinterpret_cast<char*>(this);
  size_ = other->size_;
  meta_ = other->meta_;
  other->data_ = 0;
  other->size_ = 0;
  other->meta_ = 0;
  return true;
}

}  // namespace drover
