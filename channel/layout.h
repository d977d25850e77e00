// The channel's shared structures and where they lie in a region (docs/formats.md, section 3).
//
//   rx: header page | EngineThreadShared[engine_threads] | ConsumerPosition[channels] | requests rings  | rx chunks
//   tx: header page | WorkerShared[workers]              | ConsumerPosition[channels] | responses rings | tx chunks
//
// The rings and the chunks begin on a page; within each, what belongs to channel i follows what belongs to i-1.
// A ConsumerPosition lies in the memory of the side that consumes: the responses rings' positions in rx (the engine
// writes them), the requests rings' in tx (the host does). Channel (e, w) has index e * workers + w, so that one
// engine thread's rx chunks are one contiguous area.
//
// The engine computes a RegionLayout once and keeps it in its own memory; it never reads one back from tx. The
// host computes it from the record in rx and refuses a region that does not agree with it in every word.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "object/region.h"

namespace drover {

inline constexpr size_t kSlotSize = 64;
inline constexpr uint32_t kMaxEngineThreads = 64;
inline constexpr uint32_t kMaxWorkers = 1024;
inline constexpr uint32_t kMinRingSlots = 16;
inline constexpr uint32_t kMaxRingSlots = 1u << 20;

// ---- words that one side writes and the other reads

// In rx. `waiting` is 0 while the engine thread runs; while it sleeps, the sleep's number (never 0), so that a host
// rings once a sleep. See channel/doorbell.h.
struct alignas(64) EngineThreadShared {
  std::atomic<uint32_t> waiting;
  uint32_t reserved[15];
};

// In tx. `waiting` is 1 while the worker sleeps on it (a futex), else 0. The engine may set it to 0 to wake it.
struct alignas(64) WorkerShared {
  std::atomic<uint32_t> waiting;
  uint32_t reserved[15];
};

// How many slots of a ring its consumer has taken, as of its last publication.
struct alignas(64) ConsumerPosition {
  std::atomic<uint64_t> position;
  uint64_t reserved[7];
};

// ---- slots

// A ring slot as it travels. Byte 0..3 is the ring's own; 4 and 5 are type and flags; the body follows.
struct alignas(64) Slot {
  uint32_t sequence = 0;  // set by the ring
  uint8_t type = 0;
  uint8_t flags = 0;
  uint8_t body[58] = {};
};
static_assert(sizeof(Slot) == kSlotSize);

enum class RequestSlotType : uint8_t { kCall = 1, kCancel = 2, kRelease = 3, kDrain = 4 };
enum class ResponseSlotType : uint8_t { kComplete = 1, kFinished = 2 };
enum class CancelReason : uint8_t { kClient = 1, kDeadline = 2, kShutdown = 3 };

struct CallSlot {
  uint32_t sequence;
  uint8_t type;  // RequestSlotType::kCall
  uint8_t flags;
  uint16_t method;
  uint32_t call;
  uint32_t generation;
  uint64_t request;     // region offset of the object
  uint64_t metadata;    // region offset of a CallMetadata; 0 none
  int64_t deadline_ns;  // CLOCK_MONOTONIC; INT64_MAX none
  uint64_t rx_begin;    // region offset of the run that holds all of it
  uint32_t rx_chunks;
  uint32_t reserved[3];
};

struct CancelSlot {
  uint32_t sequence;
  uint8_t type;  // RequestSlotType::kCancel
  uint8_t flags;
  uint16_t reserved0;
  uint32_t call;
  uint32_t generation;
  uint8_t reason;  // CancelReason
  uint8_t reserved1[47];
};

inline constexpr size_t kMaxReleases = 14;
struct ReleaseSlot {
  uint32_t sequence;
  uint8_t type;  // RequestSlotType::kRelease
  uint8_t flags;
  uint8_t count;  // 1..kMaxReleases
  uint8_t reserved;
  uint32_t tx_call[kMaxReleases];
};

struct CompleteSlot {
  uint32_t sequence;
  uint8_t type;   // ResponseSlotType::kComplete
  uint8_t flags;  // kCompleteFinished, kCompleteNoRoom
  uint16_t reserved0;
  uint32_t call;
  uint32_t generation;
  uint32_t tx_call;
  uint32_t status;
  uint64_t response;  // region offset of the object; 0 none
  uint64_t trailer;   // region offset of a CallTrailer; 0 none
  uint64_t reserved1[3];
};
inline constexpr uint8_t kCompleteFinished = 1;  // the host touches the request no more
inline constexpr uint8_t kCompleteNoRoom = 2;    // status RESOURCE_EXHAUSTED: not even a trailer found room in tx

struct FinishedSlot {
  uint32_t sequence;
  uint8_t type;  // ResponseSlotType::kFinished
  uint8_t flags;
  uint16_t reserved0;
  uint32_t call;
  uint32_t generation;
  uint64_t reserved1[6];
};

static_assert(sizeof(EngineThreadShared) == 64 && sizeof(WorkerShared) == 64 && sizeof(ConsumerPosition) == 64);
static_assert(sizeof(CallSlot) == 64 && sizeof(CancelSlot) == 64 && sizeof(ReleaseSlot) == 64 &&
              sizeof(CompleteSlot) == 64 && sizeof(FinishedSlot) == 64);
static_assert(offsetof(CallSlot, method) == 6 && offsetof(CallSlot, call) == 8 && offsetof(CallSlot, request) == 16 &&
              offsetof(CallSlot, metadata) == 24 && offsetof(CallSlot, deadline_ns) == 32 &&
              offsetof(CallSlot, rx_begin) == 40 && offsetof(CallSlot, rx_chunks) == 48);
static_assert(offsetof(CancelSlot, call) == 8 && offsetof(CancelSlot, reason) == 16);
static_assert(offsetof(ReleaseSlot, count) == 6 && offsetof(ReleaseSlot, tx_call) == 8);
static_assert(offsetof(CompleteSlot, call) == 8 && offsetof(CompleteSlot, tx_call) == 16 &&
              offsetof(CompleteSlot, status) == 20 && offsetof(CompleteSlot, response) == 24 &&
              offsetof(CompleteSlot, trailer) == 32);
static_assert(offsetof(FinishedSlot, call) == 8);

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
  // Engine side, right after Region::create(layout.sizes()): writes the layout into both header pages.
  void write(const Region& region) const;
  // Host side, right after Region::attach: reads and checks what the engine wrote in rx.
  static std::optional<RegionLayout> read(const Region& region, std::string* error);

  const ChannelOptions& options() const { return options_; }
  uint32_t channels() const { return options_.engine_threads * options_.workers; }
  uint32_t channel(uint32_t engine_thread, uint32_t worker) const { return engine_thread * options_.workers + worker; }
  RegionSizes sizes() const { return {rx_size_, tx_size_}; }

  // Region offsets. Arguments must be in range (they come from the caller's own loop, never from shared memory).
  uint64_t engine_thread_shared(uint32_t engine_thread) const { return rx_threads_ + 64ull * engine_thread; }
  uint64_t worker_shared(uint32_t worker) const { return rx_size_ + tx_workers_ + 64ull * worker; }
  Area requests_ring(uint32_t channel) const { return {rx_rings_ + ring_bytes() * channel, ring_bytes()}; }
  Area responses_ring(uint32_t channel) const { return {rx_size_ + tx_rings_ + ring_bytes() * channel, ring_bytes()}; }
  uint64_t requests_position(uint32_t channel) const { return rx_size_ + tx_positions_ + 64ull * channel; }
  uint64_t responses_position(uint32_t channel) const { return rx_positions_ + 64ull * channel; }
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

// What the header pages hold behind the RegionHeader, at byte 64; the same in rx and tx.
struct LayoutRecord {
  uint32_t slot_size;   // 64
  uint32_t chunk_size;  // 4096
  uint32_t engine_threads;
  uint32_t workers;
  uint32_t ring_slots;
  uint32_t reserved;
  uint64_t rx_bytes;
  uint64_t tx_bytes;
  uint64_t rx_threads, rx_positions, rx_rings, rx_chunks;  // offsets inside rx
  uint64_t tx_workers, tx_positions, tx_rings, tx_chunks;  // offsets inside tx
};
static_assert(sizeof(LayoutRecord) == 104 && sizeof(RegionHeader) + sizeof(LayoutRecord) <= kRegionHeaderSize);

}  // namespace drover
