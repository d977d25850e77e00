// StringReading: how a String is read, which is as a const std::string is. The base of String (object/string.h), which
// brings data() and size().
//
// Views of other libraries (absl::string_view, fmt's) are found by their form, not by name: this header includes none.
// Thread-safety: as std::string.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace drover {

// A view of characters that is not the standard's.
template <typename T>
concept ForeignStringView =
    std::is_class_v<T> && !std::is_same_v<T, std::string_view> && std::is_trivially_copyable_v<T> &&
    std::is_constructible_v<T, const char*, size_t> && requires(T view) { view.remove_prefix(1); };
// What libraries take as an argument that may be any text, and which is made from a view of theirs: absl::AlphaNum has
// Piece(), what absl::Substitute takes piece(), what absl::StrSplit takes value().
namespace string_reading {
template <typename T>
auto piece_of(const T& argument) -> std::remove_cvref_t<decltype(argument.Piece())>;
template <typename T>
auto piece_of(const T& argument) -> std::remove_cvref_t<decltype(argument.piece())>;
template <typename T>
  requires(!requires { typename T::value_type; })
auto piece_of(const T& argument) -> std::remove_cvref_t<decltype(argument.value())>;
}  // namespace string_reading
template <typename T>
concept TextArgument = std::is_class_v<T> && requires(const T& argument) {
  requires ForeignStringView<decltype(string_reading::piece_of(argument))>;
};

template <class Self>
class StringReading {
 public:
  using traits_type = std::char_traits<char>;
  using allocator_type = std::allocator<char>;
  using value_type = char;
  using size_type = size_t;
  using difference_type = ptrdiff_t;
  using reference = char&;
  using const_reference = const char&;
  using pointer = char*;
  using const_pointer = const char*;
  using iterator = char*;
  using const_iterator = const char*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  static constexpr size_t npos = std::string_view::npos;

  std::string_view view() const { return {self().data(), self().size()}; }
  std::string str() const { return std::string(view()); }
  operator std::string_view() const { return view(); }
  operator std::string() const { return str(); }
  template <typename T>
    requires(!std::is_same_v<T, Self>) && ForeignStringView<T>
  operator T() const {
    return T(self().data(), self().size());
  }
  template <typename T>
    requires(!std::is_same_v<T, Self>) && TextArgument<T>
  operator T() const {
    return T(decltype(string_reading::piece_of(std::declval<const T&>()))(self().data(), self().size()));
  }

  size_t length() const { return self().size(); }
  size_t max_size() const { return 0x7fffffff; }
  allocator_type get_allocator() const { return {}; }
  bool empty() const { return self().size() == 0; }
  const char* begin() const { return self().data(); }
  const char* end() const { return self().data() + self().size(); }
  const char* cbegin() const { return begin(); }
  const char* cend() const { return end(); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }
  const_reverse_iterator crbegin() const { return rbegin(); }
  const_reverse_iterator crend() const { return rend(); }
  const char& operator[](size_t i) const { return self().data()[i]; }
  const char& at(size_t i) const {
    if (i >= self().size()) throw std::out_of_range("drover::String::at");
    return self().data()[i];
  }
  const char& front() const { return self().data()[0]; }
  const char& back() const { return self().data()[self().size() - 1]; }
  std::string substr(size_t pos = 0, size_t count = npos) const { return std::string(view().substr(pos, count)); }
  size_t copy(char* to, size_t count, size_t pos = 0) const { return view().copy(to, count, pos); }

  int compare(std::string_view other) const { return view().compare(other); }
  int compare(size_t pos, size_t count, std::string_view other) const { return view().compare(pos, count, other); }
  int compare(size_t pos, size_t count, const char* other, size_t other_count) const {
    return view().compare(pos, count, other, other_count);
  }
  int compare(size_t pos, size_t count, std::string_view other, size_t other_pos, size_t other_count = npos) const {
    return view().compare(pos, count, other, other_pos, other_count);
  }
  bool starts_with(std::string_view prefix) const { return view().starts_with(prefix); }
  bool starts_with(char prefix) const { return view().starts_with(prefix); }
  bool ends_with(std::string_view suffix) const { return view().ends_with(suffix); }
  bool ends_with(char suffix) const { return view().ends_with(suffix); }
  bool contains(std::string_view part) const { return find(part) != npos; }
  bool contains(char part) const { return find(part) != npos; }

  size_t find(std::string_view s, size_t pos = 0) const { return view().find(s, pos); }
  size_t find(char c, size_t pos = 0) const { return view().find(c, pos); }
  size_t find(const char* s, size_t pos, size_t n) const { return view().find(s, pos, n); }
  size_t rfind(std::string_view s, size_t pos = npos) const { return view().rfind(s, pos); }
  size_t rfind(char c, size_t pos = npos) const { return view().rfind(c, pos); }
  size_t rfind(const char* s, size_t pos, size_t n) const { return view().rfind(s, pos, n); }
  size_t find_first_of(std::string_view s, size_t pos = 0) const { return view().find_first_of(s, pos); }
  size_t find_first_of(char c, size_t pos = 0) const { return view().find_first_of(c, pos); }
  size_t find_first_of(const char* s, size_t pos, size_t n) const { return view().find_first_of(s, pos, n); }
  size_t find_last_of(std::string_view s, size_t pos = npos) const { return view().find_last_of(s, pos); }
  size_t find_last_of(char c, size_t pos = npos) const { return view().find_last_of(c, pos); }
  size_t find_last_of(const char* s, size_t pos, size_t n) const { return view().find_last_of(s, pos, n); }
  size_t find_first_not_of(std::string_view s, size_t pos = 0) const { return view().find_first_not_of(s, pos); }
  size_t find_first_not_of(char c, size_t pos = 0) const { return view().find_first_not_of(c, pos); }
  size_t find_first_not_of(const char* s, size_t pos, size_t n) const { return view().find_first_not_of(s, pos, n); }
  size_t find_last_not_of(std::string_view s, size_t pos = npos) const { return view().find_last_not_of(s, pos); }
  size_t find_last_not_of(char c, size_t pos = npos) const { return view().find_last_not_of(c, pos); }
  size_t find_last_not_of(const char* s, size_t pos, size_t n) const { return view().find_last_not_of(s, pos, n); }

  // absl::Hash asks for this: the hash of a std::string with these bytes.
  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, const Self& s) {
    return Hash::combine(Hash::combine_contiguous(std::move(hash), s.data(), s.size()), s.size());
  }
  // std::filesystem::path takes a std::string, which a String only converts to.
  template <typename Path>
    requires requires(const Path& path) {
      path.lexically_normal();
      Path::preferred_separator;
    }
  friend Path operator/(const Path& path, const Self& s) {
    return path / Path(s.view());
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace drover
