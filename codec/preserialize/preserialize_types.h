// The pre-serialized stream (docs/formats.md, section 4): what a host hands to a serializer in hardware instead of wire
// bytes. The CPU brings the fields of an object together, and encodes nothing: no varint, no zigzag, no length of a
// sub-message.
//
//   buffer:  [ record | record | ... | end ->      room      <- bytes of long strings ]
//
// Records are in 8-byte slots, last field first. Reading them forward emits wire bytes backward, so each sub-message's
// length is known before its tag is written. Payload (long strings) lies in wire order and is used from its end.
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/encode/encode_types.h"
#include "codec/preserialize/preserialized_format.h"
#include "schema/image.h"

namespace drover {

// A range of the host's addresses.
struct MemoryWindow {
  uint64_t base = 0;
  uint64_t size = 0;
  bool holds(uint64_t address) const { return address - base < size; }
  bool holds(uint64_t address, uint64_t bytes) const { return holds(address) && bytes <= base + size - address; }
};

struct PreserializeOptions {
  const Bounds* bounds = nullptr;     // null: the object is trusted
  uint64_t work_allowance = 1 << 20;  // as in EncodeOptions, of bytes of the stream
  int depth_limit = 100;
  // From this size on strings, bytes and packed fixed-size fields are payload; shorter ones stand among the records.
  size_t payload_threshold = 256;
  bool check_required = false;
  // The engine's memory, as the host sees it. Strings, bytes and packed fixed-size fields whose bytes lie there are not
  // read: their place in it and their size is all that is written (whether they end in it, the engine checks).
  MemoryWindow engine = {};
  // Memory of the host's that the engine may read by itself. Strings, bytes, packed fixed-size fields and unknown
  // fields of at least reference_from bytes that lie there are not copied: the stream refers to them, and they must
  // stay as they are until the engine has sent the message.
  MemoryWindow host = {};
  size_t reference_from = 256;
};

// Where a stream may be written, and where it is. The buffer is the caller's (memory that a device may read), 8-byte
// aligned, its size a multiple of 8.
struct PreserializedOutput {
  char* buffer = nullptr;
  size_t buffer_size = 0;

  // Set without error: the records at the buffer's beginning, the end among them, and the payload at its end.
  size_t record_bytes = 0;
  size_t payload_bytes = 0;
  const char* payload() const { return buffer + buffer_size - payload_bytes; }
};

}  // namespace drover
