// String: a string or bytes field inside an object (docs/formats.md, section 2), and the view of it that users see.
//
//   data (self-relative) | size | meta: borrowed, unterminated, class, back
//
// Reads like a const std::string: converts to std::string and std::string_view, compares, concatenates, streams.
// Writes like a std::string when reached through a mutating accessor (`mutable_x()`, `add_x()`, map's
// operator[]), which records in `back` where the owner word is. Ownership: the bytes belong to the object's arena, or
// are borrowed from memory that outlives it. Thread-safety: as std::string.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "object/owner.h"
#include "object/words.h"

namespace drover {

class String {
 public:
  using value_type = char;
  using const_iterator = const char*;
  using iterator = char*;
  using size_type = size_t;
  static constexpr size_t npos = std::string_view::npos;

  String() = default;
  // A String does not move by itself: its bytes are relative to it. The containers relocate it.
  String(const String&) = delete;

  // ---- reading
  const char* data() const { return data_ == 0 ? "" : reinterpret_cast<const char*>(this) + data_; }
  size_t size() const { return size_; }
  size_t length() const { return size_; }
  bool empty() const { return size_ == 0; }
  // NUL-terminated; costs a copy (kept until the object dies) only for borrowed bytes with no NUL behind them.
  const char* c_str() const { return (meta_ & kUnterminated) == 0 ? data() : terminated_copy(); }
  std::string_view view() const { return {data(), size_}; }
  operator std::string_view() const { return view(); }
  operator std::string() const { return std::string(view()); }
  std::string str() const { return std::string(view()); }

  const char* begin() const { return data(); }
  const char* end() const { return data() + size_; }
  const char* cbegin() const { return begin(); }
  const char* cend() const { return end(); }
  auto rbegin() const { return view().rbegin(); }
  auto rend() const { return view().rend(); }
  const char& operator[](size_t i) const { return data()[i]; }
  const char& at(size_t i) const;
  const char& front() const { return data()[0]; }
  const char& back() const { return data()[size_ - 1]; }
  std::string substr(size_t pos = 0, size_t count = npos) const { return std::string(view().substr(pos, count)); }
  int compare(std::string_view other) const { return view().compare(other); }
  int compare(size_t pos, size_t count, std::string_view other) const { return view().compare(pos, count, other); }
  bool starts_with(std::string_view prefix) const { return view().starts_with(prefix); }
  bool ends_with(std::string_view suffix) const { return view().ends_with(suffix); }
  size_t find(std::string_view s, size_t pos = 0) const { return view().find(s, pos); }
  size_t find(char c, size_t pos = 0) const { return view().find(c, pos); }
  size_t rfind(std::string_view s, size_t pos = npos) const { return view().rfind(s, pos); }
  size_t rfind(char c, size_t pos = npos) const { return view().rfind(c, pos); }
  size_t find_first_of(std::string_view s, size_t pos = 0) const { return view().find_first_of(s, pos); }
  size_t find_last_of(std::string_view s, size_t pos = npos) const { return view().find_last_of(s, pos); }
  size_t find_first_not_of(std::string_view s, size_t pos = 0) const { return view().find_first_not_of(s, pos); }
  size_t find_last_not_of(std::string_view s, size_t pos = npos) const { return view().find_last_not_of(s, pos); }
  size_t copy(char* to, size_t count, size_t pos = 0) const { return view().copy(to, count, pos); }
  size_t capacity() const;

  // ---- writing; only on a String reached through a mutating accessor
  String& operator=(const String& other) { return assign_string(arena(), other); }
  String& operator=(std::string_view s) { return assign(s); }
  String& operator=(const std::string& s) { return assign(s); }
  String& operator=(const char* s) { return assign(std::string_view(s)); }
  String& operator=(char c) { return assign(std::string_view(&c, 1)); }
  String& assign(std::string_view s) { return assign_in(arena(), s); }
  String& assign(const void* bytes, size_t size) {
    return assign(std::string_view(static_cast<const char*>(bytes), size));
  }
  String& assign(size_t count, char c);
  template <typename Iterator>
  String& assign(Iterator first, Iterator last) {
    return assign(std::string(first, last));
  }
  String& append(std::string_view s);
  String& append(const void* bytes, size_t size) {
    return append(std::string_view(static_cast<const char*>(bytes), size));
  }
  String& append(size_t count, char c) { return append(std::string(count, c)); }
  String& operator+=(std::string_view s) { return append(s); }
  String& operator+=(char c) { return append(std::string_view(&c, 1)); }
  void push_back(char c) { append(std::string_view(&c, 1)); }
  void pop_back() { resize(size_ - 1); }
  void clear() { set_size_terminated(0); }
  void reserve(size_t capacity);
  void resize(size_t size, char fill = '\0');
  char* mutable_data() { return make_own(arena(), size_); }
  char* data() { return mutable_data(); }
  char* begin() { return mutable_data(); }
  char* end() { return mutable_data() + size_; }
  char& operator[](size_t i) { return mutable_data()[i]; }
  char& at(size_t i) { return std::as_const(*this).at(i), mutable_data()[i]; }
  char& front() { return mutable_data()[0]; }
  char& back() { return mutable_data()[size_ - 1]; }
  String& replace(size_t pos, size_t count, std::string_view s);
  String& insert(size_t pos, std::string_view s) { return replace(pos, 0, s); }
  String& insert(size_t pos, size_t count, char c) { return replace(pos, 0, std::string(count, c)); }
  String& erase(size_t pos = 0, size_t count = npos) { return replace(pos, count, {}); }
  void swap(std::string& other);

  // ---- for the runtime and the codec
  // Copies `s` into `arena` (or borrows it if the arena allows that).
  String& assign_in(Arena* arena, std::string_view s);
  // Sizes the String to `size` bytes of its own in `arena`, whose content the caller writes; a NUL is set behind.
  // Null: the arena is out of memory, the String is unchanged.
  char* allocate_in(Arena* arena, size_t size);
  // Gives the bytes back to `arena`; the String is not used again.
  void release_to(Arena* arena);
  // Refers to bytes that outlive this object; `terminated` says that a NUL lies (or will lie) behind them.
  void borrow(const char* bytes, size_t size, bool terminated);
  String& assign_string(Arena* arena, const String& other);
  bool append_in(Arena* arena, std::string_view s);

  bool borrowed() const { return (meta_ & kBorrowed) != 0; }
  bool terminated() const { return (meta_ & kUnterminated) == 0; }
  // Records that the owner word lies at `owner`, which is at or below this String by less than 128 MiB.
  String* with_owner(const OwnerWord* owner);
  Arena* arena();
  // This String's bytes were moved here (as bytes) from an address `delta` lower.
  void rebase(int64_t delta) {
    if (data_ != 0) data_ -= delta;
  }
  int64_t data_offset() const { return data_; }  // as stored, for a reader that does not trust the object
  uint32_t meta() const { return meta_; }

  static constexpr uint32_t kBorrowed = raw::Words::kBorrowed, kUnterminated = raw::Words::kUnterminated;
  static constexpr uint32_t kClassShift = raw::Words::kClassShift, kClassMask = raw::Words::kClassMask;
  static constexpr uint32_t kBackShift = raw::Words::kBackShift;
  static constexpr uint32_t kMaxSize = raw::Words::kMaxString;

 private:
  void set_data(const char* bytes) { data_ = bytes - reinterpret_cast<const char*>(this); }
  void set_size_terminated(size_t size);
  char* make_own(Arena* arena, size_t capacity);  // own, writable storage with room for `capacity` bytes and a NUL
  void remember_capacity();
  const char* terminated_copy() const;

  int64_t data_ = 0;
  uint32_t size_ = 0;
  uint32_t meta_ = 0;
};

static_assert(sizeof(String) == sizeof(raw::Words));

// Swaps the bytes; for algorithms, on two Strings reached through mutating accessors.
void swap(String& a, String& b);

// ---- the expressions that users of std::string write
inline bool operator==(const String& a, const String& b) { return a.view() == b.view(); }
inline bool operator==(const String& a, std::string_view b) { return a.view() == b; }
inline bool operator==(const String& a, const std::string& b) { return a.view() == b; }
inline bool operator==(const String& a, const char* b) { return a.view() == b; }
inline auto operator<=>(const String& a, const String& b) { return a.view() <=> b.view(); }
inline auto operator<=>(const String& a, std::string_view b) { return a.view() <=> b; }
inline auto operator<=>(const String& a, const std::string& b) { return a.view() <=> std::string_view(b); }
inline auto operator<=>(const String& a, const char* b) { return a.view() <=> std::string_view(b); }

std::string concatenate(std::string_view a, std::string_view b);
inline std::string operator+(const String& a, const String& b) { return concatenate(a, b); }
inline std::string operator+(const String& a, const std::string& b) { return concatenate(a, b); }
inline std::string operator+(const String& a, const char* b) { return concatenate(a, b); }
inline std::string operator+(const String& a, char b) { return concatenate(a, std::string_view(&b, 1)); }
inline std::string operator+(const std::string& a, const String& b) { return concatenate(a, b); }
inline std::string operator+(std::string&& a, const String& b) { return std::move(a.append(b.view())); }
inline std::string operator+(const char* a, const String& b) { return concatenate(a, b); }
inline std::string operator+(char a, const String& b) { return concatenate(std::string_view(&a, 1), b); }
inline std::string& operator+=(std::string& a, const String& b) { return a.append(b.view()); }
inline std::ostream& operator<<(std::ostream& out, const String& s) { return out << s.view(); }

}  // namespace drover

template <>
struct std::hash<drover::String> {
  size_t operator()(const drover::String& s) const noexcept { return std::hash<std::string_view>()(s.view()); }
};
