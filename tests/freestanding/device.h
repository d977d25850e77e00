// A device's DMA engine: a few registers, one of which starts a command and one of which counts the unfinished ones.
// For programs that are only linked.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drover {

struct DeviceDma {
  volatile uint32_t* registers;

  void to_host(uint64_t host, const void* local, size_t size) { start(host, local, size, 1); }
  void from_host(void* local, uint64_t host, size_t size) { start(host, local, size, 2); }
  void wait() {
    while (registers[5] != 0) {
    }
  }

 private:
  void start(uint64_t host, const void* local, size_t size, uint32_t direction) {
    registers[0] = static_cast<uint32_t>(host);
    registers[1] = static_cast<uint32_t>(host >> 32);
    registers[2] = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(local));
    registers[3] = static_cast<uint32_t>(size);
    registers[4] = direction;
  }
};

}  // namespace drover
