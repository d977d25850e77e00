// The verilated serializer with its ports joined to a link and the host's memory.
//
// Commands come at the times at which the host's doorbell reaches the engine; packets leave at 64 bytes a cycle.
// Whoever sends commands puts what they refer to into host memory first, and keeps it there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "schema/image.h"
#include "sim/inbox.h"
#include "sim/link.h"

namespace drover::sim {

struct SerializerSetup {
  std::span<char> host, engine;  // memories, 64-byte aligned, multiples of 64 bytes
  uint64_t pushed_from = 0;      // engine memory from here on is the inbox, for pushed records
  Link* link = nullptr;
  Inbox* inbox = nullptr;  // in front of the link
  Link* engine_link = nullptr;
  const Time* now = nullptr;
};

struct SerializerSend {
  Time at = 0;
  uint16_t cookie = 0;
  bool walk = false;  // nic-only: `records` is the object's place, of the message `message_index`
  uint32_t message_index = 0;
  bool pushed = false;   // the records lie in engine memory, from pushed_from on
  uint64_t records = 0;  // offsets in host memory
  uint32_t record_bytes = 0;
  uint64_t payload = 0;
  uint32_t payload_bytes = 0;
  bool grpc_prefix = false;  // five bytes in front: 0, and the message's length, big-endian
};

struct SerializerDone {
  uint16_t cookie;
  uint8_t error;  // rtl/serializer/drover_ser_pkg.sv's; 0 none
  bool left_to_software;
  Time at;             // the packet's last byte left; with an error, the record
  std::string packet;  // without an error
};

struct SerializerPorts {
  uint64_t request_stalls = 0;  // cycles in which a read waited for the link
  uint64_t waiting = 0;         // cycles in which reads were under way and nothing came
  bool read_valid = false, data_valid = false, tx_valid = false, done = false;
};

class SerializerEngine {
 public:
  // Where offset 0 of host memory lies on the bus.
  static const uint64_t kHostBus;
  // What the inbox calls offset 0 of engine memory; host memory's offsets it takes as they are.
  static constexpr uint64_t kEngineInInbox = uint64_t{1} << 48;

  explicit SerializerEngine(const SerializerSetup& setup);
  ~SerializerEngine();

  void load(const schema::Image& image);  // the engine must be idle
  void send(const SerializerSend& command);
  void on_done(std::function<void(SerializerDone)> callback);
  void cycle();

  const SerializerPorts& ports() const;
  uint64_t violations() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace drover::sim
