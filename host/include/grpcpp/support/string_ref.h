// string_ref: gRPC's view of a string that another object owns; what client_metadata() holds. Not NUL-terminated.
#pragma once

#include <iterator>
#include <ostream>
#include <string>
#include <string_view>

namespace grpc {

class string_ref {
 public:
  using const_iterator = const char*;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  static constexpr size_t npos = static_cast<size_t>(-1);

  string_ref() = default;
  string_ref(const string_ref&) = default;
  string_ref& operator=(const string_ref&) = default;
  string_ref(const char* s) : view_(s) {}
  string_ref(const char* s, size_t size) : view_(s, size) {}
  string_ref(const std::string& s) : view_(s) {}
  string_ref(std::string_view s) : view_(s) {}
  operator std::string_view() const { return view_; }

  const_iterator begin() const { return view_.data(); }
  const_iterator end() const { return view_.data() + view_.size(); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }
  const_reverse_iterator crbegin() const { return rbegin(); }
  const_reverse_iterator crend() const { return rend(); }

  size_t size() const { return view_.size(); }
  size_t length() const { return view_.size(); }
  size_t max_size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  const char* data() const { return view_.data(); }
  int compare(string_ref other) const { return view_.compare(other.view_); }
  bool starts_with(string_ref prefix) const { return view_.starts_with(prefix.view_); }
  bool ends_with(string_ref suffix) const { return view_.ends_with(suffix.view_); }
  // npos if not found.
  size_t find(string_ref s) const { return view_.find(s.view_); }
  size_t find(char c) const { return view_.find(c); }
  string_ref substr(size_t pos, size_t count = npos) const {
    return string_ref(view_.substr(pos < view_.size() ? pos : view_.size(), count));
  }

 private:
  std::string_view view_;
};

inline bool operator==(string_ref a, string_ref b) { return a.compare(b) == 0; }
inline bool operator!=(string_ref a, string_ref b) { return a.compare(b) != 0; }
inline bool operator<(string_ref a, string_ref b) { return a.compare(b) < 0; }
inline bool operator<=(string_ref a, string_ref b) { return a.compare(b) <= 0; }
inline bool operator>(string_ref a, string_ref b) { return a.compare(b) > 0; }
inline bool operator>=(string_ref a, string_ref b) { return a.compare(b) >= 0; }
inline std::ostream& operator<<(std::ostream& out, string_ref s) { return out << std::string_view(s); }

}  // namespace grpc
