// Functional coverage of the serializer's memory-affinity way, of streams that it has made the encoder's bytes of:
//
//   records   record op x length x where the record stands in its line x where its bytes go in the arena x read or
//   pushed far parts where a long part lies x tagged or raw x length x where in its line it begins x where in a beat x
//   read, pushed
//
// It follows the arena as the encoder does, so that each stream of a bench has to be told of, in the order of commands.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "rtl/testing/coverage.h"

namespace drover::rtl {

class SerializerCoverage {
 public:
  SerializerCoverage();

  // Whose records were pushed; places on the bus, of which the low six bits count.
  struct Stream {
    std::span<const char> records;
    bool pushed = false;
    uint64_t payload = 0;
    uint32_t payload_bytes = 0;
    size_t header_bytes = 0;
  };
  void add(const Stream& stream);
  // The bench begins anew: the arena is where it is after reset.
  void reset() { arena_ = 0; }
  // Where the encoder is in the arena: the lowest byte written, modulo 2^32.
  uint32_t arena() const { return arena_; }

  const Coverage& records() const { return records_; }
  const Coverage& far_parts() const { return far_parts_; }

  // ---- the axes
  static constexpr size_t kOps = 22, kLengths = 8;
  // A record op's place on its axis, of all but end, and back.
  static size_t op_index(uint32_t op);
  static uint32_t op(size_t index);
  // Bytes of a value, of a body, of a sub-message; elements.
  static size_t length_class(size_t bytes);
  enum Slot : size_t { kFirstSlot, kMiddleSlot, kLastSlot, kAcrossLines };
  enum Place : size_t { kNoBytes, kAlignedBytes, kInsideLine, kOverLine };
  enum Source : size_t { kEarlyPayload, kLatePayload, kEngineMemory, kHostMemory };

 private:
  struct Record;
  Place place_of(uint32_t bytes) const;
  void hit_far(const Stream& stream, const Record& record, uint64_t address, size_t wire_offset);

  Coverage records_, far_parts_;
  uint32_t arena_ = 0;
};

}  // namespace drover::rtl
