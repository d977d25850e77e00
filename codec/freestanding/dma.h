// Dma: how a core with a small memory of its own moves bytes to and from a host's memory. Freestanding.
//
// A Dma is a class of the engine's (PsPIN's DMA commands, RpcNIC's one-shot writes, a simulated link) with
//
//   to_host(host, local, size)     starts to copy local bytes to the host address
//   from_host(local, host, size)   starts to copy the host's bytes to local memory
//   wait()                         returns when all that was started is done
//
// What is being copied to the host must not change before wait(), and what comes from it must not be read. Commands may
// overtake each other. Every host address handed over lies inside the HostArea that the caller was given: that is
// checked before, so a Dma has no error to report. An engine that fails to reach a host drops the
// call itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drover {

template <typename D>
concept Dma = requires(D dma, uint64_t host, void* local, const void* source, size_t size) {
  dma.to_host(host, source, size);
  dma.from_host(local, host, size);
  dma.wait();
};

// A piece of the host's memory, by the addresses that the Dma understands.
struct HostArea {
  uint64_t address = 0;  // 8-byte aligned
  uint64_t size = 0;
};

}  // namespace drover
