#include "object/string.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

namespace drover {
namespace {

constexpr uint32_t kSmallestClass = 4;  // 16 bytes
constexpr uint32_t kTooFar = 0xffffff;  // as `back`: the owner word is further away than can be said

// NUL-terminated copies of borrowed, unterminated Strings, by the String's address. An entry may be left over from an
// earlier String at that address: it is valid only for the same size and bytes, and replaced otherwise.
struct TerminatedCopy {
  std::unique_ptr<char[]> bytes;
  size_t size = 0;
};
struct TerminatedCopies {
  std::mutex mutex;
  std::map<uintptr_t, TerminatedCopy> copies;
};
TerminatedCopies& terminated_copies() {
  static auto* copies = new TerminatedCopies();  // outlives every static object
  return *copies;
}

}  // namespace

void forget_terminated_copies(const void* begin, size_t size) {
  if (__atomic_load_n(&terminated_copy_count, __ATOMIC_RELAXED) == 0) return;
  TerminatedCopies& all = terminated_copies();
  std::lock_guard lock(all.mutex);
  auto first = all.copies.lower_bound(reinterpret_cast<uintptr_t>(begin));
  auto last = all.copies.lower_bound(reinterpret_cast<uintptr_t>(begin) + size);
  all.copies.erase(first, last);
  __atomic_store_n(&terminated_copy_count, all.copies.size(), __ATOMIC_RELAXED);
}

const char* String::terminated_copy() const {
  TerminatedCopies& all = terminated_copies();
  std::lock_guard lock(all.mutex);
  TerminatedCopy& copy = all.copies[reinterpret_cast<uintptr_t>(this)];
  if (copy.bytes == nullptr || copy.size != size_ || std::memcmp(copy.bytes.get(), data(), size_) != 0) {
    copy.bytes = std::make_unique<char[]>(size_t{size_} + 1);
    std::memcpy(copy.bytes.get(), data(), size_);
    copy.bytes[size_] = '\0';
    copy.size = size_;
  }
  __atomic_store_n(&terminated_copy_count, all.copies.size(), __ATOMIC_RELAXED);
  return copy.bytes.get();
}

Arena* String::arena() {
  uint32_t back = meta_ >> kBackShift;
  if (back == 0 && (data_ == 0 || (meta_ & kStandalone) != 0)) return nullptr;
  if (back == 0 || back == kTooFar)
    fatal("a String is changed that was not reached through a mutating accessor, or lies over 128 MiB into its array");
  return arena_of(reinterpret_cast<OwnerWord*>(reinterpret_cast<char*>(this) - size_t{back} * 8));
}

String* String::with_owner(const OwnerWord* owner) {
  if ((meta_ & kStandalone) != 0) fatal("a String that stands alone became a field");
  uintptr_t distance = (reinterpret_cast<uintptr_t>(this) - reinterpret_cast<uintptr_t>(owner)) / 8;
  if (distance > kTooFar) distance = kTooFar;  // can be read and assigned with an arena given, but not changed later
  meta_ = (meta_ & ((1u << kBackShift) - 1)) | static_cast<uint32_t>(distance) << kBackShift;
  return this;
}

size_t String::capacity() const {
  uint32_t cls = (meta_ & kClassMask) >> kClassShift;
  return cls == 0 ? size_ : (size_t{1} << cls) - 1;
}

// Like make_own, for a String that stands alone; its storage always has a class.
char* String::make_own_on_heap(size_t capacity) {
  const char* old = std::as_const(*this).data();
  const size_t have = (meta_ & kStandalone) == 0 ? 0 : size_t{1} << ((meta_ & kClassMask) >> kClassShift);
  if (capacity + 1 <= have) return const_cast<char*>(old);
  if (capacity > kMaxSize) fatal("a string grows past 2 GiB - 1");
  uint32_t cls = std::max<uint32_t>(kSmallestClass, static_cast<uint32_t>(std::bit_width(capacity)));
  auto* bytes = static_cast<char*>(std::malloc(size_t{1} << cls));
  if (bytes == nullptr) fatal("out of memory for a string");
  std::memcpy(bytes, old, size_);
  bytes[size_] = '\0';
  free_own();
  set_data(bytes);
  meta_ = cls << kClassShift | kStandalone;
  return bytes;
}

void String::free_own() {
  if ((meta_ & kStandalone) != 0) std::free(reinterpret_cast<char*>(this) + data_);
}

String::String(String&& other) noexcept { *this = std::move(other); }

// Takes over what stands alone, unless this is a field; a field's bytes stay its arena's.
String& String::operator=(String&& other) noexcept {
  if (this == &other) return *this;
  Arena* memory = arena();  // ends the process for a field that was reached in no allowed way
  if (memory != nullptr || (other.meta_ & kStandalone) == 0) return assign_string(memory, other);
  free_own();
  set_data(std::as_const(other).data());
  size_ = other.size_;
  meta_ = other.meta_;
  other.data_ = 0;
  other.size_ = 0;
  other.meta_ = 0;
  return *this;
}

char* String::make_own(Arena* arena, size_t capacity) {
  if (arena == nullptr) return make_own_on_heap(capacity);
  uint32_t cls = (meta_ & kClassMask) >> kClassShift;
  size_t have = data_ == 0 || borrowed() ? 0 : (cls == 0 ? size_t{size_} + 1 : size_t{1} << cls);
  if (capacity + 1 <= have) return const_cast<char*>(std::as_const(*this).data());
  if (capacity > kMaxSize) fatal("a string grows past 2 GiB - 1");
  uint32_t new_class = std::max<uint32_t>(kSmallestClass, static_cast<uint32_t>(std::bit_width(capacity)));
  auto* bytes = static_cast<char*>(arena->allocate_recycled(size_t{1} << new_class));
  if (bytes == nullptr) fatal("out of memory for a string");
  const char* old = std::as_const(*this).data();
  std::memcpy(bytes, old, size_);
  bytes[size_] = '\0';
  if (have != 0) arena->recycle(const_cast<char*>(old), have);
  set_data(bytes);
  meta_ = (meta_ & ~(kBorrowed | kUnterminated | kClassMask)) | new_class << kClassShift;
  return bytes;
}

// The first value gets exact storage (most strings are set once). A larger value gets a size class, so that a String
// that is set repeatedly stops reallocating.
char* String::allocate_in(Arena* arena, size_t size) {
  if (arena == nullptr) {
    char* own = make_own_on_heap(size);
    size_ = static_cast<uint32_t>(size);
    own[size] = '\0';
    return own;
  }
  uint32_t cls = (meta_ & kClassMask) >> kClassShift;
  size_t have = data_ == 0 || borrowed() ? 0 : (cls == 0 ? size_t{size_} + 1 : size_t{1} << cls);
  if (size + 1 > have) {
    if (size > kMaxSize) return nullptr;
    uint32_t new_class =
        have == 0 ? 0 : std::max<uint32_t>(kSmallestClass, static_cast<uint32_t>(std::bit_width(size)));
    size_t wanted = new_class == 0 ? size + 1 : size_t{1} << new_class;
    bool recycling = arena->has_recycled();
    auto* bytes = static_cast<char*>(recycling ? arena->allocate_recycled(wanted) : arena->allocate(wanted));
    if (bytes == nullptr) return nullptr;
    if (have != 0) arena->recycle(reinterpret_cast<char*>(this) + data_, have);
    set_data(bytes);
    meta_ = (meta_ & ~(kBorrowed | kUnterminated | kClassMask)) | new_class << kClassShift;
  } else if (cls == 0 && size < size_) {
    remember_capacity();
  }
  size_ = static_cast<uint32_t>(size);
  char* bytes = reinterpret_cast<char*>(this) + data_;
  bytes[size] = '\0';
  return bytes;
}

String& String::assign_in(Arena* arena, std::string_view s) {
  if (s.empty()) {
    set_size_terminated(0);
    return *this;
  }
  uintptr_t mine = reinterpret_cast<uintptr_t>(std::as_const(*this).data());
  uintptr_t at = reinterpret_cast<uintptr_t>(s.data());
  if (data_ != 0 && at >= mine && at < mine + size_ + 1) {  // a part of this very String
    char* own = make_own(arena, size_);
    std::memmove(own, own + (at - mine), s.size());
    set_size_terminated(s.size());
    return *this;
  }
  char* bytes = allocate_in(arena, s.size());
  if (bytes == nullptr) fatal("out of memory for a string");
  std::memcpy(bytes, s.data(), s.size());
  return *this;
}

// From this size on, bytes that the arena may borrow are referred to instead of copied.
constexpr size_t kBorrowFrom = 256;

void String::release_to(Arena* arena) {
  uint32_t cls = (meta_ & kClassMask) >> kClassShift;
  if (data_ == 0 || borrowed()) return;
  forget_terminated_copies(this, sizeof(*this));
  arena->recycle(reinterpret_cast<char*>(this) + data_, cls == 0 ? size_t{size_} + 1 : size_t{1} << cls);
  data_ = 0;
  size_ = 0;
}

String& String::assign_string(Arena* arena, const String& other) {
  if (this == &other) return *this;
  if (other.size() >= kBorrowFrom && arena != nullptr && arena->may_borrow(other.view().data(), other.size())) {
    borrow(other.view().data(), other.size(), other.terminated());
    return *this;
  }
  return assign_in(arena, other.view());
}

void String::borrow(const char* bytes, size_t size, bool is_terminated) {
  meta_ &= ~(kBorrowed | kUnterminated | kClassMask);
  size_ = static_cast<uint32_t>(size);
  if (size == 0) {
    data_ = 0;
    return;
  }
  set_data(bytes);
  meta_ |= kBorrowed | (is_terminated ? 0 : kUnterminated);
}

void String::set_size_terminated(size_t size) {
  if (data_ == 0) return;
  if (borrowed()) {
    if (size == 0) {
      data_ = 0;
      meta_ &= ~(kBorrowed | kUnterminated);
    } else if (size != size_) {
      meta_ |= kUnterminated;
    }
    size_ = static_cast<uint32_t>(size);
    return;
  }
  if ((meta_ & kClassMask) == 0 && size < size_) remember_capacity();
  size_ = static_cast<uint32_t>(size);
  const_cast<char*>(std::as_const(*this).data())[size] = '\0';
}

// Exact storage (class 0) knows its extent by size alone: before size shrinks, note the largest class inside it.
void String::remember_capacity() {
  uint32_t cls = static_cast<uint32_t>(std::bit_width(size_t{size_} + 1)) - 1;
  if (cls >= 1) meta_ |= cls << kClassShift;
}

bool String::append_in(Arena* arena, std::string_view s) {
  if (s.empty()) return true;
  if (s.size() > kMaxSize - size_) return false;
  uintptr_t mine = reinterpret_cast<uintptr_t>(std::as_const(*this).data());
  uintptr_t at = reinterpret_cast<uintptr_t>(s.data());
  bool inside = data_ != 0 && at >= mine && at < mine + size_;
  char* own = make_own(arena, size_ + s.size());
  std::memmove(own + size_, inside ? own + (at - mine) : s.data(), s.size());
  set_size_terminated(size_ + s.size());
  return true;
}

String& String::append(std::string_view s) {
  if (!append_in(arena(), s)) fatal("a string grows past 2 GiB - 1");
  return *this;
}

String& String::assign(size_t count, char c) {
  clear();
  resize(count, c);
  return *this;
}

void String::reserve(size_t capacity) { make_own(arena(), std::max<size_t>(capacity, size_)); }

void String::resize(size_t size, char fill) {
  if (size > size_) {
    char* own = make_own(arena(), size);
    std::memset(own + size_, fill, size - size_);
  }
  set_size_terminated(size);
}

String& String::replace(size_t pos, size_t count, std::string_view s) {
  std::string changed = str();
  return assign(changed.replace(pos, count, s));
}

String::iterator String::insert_at(const_iterator at, std::string_view s) {
  size_t pos = index_of(at);
  replace(pos, 0, s);
  return begin() + pos;
}

String::iterator String::erase_range(const_iterator first, const_iterator last) {
  size_t pos = index_of(first);
  replace(pos, static_cast<size_t>(last - first), std::string_view());
  return begin() + pos;
}

String& String::replace_between(const_iterator first, const_iterator last, std::string_view s) {
  return replace(index_of(first), static_cast<size_t>(last - first), s);
}

void String::swap(String& other) {
  if (this == &other) return;
  std::string held = str();
  assign(other.view());
  other.assign(held);
}

void String::swap(std::string& other) {
  std::string mine = str();
  assign(other);
  other = std::move(mine);
}

std::string concatenate(std::string_view a, std::string_view b) {
  std::string result;
  result.reserve(a.size() + b.size());
  return result.append(a).append(b);
}

}  // namespace drover
