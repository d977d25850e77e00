// SecretText: text that may hold a key, such as that of a PEM file. Its memory is overwritten before it goes back,
// however that comes about: the text ends, grows, is assigned to, or an exception passes.
#pragma once

#include <string.h>  // explicit_bzero

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace drover::engine {

template <typename T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <typename Other>
  explicit WipingAllocator(const WipingAllocator<Other>&) {}
  T* allocate(size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* memory, size_t count) {
    ::explicit_bzero(static_cast<void*>(memory), count * sizeof(T));
    std::allocator<T>().deallocate(memory, count);
  }
  bool operator==(const WipingAllocator&) const { return true; }
};

// Not std::string: that one keeps short texts in itself. Moving leaves nothing behind. Thread-safety: as std::string.
class SecretText {
 public:
  SecretText() = default;
  template <typename Text>
    requires std::convertible_to<const Text&, std::string_view> && (!std::same_as<Text, SecretText>)
  SecretText(const Text& text) : SecretText(std::string_view(text), 0) {}

  operator std::string_view() const { return {bytes_.data(), bytes_.size()}; }
  char* data() { return bytes_.data(); }
  const char* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  void resize(size_t size) { bytes_.resize(size); }
  friend bool operator==(const SecretText& a, std::string_view b) { return std::string_view(a) == b; }

 private:
  SecretText(std::string_view text, int) : bytes_(text.begin(), text.end()) {}

  std::vector<char, WipingAllocator<char>> bytes_;
};

// Overwrites a text that another room made, where it goes.
class WipedAtEnd {
 public:
  explicit WipedAtEnd(std::string& secret) : secret_(secret) {}
  ~WipedAtEnd() { ::explicit_bzero(secret_.data(), secret_.size()); }
  WipedAtEnd(const WipedAtEnd&) = delete;
  WipedAtEnd& operator=(const WipedAtEnd&) = delete;

 private:
  std::string& secret_;
};

}  // namespace drover::engine
