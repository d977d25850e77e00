// Receiving: wire bytes to an object in host memory, and the check that it is the right one.
#include "sim/platform.h"

namespace drover::sim {

void Platform::start_receive(Job* job) {
  const std::string& wire = workload_.messages[job->message].wire;
  if (system_.engine == EngineKind::kCores) return receive_on_cores(job);
  if (system_.engine == EngineKind::kNone) {
    at(link_.write(time(), wire.size(), packet_buffer(wire.size())).arrived,
       [this, job] { receive_in_software(job, Outcome::kCpu); });
  } else if (system_.nic) {
    at(nic_link_.write(time(), wire.size(), packet_buffer(wire.size())).arrived, [this, job, &wire] {
      at(link_.read(time(), wire.size(), packet_buffer(wire.size())).first, [this, job] { feed(job); });
    });
  } else {
    feed(job);
  }
}

void Platform::feed(Job* job) {
  const workload::WorkloadMessage& message = workload_.messages[job->message];
  job->engine_began = time();
  deserializer_->send(time(), message.type.index, message.wire, static_cast<uint32_t>(job - jobs_.data()));
}

void Platform::received(const ArrivedRecord& arrived) {
  const rtl::DeserializerRecord& record = arrived.record;
  if (record.cookie >= jobs_.size()) return fail(jobs_[0], "a record of no message");
  Job* job = &jobs_[record.cookie];
  job->leg.cycles = (now_ - job->engine_began) / period_;
  at(arrived.arrived, [this, job, record] { take_record(job, record); });
}

void Platform::take_record(Job* job, const rtl::DeserializerRecord& record) {
  const workload::WorkloadMessage& message = workload_.messages[job->message];
  if (record.kind == rtl::RecordKind::kError) return fail(*job, "the engine says error " + std::to_string(record.code));
  if (record.kind == rtl::RecordKind::kSoftware) {
    job->leg.reason = record.code;
    // The wire bytes follow, unless they came by way of host memory.
    Time there =
        system_.nic ? time() : link_.write(time(), message.wire.size(), packet_buffer(message.wire.size())).arrived;
    return at(there, [this, job] { receive_in_software(job, Outcome::kSoftware); });
  }
  deserializer_->deliver(time());
  if (record.root % 8 != 0 || record.root >= kHostRegion) return fail(*job, "the object lies outside the region");
  const auto* object = reinterpret_cast<const Message*>(region_->bytes().data() + record.root);
  std::string difference = compare_object(message.type, host_.messages[job->message].encoded, object);
  if (!difference.empty()) return fail(*job, difference);
  finish(job);
}

void Platform::receive_in_software(Job* job, Outcome outcome) {
  job->leg.outcome = outcome;
  on_cpu(job, costs_.costs[job->message].decode, 0, [this, job] { finish(job); });
}

}  // namespace drover::sim
