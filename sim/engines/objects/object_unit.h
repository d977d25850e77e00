// What stands between the NIC's halves where RPCs are objects: it takes the lines of messages together, has them
// deserialized into host memory, and tells the host by a line where the object is; and the other way round.
//
//   network half ==> lines of a message -> wire bytes -> deserializer ==> object in host memory
//                                                     record -> line that stands for it ==> host half -> RX ring
//   host half ==> line that stands for an object -> serializer <== object in host memory
//                                       wire bytes -> lines ==> network half
//
// Functions from kFirstMessage on carry messages; lines of others, and of failed responses, pass as they are. The codec
// is RTL; this unit is a model. Its buffers hold `messages` each way, then the halves have to wait. A message that the
// deserializer leaves to software is written to host memory as wire bytes. An object that the serializer does not take
// ends its call: in UNIMPLEMENTED if it is left to software, else in INTERNAL.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "host/lines/line_message.h"
#include "rtl/model/nic.h"
#include "sim/engines/call_engine.h"
#include "sim/engines/objects/line_merger.h"
#include "sim/engines/objects/object_line.h"
#include "sim/engines/rtl/receiver.h"
#include "sim/engines/rtl/sender.h"

namespace drover::sim {

// Of one direction of the codec.
struct CodecFigures {
  uint64_t messages = 0;
  double sum = 0, log_sum = 0;  // of the times, ns
  void add(Time time);
  uint64_t mean() const;
  uint64_t geometric_mean() const;
};

struct ObjectUnitSetup {
  const CallMessages& messages;
  uint32_t limit;  // of messages under way each way
  RtlReceiver* receiver;
  RtlSender* sender;
  const Time* now;
  std::function<void(const rtl::NicLine&)> to_network, to_host;
  // Wire bytes that are left to software go to host memory; returns where.
  std::function<uint64_t(const std::string& wire)> keep_wire;
};

class ObjectUnit {
 public:
  explicit ObjectUnit(const ObjectUnitSetup& setup);

  void from_host(const rtl::NicLine& line);
  void from_network(const rtl::NicLine& line);
  // Room for messages of the host's, of the network's.
  bool takes_from_host() const { return outgoing_.size() < setup_.limit; }
  bool takes_from_network() const { return incoming_.size() < setup_.limit; }
  // A message is in the codec.
  bool receiving() const { return !incoming_.empty(); }
  bool sending() const { return !outgoing_.empty(); }

  Figures figures() const;
  const std::string& error() const { return error_; }

 private:
  struct Message {
    lines::LineHead head;
    uint8_t flow;
    rtl::BalancePolicy policy;
    Time began;
    std::string wire;
  };
  bool carries_message(const LineSlot& line) const;
  void received(const rtl::DeserializerRecord& record);
  void sent(const SendDone& done);
  // The call of a message that cannot be sent ends.
  void end(const Message& message, uint16_t status);
  std::vector<rtl::NicLine> lines_of(const Message& message, std::span<const std::byte> bytes) const;

  const ObjectUnitSetup setup_;
  LineMerger to_network_, to_host_;
  std::unordered_map<uint32_t, lines::LineAssembly> assemblies_;  // by connection and direction
  std::unordered_map<uint32_t, Message> incoming_;                // by cookie
  std::unordered_map<uint16_t, Message> outgoing_;
  uint32_t next_incoming_ = 0;
  uint16_t next_outgoing_ = 0;
  CodecFigures deserialized_, serialized_;
  uint64_t left_in_ = 0, left_out_ = 0, errors_ = 0, malformed_ = 0;
  std::string error_;
};

}  // namespace drover::sim
