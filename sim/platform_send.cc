// Sending: the host's share, the way to the card, the engine's packet, and the check that it is the right one.
//
//   memory-affinity   pre-serialize -> doorbell ------------------------> records, payload over the link -> packet
//   pushed            pre-serialize -> records by stores -> doorbell ---> records from the inbox --------> packet
//                             or objects by stores -> doorbell ---------> objects from the inbox --------> packet
//   nic-only                           doorbell ------------------------> objects, strings over the link -> packet
//   in one piece                       doorbell ------------------------> all objects by one read --------> packet
//   read ahead                ...      doorbell ---> long strings at once > from the inbox ---------------> packet
//
// The doorbell is a 64-byte line that the CPU stores into the card, whatever the system.
#include "rtl/driver/serializer_commands.h"
#include "sim/platform.h"

namespace drover::sim {
namespace {

constexpr uint64_t kRecordBytes = 32, kRecordRing = uint64_t{5} << 36;
constexpr uint64_t kBurst = 4096;  // of what is read ahead
constexpr uint64_t kLine = Inbox::kLine;

uint64_t lines_of(uint64_t bytes) { return (bytes + kLine - 1) / kLine; }

// What is to leave for a message of these wire bytes.
std::string packet_of(RpcHeader header, const std::string& encoded) {
  if (header == RpcHeader::kNone) return encoded;
  std::string prefix(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) prefix.push_back(static_cast<char>(encoded.size() >> shift));
  return prefix + encoded;
}

}  // namespace

void Platform::start_send(Job* job) {
  if (system_.engine == EngineKind::kNone) return send_in_software(job, Outcome::kCpu);
  const PreparedMessage& prepared = host_.messages[job->message];
  const MessageCost& cost = costs_.costs[job->message];
  bool stream = !prepared.command.walk;
  Time work = (stream ? cost.preserialize : 0) + line_cost();
  std::vector<Time>* lines = room_to_push(job);
  // The records of a stream have just been written; an object is read to be pushed.
  Time each = line_cost() + (stream ? 0 : line_copy_cost(system_));
  if (lines != nullptr) work += lines->size() * each;
  Time end = on_cpu(job, work, stream ? cost.copies : 0, [this, job] { ring(job); });
  job->pushed = lines != nullptr;
  if (lines == nullptr) return;
  // Stores follow each other, the doorbell's last; each line is on its way when it is full.
  for (size_t i = 0; i < lines->size(); ++i) {
    at(end - line_cost() - (lines->size() - 1 - i) * each,
       [this, lines, i] { (*lines)[i] = link_.push(time(), kLine).arrived; });
  }
}

std::vector<Time>* Platform::room_to_push(Job* job) {
  const PreparedMessage& prepared = host_.messages[job->message];
  Extent small = prepared.small;
  if (system_.engine != EngineKind::kRtl || small.bytes > system_.push_limit) return nullptr;
  // An object keeps its addresses, so that its pointers lead where they do in host memory; records have a place of
  // their own at the engine's port.
  if (prepared.command.walk) return inbox_.reserve(number_of(*job), small.at, small.bytes);
  std::span<char> room = host_.engine_port().subspan(host_.engine_bytes);
  if (small.bytes > room.size() - pushed_) pushed_ = 0;
  job->pushed_at = host_.engine_bytes + pushed_;
  std::vector<Time>* lines =
      inbox_.reserve(number_of(*job), SerializerEngine::kEngineInInbox + job->pushed_at, small.bytes);
  if (lines == nullptr) return nullptr;
  std::copy_n(host_.host().begin() + static_cast<std::ptrdiff_t>(small.at), small.bytes,
              room.begin() + static_cast<std::ptrdiff_t>(pushed_));
  pushed_ += lines->size() * kLine;
  return lines;
}

void Platform::ring(Job* job) {
  at(link_.push(time(), kLine).arrived, [this, job] {
    if (system_.engine == EngineKind::kCores) return send_on_cores(job);
    take_command(job);
  });
}

void Platform::take_command(Job* job) {
  const PreparedMessage& prepared = host_.messages[job->message];
  if (system_.prefetch != 0) {
    // In the order in which the engine needs them; objects that it chases by their pointers are not known beforehand.
    bool known = !prepared.command.walk || system_.one_piece;
    if (known && !job->pushed) read_ahead(*job, prepared.small, UINT64_MAX);
    read_ahead(*job, prepared.large, system_.prefetch);
  }
  SerializerSend command = prepared.command;
  command.at = job->engine_began = time();
  command.cookie = static_cast<uint16_t>(number_of(*job));
  if (job->pushed && !command.walk) {
    command.pushed = true;
    command.records = job->pushed_at;
  }
  command.grpc_prefix = system_.header == RpcHeader::kGrpc;
  serializer_->send(command);
}

void Platform::read_ahead(const Job& job, Extent extent, uint64_t limit) {
  uint64_t bytes = std::min({extent.bytes, limit, inbox_.free_bytes()});
  std::vector<Time>* lines = bytes == 0 ? nullptr : inbox_.reserve(number_of(job), extent.at, bytes);
  if (lines == nullptr) return;
  for (uint64_t at = 0; at < bytes; at += kBurst) {
    uint64_t size = std::min(kBurst, bytes - at), first = at / kLine, count = lines_of(size);
    Link::Read read = link_.read(time(), size, SerializerEngine::kHostBus + extent.at + at);
    for (uint64_t i = 0; i < count; ++i) {
      (*lines)[first + i] = read.first + (read.done - read.first) * (i + 1) / count;
    }
  }
}

void Platform::sent(const SerializerDone& done) {
  if (done.cookie >= jobs_.size()) return fail(jobs_[0], "a completion of no message");
  Job* job = &jobs_[done.cookie];
  inbox_.release(number_of(*job));
  job->leg.cycles = (done.at - job->engine_began) / period_;
  if (done.left_to_software) {
    job->leg.reason = done.error;
    return at(link_.write(time(), kRecordBytes, kRecordRing).arrived,
              [this, job] { send_in_software(job, Outcome::kSoftware); });
  }
  if (done.error != 0)
    return fail(*job, std::string("the engine says ") +
                          rtl::serializer::error_name(static_cast<rtl::SerializerError>(done.error)));
  if (done.packet != packet_of(system_.header, host_.messages[job->message].encoded)) {
    return fail(*job, "the packet is not what the encoder makes");
  }
  if (!system_.nic) return finish(job);
  uint64_t bytes = done.packet.size();
  at(nic_link_.write(time(), bytes, packet_buffer(bytes)).arrived, [this, job] { finish(job); });
}

void Platform::send_in_software(Job* job, Outcome outcome) {
  job->leg.outcome = outcome;
  const MessageCost& cost = costs_.costs[job->message];
  on_cpu(job, cost.encode + line_cost(), cost.encode_copies, [this, job] {
    Link* nic = system_.nic ? &nic_link_ : &link_;
    at(nic->push(time(), kLine).arrived, [this, job, nic] {
      uint64_t bytes = workload_.messages[job->message].wire.size();
      at(nic->read(time(), bytes, packet_buffer(bytes)).done, [this, job] { finish(job); });
    });
  });
}

}  // namespace drover::sim
