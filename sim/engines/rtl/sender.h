// The verilated serializer with its ports joined to a link and the host's memory.
//
// A command begins when the host's doorbell reaches the engine; packets leave at 64 bytes a cycle. The memory that a
// command refers to must stay valid from the command to its completion.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "schema/image.h"
#include "sim/platform/host_images.h"
#include "sim/platform/inbox.h"
#include "sim/platform/link.h"

namespace drover::sim {

struct SenderSetup {
  std::span<char> host, engine;  // memories, 64-byte aligned, multiples of 64 bytes
  uint64_t pushed_from = 0;      // engine memory from here on is the inbox, for pushed records
  Link* link = nullptr;
  Inbox* inbox = nullptr;  // in front of the link
  Link* engine_link = nullptr;
  const Time* now = nullptr;
};

struct SendCommand {
  Time at = 0;
  uint16_t cookie = 0;
  SendSource source;
  bool pushed = false;  // the records lie in engine memory, at `pushed_at`
  uint64_t pushed_at = 0;
  bool grpc_prefix = false;  // five bytes in front: 0, and the message's length, big-endian
};

struct SendDone {
  uint16_t cookie;
  uint8_t error;  // serializer::Error (rtl/serializer/serializer.toml)
  bool left_to_software;
  Time at;             // the packet's last byte left; with an error, the record
  std::string packet;  // without an error
};

struct SenderPorts {
  uint64_t request_stalls = 0;  // cycles in which a read waited for the link
  uint64_t waiting = 0;         // cycles in which reads were under way and nothing came
  bool read_valid = false, data_valid = false, tx_valid = false, done = false;
};

class RtlSender {
 public:
  // Where offset 0 of host memory lies on the bus.
  static const uint64_t kHostBus;
  // The inbox's address of offset 0 of engine memory. Host memory's offsets are used unchanged.
  static constexpr uint64_t kEngineInInbox = uint64_t{1} << 48;

  explicit RtlSender(const SenderSetup& setup);
  ~RtlSender();

  void load(const schema::Image& image);  // the engine must be idle
  void send(const SendCommand& command);
  void on_done(std::function<void(SendDone)> callback);
  void cycle();

  const SenderPorts& ports() const;
  uint64_t violations() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace drover::sim
