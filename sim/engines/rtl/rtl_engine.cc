// Sending, by the system's keys:
//
//   memory-affinity   pre-serialize -> doorbell ------------------------> records, payload over the link -> packet
//   pushed            pre-serialize -> records by stores -> doorbell ---> records from the inbox --------> packet
//                             or objects by stores -> doorbell ---------> objects from the inbox --------> packet
//   nic-only                           doorbell ------------------------> objects, strings over the link -> packet
//   in one piece                       doorbell ------------------------> all objects by one read --------> packet
//   read ahead                ...      doorbell ---> long strings at once > from the inbox ---------------> packet
#include "sim/engines/rtl/rtl_engine.h"

#include <algorithm>
#include <map>

#include "rtl/driver/deserializer_records.h"
#include "rtl/driver/serializer_commands.h"
#include "sim/engines/rtl/receiver.h"
#include "sim/engines/rtl/rtl_options.h"
#include "sim/engines/rtl/sender.h"
#include "sim/platform/inbox.h"

namespace drover::sim {
namespace {

// The deserializer's region.
constexpr size_t kHostRegion = size_t{128} << 20, kEngineRegion = size_t{32} << 20;
constexpr uint64_t kSendRecordBytes = 32, kSendRecordRing = uint64_t{5} << 36;
constexpr uint64_t kBurst = 4096;  // of reads ahead
constexpr uint64_t kLine = Inbox::kLine;

uint64_t lines_of(uint64_t bytes) { return (bytes + kLine - 1) / kLine; }

// The packet that must leave for a message of these wire bytes.
std::string packet_of(RpcHeader header, const std::string& encoded) {
  if (header == RpcHeader::kNone) return encoded;
  std::string prefix(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) prefix.push_back(static_cast<char>(encoded.size() >> shift));
  return prefix + encoded;
}

std::string reason_name(Direction direction, uint8_t reason) {
  if (direction == Direction::kReceive) return rtl::left_to_software_reason(reason);
  return rtl::serializer::error_name(static_cast<rtl::SerializerError>(reason));
}

class RtlEngine final : public Engine {
 public:
  RtlEngine(const RtlOptions& options, Platform* platform);

  void begin(Direction direction, const schema::Image& image) override;
  void receive(Transfer* transfer) override;
  void send(Transfer* transfer) override;
  Time period() const override { return period_; }
  void tick(Direction direction) override;
  Counters counters() const override;
  void trace(const Trace& trace) const override;
  std::string violation() const override;

 private:
  // The engine's state of a transfer under way.
  struct State {
    Time began = 0;          // at the engine
    bool pushed = false;     // its small extent is in the inbox;
    uint64_t pushed_at = 0;  // of records, where in engine memory
  };
  const HandoverOptions& handover() const { return platform_.options().handover; }

  void feed(Transfer* transfer);
  void received(const ArrivedRecord& arrived);
  void take_record(Transfer* transfer, const rtl::DeserializerRecord& record);

  // The inbox lines for the bytes that the CPU pushes with the command; null if nothing is pushed.
  std::vector<Time>* room_to_push(Transfer* transfer);
  void take_command(Transfer* transfer);
  // Reads into the inbox, at most `limit` bytes, as far as it has room.
  void read_ahead(const Transfer& transfer, Extent extent, uint64_t limit);
  void sent(const SendDone& done);

  RtlOptions options_;
  Platform& platform_;
  Link engine_link_, descriptor_link_;
  Inbox inbox_;
  Time period_;
  Time now_ = 0;  // of the last clock edge
  AlignedBytes region_;
  RtlReceiver receiver_;
  RtlSender sender_;
  std::map<uint32_t, State> states_;  // by the transfer's number
  uint64_t pushed_ = 0;               // of the ring of places for pushed records, which is far longer than the inbox
};

RtlEngine::RtlEngine(const RtlOptions& options, Platform* platform)
    : options_(options),
      platform_(*platform),
      engine_link_(options.engine_memory),
      descriptor_link_(options.descriptors),
      inbox_(options.inbox, options.inbox_size),
      period_(1'000'000'000'000 / options.clock),
      region_(kHostRegion + kEngineRegion),
      receiver_({handover().one_shot, options.eager, options.protoacc, static_cast<unsigned>(options.lanes),
                 region_.bytes(), kHostRegion, &platform->link(), &engine_link_, &descriptor_link_, &now_}),
      sender_({platform->host().host(), platform->host().engine_port(), platform->host().engine_bytes,
               &platform->link(), &inbox_, &engine_link_, &now_}) {
  receiver_.on_record([this](const ArrivedRecord& arrived) { received(arrived); });
  sender_.on_done([this](const SendDone& done) { sent(done); });
}

void RtlEngine::begin(Direction direction, const schema::Image& image) {
  states_.clear();
  if (direction == Direction::kReceive) {
    receiver_.load(image);
  } else {
    sender_.load(image);
  }
}

void RtlEngine::tick(Direction direction) {
  now_ = platform_.now();
  if (direction == Direction::kReceive) {
    receiver_.cycle();
  } else {
    sender_.cycle();
  }
}

Counters RtlEngine::counters() const {
  Counters counters;
  counters.card = engine_link_.counters();
  counters.input_stalls = receiver_.ports().input_stalls;
  counters.port_stalls = receiver_.ports().write_stalls + sender_.ports().request_stalls;
  counters.read_waits = sender_.ports().waiting + receiver_.ports().descriptor_waits;
  return counters;
}

void RtlEngine::trace(const Trace& trace) const {
  const ReceiverPorts& in = receiver_.ports();
  trace("deserializer.rx_tvalid", in.rx_valid);
  trace("deserializer.rx_tready", in.rx_ready);
  trace("deserializer.host_wvalid", in.write_valid);
  trace("deserializer.host_wready", in.write_ready);
  trace("deserializer.cmpl_valid", in.record);
  const SenderPorts& out = sender_.ports();
  trace("serializer.host_arvalid", out.read_valid);
  trace("serializer.host_rvalid", out.data_valid);
  trace("serializer.tx_tvalid", out.tx_valid);
  trace("serializer.done_valid", out.done);
}

std::string RtlEngine::violation() const {
  bool any = receiver_.violations() + sender_.violations() != 0;
  return any ? "an engine broke the AXI protocol or left its memory" : "";
}

// ---- receiving

void RtlEngine::receive(Transfer* transfer) {
  if (!platform_.nic_apart()) return feed(transfer);
  uint64_t bytes = platform_.message(*transfer).wire.size();
  Time there = platform_.nic_link().write(platform_.now(), bytes, platform_.packet_buffer(bytes)).arrived;
  platform_.at(there, [this, transfer, bytes] {
    Time first = platform_.link().read(platform_.now(), bytes, platform_.packet_buffer(bytes)).first;
    platform_.at(first, [this, transfer] { feed(transfer); });
  });
}

void RtlEngine::feed(Transfer* transfer) {
  const workload::WorkloadMessage& message = platform_.message(*transfer);
  states_[transfer->number].began = platform_.now();
  receiver_.send(platform_.now(), message.type.index, message.wire, transfer->number);
}

void RtlEngine::received(const ArrivedRecord& arrived) {
  Transfer* transfer = platform_.transfer(arrived.record.cookie);
  if (transfer == nullptr) return platform_.fail(nullptr, "a record of no message");
  transfer->leg.cycles = (now_ - states_[transfer->number].began) / period_;
  platform_.at(arrived.arrived, [this, transfer, record = arrived.record] { take_record(transfer, record); });
}

void RtlEngine::take_record(Transfer* transfer, const rtl::DeserializerRecord& record) {
  const workload::WorkloadMessage& message = platform_.message(*transfer);
  Time now = platform_.now();
  if (record.kind == rtl::RecordKind::kError) {
    return platform_.fail(transfer, "the engine says error " + std::to_string(record.code));
  }
  if (record.kind == rtl::RecordKind::kSoftware) {
    transfer->leg.outcome = Outcome::kSoftware;
    transfer->leg.reason = record.code;
    // The wire bytes follow, unless they came by way of host memory.
    uint64_t bytes = message.wire.size();
    if (!platform_.nic_apart()) now = platform_.link().write(now, bytes, platform_.packet_buffer(bytes)).arrived;
    return platform_.at(now, [this, transfer] { platform_.decode_on_cpu(transfer); });
  }
  receiver_.deliver(now);
  if (record.root % 8 != 0 || record.root >= kHostRegion) {
    return platform_.fail(transfer, "the object lies outside the region");
  }
  const auto* object = reinterpret_cast<const Message*>(region_.bytes().data() + record.root);
  std::string difference = compare_object(message.type, platform_.prepared(*transfer).encoded, object);
  if (!difference.empty()) return platform_.fail(transfer, difference);
  platform_.finish(transfer);
}

// ---- sending

void RtlEngine::send(Transfer* transfer) {
  std::vector<Time>* lines = room_to_push(transfer);
  states_[transfer->number].pushed = lines != nullptr;
  platform_.hand_over(transfer, lines, [this, transfer] { take_command(transfer); });
}

std::vector<Time>* RtlEngine::room_to_push(Transfer* transfer) {
  const PreparedMessage& prepared = platform_.prepared(*transfer);
  Extent small = prepared.small;
  if (small.bytes > options_.push_limit) return nullptr;
  // An object keeps its addresses, so that its pointers lead where they do in host memory; records have a place of
  // their own at the engine's port.
  if (prepared.source.walk) return inbox_.reserve(transfer->number, small.at, small.bytes);
  PreparedHost& host = platform_.host();
  std::span<char> room = host.engine_port().subspan(host.engine_bytes);
  if (small.bytes > room.size() - pushed_) pushed_ = 0;
  uint64_t at = host.engine_bytes + pushed_;
  std::vector<Time>* lines = inbox_.reserve(transfer->number, RtlSender::kEngineInInbox + at, small.bytes);
  if (lines == nullptr) return nullptr;
  states_[transfer->number].pushed_at = at;
  std::copy_n(host.host().begin() + static_cast<std::ptrdiff_t>(small.at), small.bytes,
              room.begin() + static_cast<std::ptrdiff_t>(pushed_));
  pushed_ += lines->size() * kLine;
  return lines;
}

void RtlEngine::take_command(Transfer* transfer) {
  const PreparedMessage& prepared = platform_.prepared(*transfer);
  State& state = states_[transfer->number];
  if (handover().prefetch != 0) {
    // In the order in which the engine needs them. Objects that it chases by their pointers are not known beforehand.
    bool known = !prepared.source.walk || handover().one_piece;
    if (known && !state.pushed) read_ahead(*transfer, prepared.small, UINT64_MAX);
    read_ahead(*transfer, prepared.large, handover().prefetch);
  }
  state.began = platform_.now();
  SendCommand command;
  command.at = state.began;
  command.cookie = static_cast<uint16_t>(transfer->number);
  command.source = prepared.source;
  command.pushed = state.pushed && !prepared.source.walk;
  command.pushed_at = state.pushed_at;
  command.grpc_prefix = platform_.header() == RpcHeader::kGrpc;
  sender_.send(command);
}

void RtlEngine::read_ahead(const Transfer& transfer, Extent extent, uint64_t limit) {
  uint64_t bytes = std::min({extent.bytes, limit, inbox_.free_bytes()});
  std::vector<Time>* lines = bytes == 0 ? nullptr : inbox_.reserve(transfer.number, extent.at, bytes);
  if (lines == nullptr) return;
  for (uint64_t at = 0; at < bytes; at += kBurst) {
    uint64_t size = std::min(kBurst, bytes - at), first = at / kLine, count = lines_of(size);
    Link::Read read = platform_.link().read(platform_.now(), size, RtlSender::kHostBus + extent.at + at);
    for (uint64_t i = 0; i < count; ++i) {
      (*lines)[first + i] = read.first + (read.done - read.first) * (i + 1) / count;
    }
  }
}

void RtlEngine::sent(const SendDone& done) {
  Transfer* transfer = platform_.transfer(done.cookie);
  if (transfer == nullptr) return platform_.fail(nullptr, "a completion of no message");
  inbox_.release(transfer->number);
  transfer->leg.cycles = (done.at - states_[transfer->number].began) / period_;
  if (done.left_to_software) {
    transfer->leg.outcome = Outcome::kSoftware;
    transfer->leg.reason = done.error;
    Time there = platform_.link().write(platform_.now(), kSendRecordBytes, kSendRecordRing).arrived;
    return platform_.at(there, [this, transfer] { platform_.encode_on_cpu(transfer); });
  }
  if (done.error != 0) return platform_.fail(transfer, "the engine says " + reason_name(Direction::kSend, done.error));
  if (done.packet != packet_of(platform_.header(), platform_.prepared(*transfer).encoded)) {
    return platform_.fail(transfer, "the packet is not what the encoder makes");
  }
  if (!platform_.nic_apart()) return platform_.finish(transfer);
  uint64_t bytes = done.packet.size();
  Time there = platform_.nic_link().write(platform_.now(), bytes, platform_.packet_buffer(bytes)).arrived;
  platform_.at(there, [this, transfer] { platform_.finish(transfer); });
}

}  // namespace

EngineType rtl_engine() {
  EngineType type;
  type.kind = "rtl";
  type.by = "rtl";
  type.has_memory = true;
  type.make_options = [] { return std::make_unique<RtlOptions>(); };
  type.make = [](const EngineOptions& options, Platform* platform) {
    return std::make_unique<RtlEngine>(static_cast<const RtlOptions&>(options), platform);
  };
  type.reason_name = reason_name;
  return type;
}

}  // namespace drover::sim
