#include "sim/engines/objects/object_unit.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "channel/layout.h"
#include "host/lines/status.h"

namespace drover::sim {
namespace {

uint32_t assembly_of(const LineSlot& line) {
  return uint32_t{line.connection} << 1 | ((line.flags & kLineResponse) != 0 ? 1 : 0);
}

}  // namespace

void CodecFigures::add(Time time) {
  double ns = static_cast<double>(time) / static_cast<double>(kNanosecond);
  ++messages;
  sum += ns;
  log_sum += std::log(std::max(ns, 1.0));
}
uint64_t CodecFigures::mean() const {
  return messages == 0 ? 0 : static_cast<uint64_t>(sum / static_cast<double>(messages) + 0.5);
}
uint64_t CodecFigures::geometric_mean() const {
  return messages == 0 ? 0 : static_cast<uint64_t>(std::exp(log_sum / static_cast<double>(messages)) + 0.5);
}

ObjectUnit::ObjectUnit(const ObjectUnitSetup& setup)
    : setup_(setup), to_network_(setup.to_network), to_host_(setup.to_host) {
  setup_.receiver->on_record([this](const ArrivedRecord& arrived) { received(arrived.record); });
  setup_.sender->on_done([this](const SendDone& done) { sent(done); });
}

bool ObjectUnit::carries_message(const LineSlot& line) const {
  return line.type == kLineType && (line.flags & kLineFailed) == 0 && line.function >= kFirstMessage &&
         line.function - kFirstMessage < setup_.messages.size();
}

void ObjectUnit::from_host(const rtl::NicLine& in) {
  if (!carries_message(in.line)) return to_network_.pass(in);
  const LineSlot& line = in.line;
  Message message{{line.connection, line.function, line.call, static_cast<uint8_t>(line.flags & ~kLineLast)},
                  in.flow,
                  in.policy,
                  *setup_.now,
                  {}};
  ObjectLine object;
  bool whole = line.index == 0 && (line.flags & kLineLast) != 0 &&
               ObjectLine::parse({reinterpret_cast<const std::byte*>(line.arguments), line.length}, &object);
  if (!whole || object.kind > ObjectKind::kStream) {
    ++malformed_;
    return end(message, lines::kStatusInternal);
  }
  SendCommand command;
  command.at = *setup_.now;
  command.cookie = next_outgoing_++;
  command.source = {.walk = object.kind == ObjectKind::kObject,
                    .message_index = object.type,
                    .records = object.at,
                    .record_bytes = object.bytes,
                    .payload = object.payload,
                    .payload_bytes = object.payload_bytes};
  outgoing_.emplace(command.cookie, std::move(message));
  setup_.sender->send(command);
}

void ObjectUnit::sent(const SendDone& done) {
  auto found = outgoing_.extract(done.cookie);
  if (found.empty()) {
    error_ = "the serializer ended a message that it was not given";
    return;
  }
  const Message& message = found.mapped();
  if (done.error != 0) {
    ++(done.left_to_software ? left_out_ : errors_);
    return end(message, done.left_to_software ? lines::kStatusUnimplemented : lines::kStatusInternal);
  }
  if (done.packet.size() > lines::kMaxMessageBytes) return end(message, lines::kStatusResourceExhausted);
  serialized_.add(done.at - message.began);
  to_network_.add(lines_of(message, std::as_bytes(std::span(done.packet))));
}

std::vector<rtl::NicLine> ObjectUnit::lines_of(const Message& message, std::span<const std::byte> bytes) const {
  std::vector<rtl::NicLine> out;
  for (uint32_t i = 0; i < lines::lines_of(bytes.size()); ++i) {
    rtl::NicLine& line = out.emplace_back();
    AlignedLine made = lines::line_of(message.head, bytes, i);
    std::memcpy(static_cast<void*>(&line.line), &made, sizeof line.line);
    line.flow = message.flow;
    line.policy = message.policy;
  }
  return out;
}

// A request's caller is here, a response's at the other end.
void ObjectUnit::end(const Message& message, uint16_t status) {
  Message failed = message;
  failed.head.function = status;
  failed.head.flags = kLineResponse | kLineFailed;
  bool response = (message.head.flags & kLineResponse) != 0;
  (response ? to_network_ : to_host_).add(lines_of(failed, {}));
}

void ObjectUnit::from_network(const rtl::NicLine& in) {
  if (!carries_message(in.line)) return to_host_.pass(in);
  lines::LineAssembly& assembly = assemblies_[assembly_of(in.line)];
  lines::LineAssembly::Taken taken = assembly.take(in.line);
  if (taken == lines::LineAssembly::Taken::kIncomplete) ++malformed_;
  if (taken != lines::LineAssembly::Taken::kWhole) return;
  const LineSlot& line = in.line;
  uint32_t cookie = next_incoming_++;
  std::span<const std::byte> bytes = assembly.message();
  Message& message = incoming_[cookie];
  message = {{line.connection, line.function, line.call, static_cast<uint8_t>(line.flags & ~kLineLast)},
             in.flow,
             in.policy,
             *setup_.now,
             {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
  uint32_t number = line.function - uint32_t{kFirstMessage};
  if ((line.flags & kLineResponse) != 0) number = setup_.messages.response_to(number);
  setup_.receiver->send(*setup_.now, setup_.messages.at(number).type.index, message.wire, cookie);
}

void ObjectUnit::received(const rtl::DeserializerRecord& record) {
  auto found = incoming_.extract(record.cookie);
  if (found.empty()) {
    error_ = "the deserializer ended a message that it was not given";
    return;
  }
  const Message& message = found.mapped();
  ObjectLine object{.at = record.root};
  if (record.kind == rtl::RecordKind::kSoftware) {
    ++left_in_;
    object = {.kind = ObjectKind::kWire,
              .code = record.code,
              .bytes = static_cast<uint32_t>(message.wire.size()),
              .at = setup_.keep_wire(message.wire)};
  } else if (record.kind == rtl::RecordKind::kError) {
    ++errors_;
    object = {.kind = ObjectKind::kError, .code = record.code};
  } else {
    deserialized_.add(*setup_.now - message.began);
  }
  to_host_.add(lines_of(message, object.arguments()));
}

Figures ObjectUnit::figures() const {
  return {{"deserialized", deserialized_.messages},
          {"deserialize_ns", deserialized_.mean()},
          {"deserialize_geometric_ns", deserialized_.geometric_mean()},
          {"serialized", serialized_.messages},
          {"serialize_ns", serialized_.mean()},
          {"serialize_geometric_ns", serialized_.geometric_mean()},
          {"received_left_to_software", left_in_},
          {"sent_left_to_software", left_out_},
          {"codec_errors", errors_},
          {"malformed_messages", malformed_}};
}

}  // namespace drover::sim
