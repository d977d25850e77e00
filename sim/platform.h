// The SystemC platform: a host, an engine, the links between them, and time. One for each process; private to sim/.
//
//   platform.cc           the parts, time, the host's program: all messages received, then all sent
//   platform_receive.cc   what happens to a message that comes in
//   platform_send.cc      and to one that goes out
//   platform_cores.cc     both on a SmartNIC's cores
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <systemc>

#include "sim/cores.h"
#include "sim/deserializer_engine.h"
#include "sim/host_images.h"
#include "sim/inbox.h"
#include "sim/run.h"
#include "sim/serializer_engine.h"

namespace drover::sim {

// In this process: elaborates, simulates, and must not be called again in it.
RunResult simulate(const System& system, const workload::Workload& workload, const CostsResult& costs,
                   const std::string& trace);

// A thread of work on one CPU: what is asked of it is done in turn.
struct Cpu {
  Time free = 0;
};

class Platform final : public sc_core::sc_module {
 public:
  Platform(const System& system, const workload::Workload& workload, const CostsResult& costs,
           const TargetFields& targets, PreparedHost* host);

  RunResult take_result() { return std::move(result_); }
  void trace_to(sc_core::sc_trace_file* file);

 private:
  // A message under way.
  struct Job {
    size_t result = 0;  // its MessageResult
    uint32_t message = 0;
    Time began = 0, engine_began = 0, ended = 0;
    bool pushed = false;     // its small extent is in the inbox;
    uint64_t pushed_at = 0;  // of records, where in engine memory
    Leg leg;
  };
  using Start = void (Platform::*)(Job*);
  // The deserializer's region.
  static constexpr size_t kHostRegion = size_t{128} << 20, kEngineRegion = size_t{32} << 20;

  void make_engines();

  // ---- time
  static Time time() { return sc_core::sc_time_stamp().value(); }
  void tick();
  void at(Time when, std::function<void()> what);
  void call_next();
  void run_due();
  // Work of `cost` on the CPU as soon as it is free, beside copies by the copy engine; then `what`. Returns when the
  // CPU is done.
  Time on_cpu(Job* job, Time cost, Time copies, std::function<void()> what);

  // ---- the host's program
  void host_program();
  // All messages in one direction, group after group, since each group has a schema table of its own. Returns the time
  // that they took, loading the table apart.
  Time phase(Start start, Leg MessageResult::* leg);
  void run_list(const std::vector<size_t>& list, Start start, Leg MessageResult::* leg);
  void finish(Job* job);
  void fail(const Job& job, const std::string& what);

  // ---- receiving
  void start_receive(Job* job);
  void feed(Job* job);
  void received(const ArrivedRecord& arrived);
  void take_record(Job* job, const rtl::DeserializerRecord& record);
  void receive_in_software(Job* job, Outcome outcome);

  // ---- sending
  void start_send(Job* job);
  // Room in the inbox for what the CPU pushes with the command: its lines; null if nothing is pushed.
  std::vector<Time>* room_to_push(Job* job);
  void ring(Job* job);
  void take_command(Job* job);
  // Into the inbox, at most `limit` bytes and what it has room for.
  void read_ahead(const Job& job, Extent extent, uint64_t limit);
  void sent(const SerializerDone& done);
  // The CPU encodes; the NIC is told, and reads the bytes.
  void send_in_software(Job* job, Outcome outcome);
  uint64_t number_of(const Job& job) const { return static_cast<uint64_t>(&job - jobs_.data()); }
  Time line_cost() const { return static_cast<Time>(system_.push_line * system_.cpu_scale * kNanosecond); }

  // ---- the SmartNIC's cores
  CoresWork cores_work(const Job& job) const;
  void receive_on_cores(Job* job);
  void send_on_cores(Job* job);
  // Step i of a message's work on the cores: some computing, then a DMA transfer, which the next step waits for or not.
  void cores_step(Job* job, std::vector<CoresStep> steps, size_t i, Time transfers_end);

  // A buffer of the host's for a packet, a chunk or an object: in turn, pages of its own. Only the TLB asks where.
  uint64_t packet_buffer(uint64_t bytes);

  // ---- counters
  struct Counters {
    LinkCounters link, card;
    uint64_t input_stalls = 0, port_stalls = 0, read_waits = 0;
  };
  Counters counters() const;

  const System& system_;
  const workload::Workload& workload_;
  const CostsResult& costs_;
  PreparedHost& host_;
  Link link_, nic_link_, engine_link_, descriptor_link_;
  Inbox inbox_;
  Time period_;
  Time now_ = 0;
  std::vector<std::vector<uint64_t>> images_;  // of the groups, with their target flags
  std::unique_ptr<AlignedBytes> region_;
  std::unique_ptr<DeserializerEngine> deserializer_;
  std::unique_ptr<SerializerEngine> serializer_;
  sc_core::sc_clock clock_;
  sc_core::sc_event due_event_, finished_event_;
  std::multimap<Time, std::function<void()>> due_;
  std::vector<Job> jobs_;
  std::vector<Job*> finished_;
  Counters snapshot_;
  Cpu cpu_, cores_;
  RunResult result_;
  bool receiving_ = false, sending_ = false, cpu_busy_ = false;
  uint32_t ended_ = 0;
  uint64_t buffers_ = 0;  // of the packet buffers' ring, the next
  uint64_t pushed_ = 0;   // of the ring of places for pushed records, which is far longer than the inbox
};

}  // namespace drover::sim
