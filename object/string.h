// String: a string or bytes field inside an object (docs/formats.md, section 2), and the view of it that users see.
//
//   data (self-relative) | size | meta: borrowed, unterminated, class, back
//
// Reads like a const std::string (object/string_reading.h). Writes like a std::string when reached through a mutating
// accessor (`mutable_x()`, `add_x()`, map's operator[]), which records in `back` where the owner word is. Ownership:
// the bytes belong to the object's arena, or are borrowed from memory that outlives it.
//
// A copy stands alone: `auto id = request.id();` owns its bytes on the heap, and frees them. Only such a String needs
// its destructor: generated classes and arenas never run it for a field. Thread-safety: as std::string.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "object/absl_format.h"
#include "object/owner.h"
#include "object/string_reading.h"
#include "object/words.h"

namespace drover {

// Where an iterator into a String stands. Parameters deduce it: a literal 0 is an index, not a null pointer.
template <typename T>
concept StringPosition = std::is_same_v<T, char*> || std::is_same_v<T, const char*>;

class String : public StringReading<String> {
 public:
  String() = default;
  // Stands alone. (A field does not move by itself, since its bytes are relative to it: the containers relocate it.)
  String(const String& other) { assign_in(nullptr, other.view()); }
  String(String&& other) noexcept;
  // So that a literal and a field have a common type: `found ? r.id() : "none"`.
  String(const char* text) { assign_in(nullptr, text); }
  explicit String(std::string_view text) { assign_in(nullptr, text); }
  String(const char* text, size_t size) : String(std::string_view(text, size)) {}
  String(size_t count, char c) { assign(count, c); }
  template <std::input_iterator Iterator>
  String(Iterator first, Iterator last) {
    assign(first, last);
  }
  ~String() {
    if ((meta_ & kStandalone) != 0) [[unlikely]]
      free_own();
  }

  // ---- reading
  const char* data() const { return data_ == 0 ? "" : reinterpret_cast<const char*>(this) + data_; }
  size_t size() const { return size_; }
  // NUL-terminated; costs a copy (kept until the object dies) only for borrowed bytes with no NUL behind them.
  const char* c_str() const { return (meta_ & kUnterminated) == 0 ? data() : terminated_copy(); }
  size_t capacity() const;

  // ---- writing; only on a String that stands alone, or that was reached through a mutating accessor
  String& operator=(const String& other) { return assign_string(arena(), other); }
  String& operator=(String&& other) noexcept;
  String& operator=(std::string_view s) { return assign(s); }
  String& operator=(const std::string& s) { return assign(s); }
  String& operator=(const char* s) { return assign(std::string_view(s)); }
  String& operator=(char c) { return assign(std::string_view(&c, 1)); }
  String& operator=(std::initializer_list<char> s) { return assign(s); }
  String& assign(std::string_view s) { return assign_in(arena(), s); }
  String& assign(const char* s) { return assign(std::string_view(s)); }
  String& assign(std::string_view s, size_t pos, size_t count = npos) { return assign(s.substr(pos, count)); }
  String& assign(const void* bytes, size_t size) {
    return assign(std::string_view(static_cast<const char*>(bytes), size));
  }
  String& assign(size_t count, char c);
  String& assign(std::initializer_list<char> s) { return assign(std::string_view(s.begin(), s.size())); }
  template <std::input_iterator Iterator>
  String& assign(Iterator first, Iterator last) {
    return assign(std::string(first, last));
  }
  String& append(std::string_view s);
  String& append(const char* s) { return append(std::string_view(s)); }
  String& append(std::string_view s, size_t pos, size_t count = npos) { return append(s.substr(pos, count)); }
  String& append(const void* bytes, size_t size) {
    return append(std::string_view(static_cast<const char*>(bytes), size));
  }
  String& append(size_t count, char c) { return append(std::string(count, c)); }
  String& append(std::initializer_list<char> s) { return append(std::string_view(s.begin(), s.size())); }
  template <std::input_iterator Iterator>
  String& append(Iterator first, Iterator last) {
    return append(std::string(first, last));
  }
  String& operator+=(std::string_view s) { return append(s); }
  String& operator+=(char c) { return append(std::string_view(&c, 1)); }
  String& operator+=(std::initializer_list<char> s) { return append(s); }
  void push_back(char c) { append(std::string_view(&c, 1)); }
  void pop_back() { resize(size_ - 1); }
  void clear() { set_size_terminated(0); }
  void reserve(size_t capacity);
  void resize(size_t size, char fill = '\0');
  void shrink_to_fit() {}
  char* mutable_data() { return make_own(arena(), size_); }
  char* data() { return mutable_data(); }
  using StringReading::at, StringReading::back, StringReading::begin, StringReading::end, StringReading::front;
  using StringReading::operator[], StringReading::rbegin, StringReading::rend;
  char* begin() { return mutable_data(); }
  char* end() { return mutable_data() + size_; }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  char& operator[](size_t i) { return mutable_data()[i]; }
  char& at(size_t i) { return std::as_const(*this).at(i), mutable_data()[i]; }
  char& front() { return mutable_data()[0]; }
  char& back() { return mutable_data()[size_ - 1]; }
  String& replace(size_t pos, size_t count, std::string_view s);
  String& replace(size_t pos, size_t count, const char* s) { return replace(pos, count, std::string_view(s)); }
  String& replace(size_t pos, size_t count, const char* s, size_t n) {
    return replace(pos, count, std::string_view(s, n));
  }
  String& replace(size_t pos, size_t count, size_t n, char c) { return replace(pos, count, std::string(n, c)); }
  String& replace(size_t pos, size_t count, std::string_view s, size_t from, size_t n = npos) {
    return replace(pos, count, s.substr(from, n));
  }
  String& replace(StringPosition auto first, StringPosition auto last, std::string_view s) {
    return replace_between(first, last, s);
  }
  String& replace(StringPosition auto first, StringPosition auto last, const char* s, size_t n) {
    return replace_between(first, last, std::string_view(s, n));
  }
  String& replace(StringPosition auto first, StringPosition auto last, size_t n, char c) {
    return replace_between(first, last, std::string(n, c));
  }
  String& replace(StringPosition auto first, StringPosition auto last, std::initializer_list<char> s) {
    return replace_between(first, last, std::string_view(s.begin(), s.size()));
  }
  template <std::input_iterator Iterator>
  String& replace(StringPosition auto first, StringPosition auto last, Iterator from, Iterator to) {
    return replace_between(first, last, std::string(from, to));
  }
  String& insert(size_t pos, std::string_view s) { return replace(pos, 0, s); }
  String& insert(size_t pos, const char* s) { return replace(pos, 0, std::string_view(s)); }
  String& insert(size_t pos, const char* s, size_t n) { return replace(pos, 0, std::string_view(s, n)); }
  String& insert(size_t pos, std::string_view s, size_t from, size_t n = npos) {
    return replace(pos, 0, s.substr(from, n));
  }
  String& insert(size_t pos, size_t count, char c) { return replace(pos, 0, std::string(count, c)); }
  iterator insert(StringPosition auto at, char c) { return insert_at(at, std::string_view(&c, 1)); }
  iterator insert(StringPosition auto at, size_t count, char c) { return insert_at(at, std::string(count, c)); }
  iterator insert(StringPosition auto at, std::initializer_list<char> s) {
    return insert_at(at, std::string_view(s.begin(), s.size()));
  }
  template <std::input_iterator Iterator>
  iterator insert(StringPosition auto at, Iterator first, Iterator last) {
    return insert_at(at, std::string(first, last));
  }
  String& erase(size_t pos = 0, size_t count = npos) { return replace(pos, count, std::string_view()); }
  iterator erase(StringPosition auto at) { return erase_range(at, at + 1); }
  iterator erase(StringPosition auto first, StringPosition auto last) { return erase_range(first, last); }
  void swap(std::string& other);
  void swap(String& other);

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
  Arena* arena();  // null: it stands alone
  // This String's bytes were moved here (as bytes) from an address `delta` lower.
  void rebase(int64_t delta) {
    if (data_ != 0) data_ -= delta;
  }
  int64_t data_offset() const { return data_; }  // as stored, for a reader that does not trust the object
  uint32_t meta() const { return meta_; }

  static constexpr uint32_t kBorrowed = raw::Words::kBorrowed, kUnterminated = raw::Words::kUnterminated;
  static constexpr uint32_t kClassShift = raw::Words::kClassShift, kClassMask = raw::Words::kClassMask;
  static constexpr uint32_t kBackShift = raw::Words::kBackShift;
  // The heap owns the bytes, not an arena: never set in an object.
  static constexpr uint32_t kStandalone = raw::Words::kStandalone;
  static constexpr uint32_t kMaxSize = raw::Words::kMaxString;

 private:
  void set_data(const char* bytes) { data_ = bytes - reinterpret_cast<const char*>(this); }
  void set_size_terminated(size_t size);
  char* make_own(Arena* arena, size_t capacity);  // own, writable storage with room for `capacity` bytes and a NUL
  void remember_capacity();
  const char* terminated_copy() const;
  char* make_own_on_heap(size_t capacity);
  void free_own();
  // Of no storage, every iterator is at the begin.
  size_t index_of(const_iterator at) const {
    return data_ == 0 ? 0 : static_cast<size_t>(at - std::as_const(*this).data());
  }
  iterator insert_at(const_iterator at, std::string_view s);
  iterator erase_range(const_iterator first, const_iterator last);
  String& replace_between(const_iterator first, const_iterator last, std::string_view s);

  int64_t data_ = 0;
  uint32_t size_ = 0;
  uint32_t meta_ = 0;
};

static_assert(sizeof(String) == sizeof(raw::Words));

// Swaps the bytes; for algorithms.
inline void swap(String& a, String& b) { a.swap(b); }
inline void swap(String& a, std::string& b) { a.swap(b); }
inline void swap(std::string& a, String& b) { b.swap(a); }

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
