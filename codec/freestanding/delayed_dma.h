// For tests: a DMA engine (codec/freestanding/dma.h) between this program's memory and a host's, which is an array at
// another address. It executes its commands at wait(), the last one first, which exposes code that relies on an order
// or reads bytes too early. A command outside the host's memory ends the test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace drover {

class DelayedDma {
 public:
  // `fault` is called, and must not return, when a command leaves the host's memory.
  DelayedDma(uint64_t base, char* host, size_t size, void (*fault)())
      : base_(base), host_(host), size_(size), fault_(fault) {}

  void to_host(uint64_t host, const void* local, size_t size) { add({const_cast<void*>(local), host, size, true}); }
  void from_host(void* local, uint64_t host, size_t size) {
    add({local, host, size, false});
    for (uint32_t i = 0; i < repeats_; ++i) std::memset(local, 0xA5, size);  // nothing to be read yet
  }
  void wait() {
    while (count_ != 0) run(queue_[--count_]);
  }

  // Repeats each command. A real DMA costs no instructions; measuring with two counts separates this one's cost.
  void set_repeats(uint32_t repeats) { repeats_ = repeats; }

  uint32_t commands() const { return commands_; }
  uint32_t bytes() const { return bytes_; }

 private:
  struct Command {
    void* local;
    uint64_t host;
    size_t size;
    bool to_host;
  };
  static constexpr size_t kQueue = 256;

  void add(const Command& command) {
    if (command.host < base_ || command.host - base_ > size_ || command.size > size_ - (command.host - base_)) fault_();
    if (count_ == kQueue) run(queue_[--count_]);
    queue_[count_++] = command;
    ++commands_;
    bytes_ += static_cast<uint32_t>(command.size);
  }
  void run(const Command& command) {
    char* host = host_ + static_cast<size_t>(command.host - base_);
    void* to = command.to_host ? host : command.local;
    const void* from = command.to_host ? command.local : host;
    for (uint32_t i = 0; i < repeats_; ++i) std::memcpy(to, from, command.size);
  }

  uint64_t base_;
  char* host_;
  size_t size_;
  void (*fault_)();
  Command queue_[kQueue];
  size_t count_ = 0;
  uint32_t repeats_ = 1;
  uint32_t commands_ = 0, bytes_ = 0;
};

}  // namespace drover
