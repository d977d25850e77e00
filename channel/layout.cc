#include "channel/layout.h"

#include <bit>
#include <cstring>

namespace drover {
namespace {

constexpr uint64_t kPage = kRegionHeaderSize;
uint64_t round_up(uint64_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

bool in_range(const char* name, uint64_t value, uint64_t lowest, uint64_t highest, std::string* error) {
  if (value >= lowest && value <= highest) return true;
  *error = std::string(name) + " is " + std::to_string(value) + ", expected " + std::to_string(lowest) + " to " +
           std::to_string(highest);
  return false;
}

bool check_chunks(const char* name, uint64_t bytes, uint32_t channels, std::string* error) {
  if (!in_range(name, bytes, kChunkSize, kMaxRegionSize / 2 / channels, error)) return false;
  if (bytes % kChunkSize == 0) return true;
  *error = std::string(name) + " is " + std::to_string(bytes) + ", expected a multiple of 4096";
  return false;
}

}  // namespace

std::optional<RegionLayout> RegionLayout::compute(const ChannelOptions& options, std::string* error) {
  if (!in_range("engine_threads", options.engine_threads, 1, kMaxEngineThreads, error) ||
      !in_range("workers", options.workers, 1, kMaxWorkers, error) ||
      !in_range("ring_slots", options.ring_slots, kMinRingSlots, kMaxRingSlots, error)) {
    return std::nullopt;
  }
  if (!std::has_single_bit(options.ring_slots)) {
    *error = "ring_slots is " + std::to_string(options.ring_slots) + ", expected a power of two";
    return std::nullopt;
  }
  uint32_t channels = options.engine_threads * options.workers;
  if (!check_chunks("rx_bytes", options.rx_bytes, channels, error) ||
      !check_chunks("tx_bytes", options.tx_bytes, channels, error)) {
    return std::nullopt;
  }
  RegionLayout layout;
  layout.options_ = options;
  uint64_t rings = round_up(layout.ring_bytes() * channels);
  layout.rx_threads_ = kRegionHeaderSize;
  layout.rx_positions_ = layout.rx_threads_ + sizeof(EngineThreadShared) * options.engine_threads;
  layout.rx_rings_ = round_up(layout.rx_positions_ + sizeof(ConsumerPosition) * channels);
  layout.rx_chunks_ = layout.rx_rings_ + rings;
  layout.rx_size_ = layout.rx_chunks_ + options.rx_bytes * channels;
  layout.tx_workers_ = kRegionHeaderSize;
  layout.tx_positions_ = round_up(layout.tx_workers_ + sizeof(WorkerShared) * options.workers);
  layout.tx_rings_ = round_up(layout.tx_positions_ + sizeof(ConsumerPosition) * channels);
  layout.tx_chunks_ = layout.tx_rings_ + rings;
  layout.tx_size_ = layout.tx_chunks_ + options.tx_bytes * channels;
  if (layout.rx_size_ > kMaxRegionSize || layout.tx_size_ > kMaxRegionSize) {
    *error = "the region would have more than " + std::to_string(kMaxRegionSize) + " bytes";
    return std::nullopt;
  }
  return layout;
}

bool RegionLayout::write(const Region& region) const {
  LayoutRecord record{};
  record.slot_size = kSlotSize;
  record.chunk_size = kChunkSize;
  record.engine_threads = options_.engine_threads;
  record.workers = options_.workers;
  record.ring_slots = options_.ring_slots;
  record.rx_bytes = options_.rx_bytes;
  record.tx_bytes = options_.tx_bytes;
  record.rx_threads = rx_threads_;
  record.rx_positions = rx_positions_;
  record.rx_rings = rx_rings_;
  record.rx_chunks = rx_chunks_;
  record.tx_workers = tx_workers_;
  record.tx_positions = tx_positions_;
  record.tx_rings = tx_rings_;
  record.tx_chunks = tx_chunks_;
  std::memcpy(region.rx() + sizeof(RegionHeader), &record, sizeof record);
  return region.write_tx_header(sizeof(RegionHeader), &record, sizeof record, nullptr);
}

std::optional<RegionLayout> RegionLayout::read(const Region& region, std::string* error) {
  LayoutRecord record;
  std::memcpy(&record, region.rx() + sizeof(RegionHeader), sizeof record);
  ChannelOptions options{record.engine_threads, record.workers, record.ring_slots, record.rx_bytes, record.tx_bytes};
  if (!in_range("slot_size", record.slot_size, kSlotSize, kSlotSize, error) ||
      !in_range("chunk_size", record.chunk_size, kChunkSize, kChunkSize, error)) {
    return std::nullopt;
  }
  auto layout = compute(options, error);
  if (!layout) return std::nullopt;
  const RegionLayout& l = *layout;
  struct Check {
    const char* name;
    uint64_t found, expected;
  };
  const Check checks[] = {
      {"offset of engine threads", record.rx_threads, l.rx_threads_},
      {"offset of rx positions", record.rx_positions, l.rx_positions_},
      {"offset of requests rings", record.rx_rings, l.rx_rings_},
      {"offset of rx chunks", record.rx_chunks, l.rx_chunks_},
      {"offset of workers", record.tx_workers, l.tx_workers_},
      {"offset of tx positions", record.tx_positions, l.tx_positions_},
      {"offset of responses rings", record.tx_rings, l.tx_rings_},
      {"offset of tx chunks", record.tx_chunks, l.tx_chunks_},
      {"size of rx", region.rx_size(), l.rx_size_},
      {"size of tx", region.tx_size(), l.tx_size_},
  };
  for (const Check& check : checks) {
    if (!in_range(check.name, check.found, check.expected, check.expected, error)) return std::nullopt;
  }
  return layout;
}

}  // namespace drover
