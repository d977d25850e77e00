// The verilated deserializer with its ports joined to a link, the region's memory and free lists.
//
// The region is host memory, then the engine's own, in one array: region offset r is its byte r. Messages come in as a
// stream of at most 64 bytes a cycle. Completion records are written to the host over the link, behind the data that
// they describe (the link keeps order), and are handed over with the time at which the host sees them. Chunks and runs
// are given to the engine in rotation, from lists that are longer than the messages in flight need. In field-by-field
// mode they are zeroed first, as the host would have to do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "rtl/driver/deserializer_records.h"
#include "schema/image.h"
#include "sim/platform/link.h"

namespace drover::sim {

// As the host sees it.
struct ArrivedRecord {
  rtl::DeserializerRecord record;
  Time arrived;
};

struct ReceiverSetup {
  bool one_shot = true;
  bool eager = false;
  bool protoacc = false;
  unsigned lanes = 4;
  std::span<char> region;  // 64-byte aligned
  size_t host_bytes = 0;   // of it, from the beginning; a multiple of 2 MiB, as the rest
  Link* link = nullptr;
  Link* engine_link = nullptr;
  Link* descriptor_link = nullptr;
  const Time* now = nullptr;
  bool records_to_host = true;  // else they stay in the engine, and have arrived at once
};

// What happened at its ports, for stall reasons and traces.
struct ReceiverPorts {
  uint64_t input_stalls = 0;      // cycles in which wire bytes waited for the engine
  uint64_t write_stalls = 0;      // cycles in which a DMA write waited for the link
  uint64_t descriptor_waits = 0;  // cycles in which a descriptor was read and had not come
  bool rx_valid = false, rx_ready = false, write_valid = false, write_ready = false, record = false;
};

class RtlReceiver {
 public:
  explicit RtlReceiver(const ReceiverSetup& setup);
  ~RtlReceiver();

  // Loads the schema table; takes no simulated time. The engine must be idle.
  void load(const schema::Image& image);
  // A message whose first byte may enter from `at` on. The bytes stay until its record.
  void send(Time at, uint32_t message_index, std::string_view wire, uint32_t cookie);
  void on_record(std::function<void(const ArrivedRecord&)> callback);
  // One clock.
  void cycle();
  // Puts into the region what has arrived by `time`.
  void deliver(Time time);

  const ReceiverPorts& ports() const;
  uint64_t violations() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace drover::sim
