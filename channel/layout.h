// The channel's shared structures and where they lie in a region (docs/formats.md, section 3).
//
//   rx: header page | EngineThreadShared[engine_threads] | ConsumerPosition[channels] | requests rings  | rx chunks
//   tx: header page | WorkerShared[workers]              | ConsumerPosition[channels] | responses rings | tx chunks
//
// The rings and the chunks begin on a page, and so do tx's positions: the pages of WorkerShared are the only ones of
// tx that the engine may write. Within each part, what belongs to channel i follows what belongs to i-1.
// A ConsumerPosition lies in the memory of the side that consumes: the responses rings' positions in rx (the engine
// writes them), the requests rings' in tx (the host does). Channel (e, w) has index e * workers + w, so that one
// engine thread's rx chunks are one contiguous area.
//
// The engine computes a RegionLayout once and keeps it in its own memory; it never reads one back from tx. The
// host computes it from the record in rx and refuses a region that does not agree with it in every word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "channel/channel_format.h"
#include "object/region.h"

namespace drover {

// Slots of a given kind from and to the ring's own type; both are 64 bytes, copied.
template <typename T>
Slot to_slot(const T& typed) {
  static_assert(sizeof(T) == sizeof(Slot));
  Slot slot;
  __builtin_memcpy(static_cast<void*>(&slot), &typed, sizeof slot);
  return slot;
}
template <typename T>
T slot_as(const Slot& slot) {
  static_assert(sizeof(T) == sizeof(Slot));
  T typed;
  __builtin_memcpy(static_cast<void*>(&typed), &slot, sizeof typed);
  return typed;
}

// ---- layout

struct ChannelOptions {
  uint32_t engine_threads = 1;
  uint32_t workers = 1;
  // Slots of each ring: a power of two, kMinRingSlots..kMaxRingSlots. Two rings of 128 fill 16 KiB, half a
  // first-level cache; twice that costs a quarter of the round trip (ring_bench --slots 256).
  uint32_t ring_slots = 128;
  uint64_t rx_bytes = 64 << 20;  // chunks per channel; a multiple of kChunkSize
  uint64_t tx_bytes = 64 << 20;

  bool operator==(const ChannelOptions&) const = default;
};

// A part of the region, by region offset.
struct Area {
  uint64_t offset = 0;
  uint64_t size = 0;
};

class RegionLayout {
 public:
  // Null if an option is out of its range; `error` then names it.
  static std::optional<RegionLayout> compute(const ChannelOptions& options, std::string* error);
  // Engine side, right after Region::create(layout.sizes()): writes the layout into both header pages. False: tx's
  // could not be written.
  bool write(const Region& region) const;
  // Host side, right after Region::attach: reads and checks what the engine wrote in rx.
  static std::optional<RegionLayout> read(const Region& region, std::string* error);

  const ChannelOptions& options() const { return options_; }
  uint32_t channels() const { return options_.engine_threads * options_.workers; }
  uint32_t channel(uint32_t engine_thread, uint32_t worker) const { return engine_thread * options_.workers + worker; }
  RegionSizes sizes() const { return {rx_size_, tx_size_, tx_positions_ - tx_workers_}; }

  // Region offsets. Arguments must be in range (they come from the caller's own loop, never from shared memory).
  uint64_t engine_thread_shared(uint32_t engine_thread) const {
    return rx_threads_ + sizeof(EngineThreadShared) * engine_thread;
  }
  uint64_t worker_shared(uint32_t worker) const { return rx_size_ + tx_workers_ + sizeof(WorkerShared) * worker; }
  Area requests_ring(uint32_t channel) const { return {rx_rings_ + ring_bytes() * channel, ring_bytes()}; }
  Area responses_ring(uint32_t channel) const { return {rx_size_ + tx_rings_ + ring_bytes() * channel, ring_bytes()}; }
  uint64_t requests_position(uint32_t channel) const {
    return rx_size_ + tx_positions_ + sizeof(ConsumerPosition) * channel;
  }
  uint64_t responses_position(uint32_t channel) const { return rx_positions_ + sizeof(ConsumerPosition) * channel; }
  Area rx_chunks(uint32_t channel) const { return {rx_chunks_ + options_.rx_bytes * channel, options_.rx_bytes}; }
  Area tx_chunks(uint32_t channel) const {
    return {rx_size_ + tx_chunks_ + options_.tx_bytes * channel, options_.tx_bytes};
  }
  // All rx chunks of one engine thread; all tx chunks of the host.
  Area rx_chunks_of_thread(uint32_t engine_thread) const {
    return {rx_chunks_ + options_.rx_bytes * channel(engine_thread, 0), options_.rx_bytes * options_.workers};
  }
  Area tx_chunks_of_host() const { return {rx_size_ + tx_chunks_, options_.tx_bytes * channels()}; }

 private:
  uint64_t ring_bytes() const { return kSlotSize * uint64_t{options_.ring_slots}; }

  ChannelOptions options_;
  // Offsets inside rx and inside tx, and the sizes of both.
  uint64_t rx_threads_ = 0, rx_positions_ = 0, rx_rings_ = 0, rx_chunks_ = 0, rx_size_ = 0;
  uint64_t tx_workers_ = 0, tx_positions_ = 0, tx_rings_ = 0, tx_chunks_ = 0, tx_size_ = 0;
};

static_assert(sizeof(RegionHeader) + sizeof(LayoutRecord) <= kRegionHeaderSize);

}  // namespace drover
