// Memory for secrets on their way to another process: an anonymous memfd, which the one who fills it overwrites once
// the other has copied what is in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "channel/control.h"

namespace drover {

class SecretMemory {
 public:
  // Holds `text`. Null: `error` says why.
  static std::optional<SecretMemory> make(std::string_view text, ControlError* error);
  // Overwrites what it holds.
  ~SecretMemory();
  SecretMemory(SecretMemory&&) = default;
  SecretMemory& operator=(SecretMemory&&) = delete;

  int fd() const { return fd_.get(); }
  uint64_t size() const { return size_; }

 private:
  SecretMemory(UniqueFd fd, uint64_t size) : fd_(std::move(fd)), size_(size) {}

  UniqueFd fd_;
  uint64_t size_;
};

// What such a descriptor of another process holds, copied once; the caller overwrites it after use. Refuses anything
// but a memfd of that size, so that reading it never blocks, and a size over `most`.
std::optional<std::string> read_secret(int fd, uint64_t size, uint64_t most, ControlError* error);

}  // namespace drover
