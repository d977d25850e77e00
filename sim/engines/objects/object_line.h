// The arguments of an RPC line that stands for a message: between the host's program and the NIC, where the NIC has a
// codec. Both sides of it are the simulator's; it is no format of Drover's yet.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace drover::sim {

enum class ObjectKind : uint8_t {
  kObject,  // at `at`, a Drover object
  kStream,  // at `at`, records for the serializer; host to NIC only
  kWire,    // at `at`, wire bytes that the deserializer left to software; NIC to host only
  kError,   // no message of its type: `code`; NIC to host only
};

struct ObjectLine {
  ObjectKind kind = ObjectKind::kObject;
  uint8_t code = 0;
  uint16_t type = 0;     // index of the message in the schema
  uint32_t bytes = 0;    // of the records, the wire bytes, or the run that holds the object (0: not in one piece)
  uint64_t at = 0;       // received: in the region; to be sent: in the memory of what is sent
  uint64_t payload = 0;  // of a stream
  uint32_t payload_bytes = 0;
  uint32_t reserved = 0;

  std::vector<std::byte> arguments() const {
    std::vector<std::byte> out(sizeof *this);
    std::memcpy(out.data(), this, sizeof *this);
    return out;
  }
  // False if these are not the arguments of such a line.
  static bool parse(std::span<const std::byte> arguments, ObjectLine* out) {
    if (arguments.size() != sizeof *out) return false;
    std::memcpy(static_cast<void*>(out), arguments.data(), sizeof *out);
    return true;
  }
};
static_assert(sizeof(ObjectLine) == 32);

}  // namespace drover::sim
