#include "sim/platform.h"

#include <functional>
#include <map>
#include <memory>
#include <systemc>

#include "sim/cores.h"
#include "sim/deserializer_engine.h"
#include "sim/host_images.h"
#include "sim/serializer_engine.h"

// libsystemc's own main() refers to it. A program that ends up with that main instead of its own has been linked
// wrongly.
int sc_main(int, char*[]) { return 1; }

namespace drover::sim {
namespace {

constexpr size_t kHostRegion = size_t{128} << 20, kEngineRegion = size_t{32} << 20;
constexpr size_t kEngineMemory = 1 << 20;  // the serializer's; nothing lies there yet
constexpr uint64_t kRecordBytes = 32;

// A thread of work on one CPU: what is asked of it is done in turn.
struct Cpu {
  Time free = 0;
};

class Platform final : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Platform);
  Platform(const System& system, const workload::Workload& workload, const CostsResult& costs, PreparedHost* host)
      : sc_module(sc_core::sc_module_name("platform")),
        system_(system),
        workload_(workload),
        costs_(costs),
        host_(*host),
        link_(system.link),
        nic_link_(system.nic_link),
        engine_link_(system.engine_memory),
        descriptor_link_(system.descriptors),
        period_(1'000'000'000'000 / system.clock),
        clock_("clock", sc_core::sc_time::from_value(period_)) {
    if (system.engine == EngineKind::kRtl) make_engines();
    SC_METHOD(tick);
    sensitive << clock_.posedge_event();
    dont_initialize();
    SC_METHOD(run_due);
    sensitive << due_event_;
    dont_initialize();
    SC_THREAD(host_program);
  }

  RunResult take_result() { return std::move(result_); }
  void trace_to(sc_core::sc_trace_file* file) {
    sc_core::sc_trace(file, receiving_, "receiving");
    sc_core::sc_trace(file, sending_, "sending");
    sc_core::sc_trace(file, ended_, "messages_ended");
    sc_core::sc_trace(file, cpu_busy_, "cpu_busy");
    if (deserializer_) {
      const DeserializerPorts& ports = deserializer_->ports();
      sc_core::sc_trace(file, ports.rx_valid, "deserializer.rx_tvalid");
      sc_core::sc_trace(file, ports.rx_ready, "deserializer.rx_tready");
      sc_core::sc_trace(file, ports.write_valid, "deserializer.host_wvalid");
      sc_core::sc_trace(file, ports.write_ready, "deserializer.host_wready");
      sc_core::sc_trace(file, ports.record, "deserializer.cmpl_valid");
    }
    if (serializer_) {
      const SerializerPorts& ports = serializer_->ports();
      sc_core::sc_trace(file, ports.read_valid, "serializer.host_arvalid");
      sc_core::sc_trace(file, ports.data_valid, "serializer.host_rvalid");
      sc_core::sc_trace(file, ports.tx_valid, "serializer.tx_tvalid");
      sc_core::sc_trace(file, ports.done, "serializer.done_valid");
    }
  }

 private:
  // A message under way.
  struct Job {
    size_t result = 0;  // its MessageResult
    uint32_t message = 0;
    Time began = 0, engine_began = 0, ended = 0;
    Leg leg;
  };
  using Start = void (Platform::*)(Job*);

  void make_engines() {
    region_ = std::make_unique<AlignedBytes>(kHostRegion + kEngineRegion);
    engine_memory_ = std::make_unique<AlignedBytes>(kEngineMemory);
    deserializer_ = std::make_unique<DeserializerEngine>(
        DeserializerSetup{system_.one_shot, system_.eager, system_.protoacc, static_cast<unsigned>(system_.lanes),
                          region_->bytes(), kHostRegion, &link_, &engine_link_, &descriptor_link_, &now_});
    serializer_ = std::make_unique<SerializerEngine>(
        SerializerSetup{host_.memory->bytes(), engine_memory_->bytes(), &link_, &engine_link_, &now_});
    deserializer_->on_record([this](const DeserializerRecord& record) { received(record); });
    serializer_->on_done([this](SerializerDone done) { sent(std::move(done)); });
  }

  // ---- time
  static Time time() { return sc_core::sc_time_stamp().value(); }
  void tick() {
    now_ = time();
    if (deserializer_ && receiving_) deserializer_->cycle();
    if (serializer_ && sending_) serializer_->cycle();
  }
  void at(Time when, std::function<void()> what) {
    due_.emplace(when, std::move(what));
    call_next();
  }
  void call_next() {
    if (due_.empty()) return;
    Time now = time(), first = due_.begin()->first;
    due_event_.notify(sc_core::sc_time::from_value(first > now ? first - now : 0));
  }
  void run_due() {
    now_ = time();
    while (!due_.empty() && due_.begin()->first <= now_) {
      std::function<void()> what = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      what();
    }
    call_next();
  }
  // Work of `cost` on the CPU as soon as it is free, beside copies by the copy engine; then `what`.
  void on_cpu(Job* job, Time cost, Time copies, std::function<void()> what) {
    Time begins = std::max(time(), cpu_.free);
    cpu_.free = begins + cost;
    job->leg.cpu += cost;
    job->leg.copies += copies;
    cpu_busy_ = true;
    at(cpu_.free, [this] { cpu_busy_ = cpu_.free > time(); });
    at(begins + std::max(cost, copies), std::move(what));
  }

  // ---- the host's program
  void host_program() {
    for (uint32_t round = 0; round < system_.repeat; ++round) {
      for (uint32_t m = 0; m < workload_.messages.size(); ++m) result_.messages.push_back({m, {}, {}});
    }
    receiving_ = true;
    result_.receive_time = phase(&Platform::start_receive, &MessageResult::receive);
    receiving_ = false;
    sending_ = true;
    if (result_.ok()) result_.send_time = phase(&Platform::start_send, &MessageResult::send);
    sending_ = false;
    if (deserializer_ && deserializer_->violations() + serializer_->violations() != 0 && result_.ok()) {
      result_.error = "an engine broke the AXI protocol or left its memory";
    }
    sc_core::sc_stop();
  }
  // All messages in one direction, group after group, since each group has a schema table of its own. Returns the time
  // that they took, loading the table apart.
  Time phase(Start start, Leg MessageResult::* leg) {
    Time sum = 0;
    for (uint32_t group = 0; group < workload_.groups.size() && result_.ok(); ++group) {
      std::vector<size_t> list;
      for (size_t i = 0; i < result_.messages.size(); ++i) {
        if (workload_.messages[result_.messages[i].message].group == group) list.push_back(i);
      }
      if (list.empty()) continue;
      const schema::Image& image = workload_.groups[group].image.image();
      if (deserializer_ && receiving_) deserializer_->load(image);
      if (serializer_ && sending_) serializer_->load(image);
      Time began = time();
      run_list(list, start, leg);
      sum += time() - began;
    }
    return sum;
  }
  void run_list(const std::vector<size_t>& list, Start start, Leg MessageResult::* leg) {
    jobs_.assign(list.size(), {});
    snapshot_ = counters();
    size_t next = 0, ended = 0;
    while (ended < list.size() && result_.ok()) {
      for (; next < list.size() && next - ended < system_.in_flight; ++next) {
        Job* job = &jobs_[next];
        job->result = list[next];
        job->message = result_.messages[list[next]].message;
        job->began = time();
        (this->*start)(job);
      }
      while (finished_.empty() && result_.ok()) {
        wait(sc_core::sc_time::from_value(kPatience), finished_event_);
        if (finished_.empty() && result_.ok()) fail(jobs_[ended], "nothing came within 100 ms: the engine hangs");
      }
      for (Job* job : finished_) {
        job->leg.time = job->ended - job->began;
        result_.messages[job->result].*leg = job->leg;
        ++ended;
        ++ended_;
      }
      finished_.clear();
    }
  }
  void finish(Job* job) {
    job->ended = time();
    Counters now = counters();
    subtract(now, snapshot_, &job->leg);
    snapshot_ = now;
    finished_.push_back(job);
    finished_event_.notify(sc_core::SC_ZERO_TIME);
  }
  void fail(const Job& job, const std::string& what) {
    if (result_.ok()) result_.error = workload_.messages[job.message].name + ": " + what;
    finished_event_.notify(sc_core::SC_ZERO_TIME);
  }

  // ---- receiving
  void start_receive(Job* job) {
    const std::string& wire = workload_.messages[job->message].wire;
    if (system_.engine == EngineKind::kCores) return receive_on_cores(job);
    if (system_.engine == EngineKind::kNone) {
      at(link_.write(time(), wire.size()).arrived, [this, job] { receive_in_software(job, Outcome::kCpu); });
    } else if (system_.nic) {
      at(nic_link_.write(time(), wire.size()).arrived,
         [this, job, &wire] { at(link_.read(time(), wire.size()).first, [this, job] { feed(job); }); });
    } else {
      feed(job);
    }
  }
  void feed(Job* job) {
    const workload::WorkloadMessage& message = workload_.messages[job->message];
    job->engine_began = time();
    deserializer_->send(time(), message.type.index, message.wire, static_cast<uint32_t>(job - jobs_.data()));
  }
  void received(const DeserializerRecord& record) {
    if (record.cookie >= jobs_.size()) return fail(jobs_[0], "a record of no message");
    Job* job = &jobs_[record.cookie];
    job->leg.cycles = (now_ - job->engine_began) / period_;
    at(record.arrived, [this, job, record] { take_record(job, record); });
  }
  void take_record(Job* job, const DeserializerRecord& record) {
    const workload::WorkloadMessage& message = workload_.messages[job->message];
    if (record.type == RecordType::kError) return fail(*job, "the engine says error " + std::to_string(record.code));
    if (record.type == RecordType::kSoftware) {
      job->leg.reason = record.code;
      // The wire bytes follow, unless they came by way of host memory.
      Time there = system_.nic ? time() : link_.write(time(), message.wire.size()).arrived;
      return at(there, [this, job] { receive_in_software(job, Outcome::kSoftware); });
    }
    deserializer_->deliver(time());
    if (record.root % 8 != 0 || record.root >= kHostRegion) return fail(*job, "the object lies outside the region");
    const auto* object = reinterpret_cast<const Message*>(region_->bytes().data() + record.root);
    std::string difference = compare_object(message.type, host_.messages[job->message].encoded, object);
    if (!difference.empty()) return fail(*job, difference);
    finish(job);
  }
  void receive_in_software(Job* job, Outcome outcome) {
    job->leg.outcome = outcome;
    on_cpu(job, costs_.costs[job->message].decode, 0, [this, job] { finish(job); });
  }

  // ---- sending
  void start_send(Job* job) {
    const MessageCost& cost = costs_.costs[job->message];
    if (system_.engine == EngineKind::kNone) {
      send_in_software(job, Outcome::kCpu);
    } else if (system_.send == SendMode::kMemoryAffinity) {
      on_cpu(job, cost.preserialize, cost.copies, [this, job] { doorbell(job); });
    } else {
      doorbell(job);
    }
  }
  void doorbell(Job* job) {
    Time there = time() + link_.config().one_way;
    if (system_.engine == EngineKind::kCores) return at(there, [this, job] { send_on_cores(job); });
    at(there, [this, job] {
      SerializerSend command = host_.messages[job->message].command;
      command.at = job->engine_began = time();
      command.cookie = static_cast<uint16_t>(job - jobs_.data());
      serializer_->send(command);
    });
  }
  void sent(SerializerDone done) {
    if (done.cookie >= jobs_.size()) return fail(jobs_[0], "a completion of no message");
    Job* job = &jobs_[done.cookie];
    job->leg.cycles = (done.at - job->engine_began) / period_;
    if (done.left_to_software) {
      job->leg.reason = done.error;
      return at(link_.write(time(), kRecordBytes).arrived, [this, job] { send_in_software(job, Outcome::kSoftware); });
    }
    if (done.error != 0) return fail(*job, std::string("the engine says ") + serializer_error_name(done.error));
    if (done.packet != host_.messages[job->message].encoded)
      return fail(*job, "the packet is not what the encoder makes");
    if (!system_.nic) return finish(job);
    at(nic_link_.write(time(), done.packet.size()).arrived, [this, job] { finish(job); });
  }
  // The CPU encodes; the NIC is told, and reads the bytes.
  void send_in_software(Job* job, Outcome outcome) {
    job->leg.outcome = outcome;
    on_cpu(job, costs_.costs[job->message].encode, 0, [this, job] {
      Link* nic = system_.nic ? &nic_link_ : &link_;
      at(time() + nic->config().one_way, [this, job, nic] {
        at(nic->read(time(), workload_.messages[job->message].wire.size()).done, [this, job] { finish(job); });
      });
    });
  }

  // ---- the SmartNIC's cores
  CoresWork cores_work(const Job& job) const {
    return cores_work_of(system_, costs_.work[job.message], host_.messages[job.message]);
  }
  void receive_on_cores(Job* job) {
    job->leg.outcome = Outcome::kCores;
    cores_step(job, cores_work(*job).receive, 0, 0);
  }
  void send_on_cores(Job* job) {
    job->leg.outcome = Outcome::kCores;
    cores_step(job, cores_work(*job).send, 0, 0);
  }
  // Step i of a message's work on the cores: some computing, then a DMA transfer, which the next step waits for or not.
  void cores_step(Job* job, std::vector<CoresStep> steps, size_t i, Time transfers_end) {
    if (i == steps.size()) {
      return at(std::max(time(), transfers_end), [this, job] { finish(job); });
    }
    Time begins = std::max(time(), cores_.free);
    cores_.free = begins + steps[i].compute;
    at(cores_.free, [this, job, steps = std::move(steps), i, transfers_end]() mutable {
      const CoresStep& step = steps[i];
      Time end = step.written != 0 ? link_.write(time(), step.written).arrived
                 : step.read != 0  ? link_.read(time(), step.read).done
                                   : time();
      Time next = step.waits ? std::max(end, transfers_end) : time();
      transfers_end = std::max(end, transfers_end);
      at(next, [this, job, steps = std::move(steps), i, transfers_end]() mutable {
        cores_step(job, std::move(steps), i + 1, transfers_end);
      });
    });
  }

  // ---- counters
  struct Counters {
    LinkCounters link;
    uint64_t input_stalls = 0, port_stalls = 0, read_waits = 0;
  };
  Counters counters() const {
    Counters c;
    c.link = link_.counters();
    if (deserializer_) {
      c.input_stalls = deserializer_->ports().input_stalls;
      c.port_stalls = deserializer_->ports().write_stalls + serializer_->ports().request_stalls;
      c.read_waits = serializer_->ports().waiting + deserializer_->ports().descriptor_waits;
    }
    return c;
  }
  static LinkWaits less(const LinkWaits& a, const LinkWaits& b) {
    return {a.bandwidth - b.bandwidth, a.interval - b.interval, a.in_flight - b.in_flight};
  }
  static void subtract(const Counters& now, const Counters& before, Leg* leg) {
    const LinkCounters &a = now.link, &b = before.link;
    leg->link = {a.writes - b.writes,         a.written_bytes - b.written_bytes,  a.reads - b.reads,
                 a.read_bytes - b.read_bytes, less(a.write_waits, b.write_waits), less(a.read_waits, b.read_waits)};
    leg->input_stalls = now.input_stalls - before.input_stalls;
    leg->port_stalls = now.port_stalls - before.port_stalls;
    leg->read_waits = now.read_waits - before.read_waits;
  }

  static constexpr Time kPatience = Time{100} * 1000 * 1000 * kNanosecond;

  const System& system_;
  const workload::Workload& workload_;
  const CostsResult& costs_;
  PreparedHost& host_;
  Link link_, nic_link_, engine_link_, descriptor_link_;
  Time period_;
  Time now_ = 0;
  std::unique_ptr<AlignedBytes> region_, engine_memory_;
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
};

}  // namespace

RunResult simulate(const System& system, const workload::Workload& workload, const CostsResult& costs,
                   const std::string& trace) {
  PreparedHost host = prepare_host(system, workload);
  RunResult result;
  result.error = host.error;
  if (!result.ok()) return result;
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);  // "stopped by user"
  sc_core::sc_set_time_resolution(1, sc_core::SC_PS);
  Platform platform(system, workload, costs, &host);
  sc_core::sc_trace_file* file = nullptr;
  if (!trace.empty()) {
    std::string stem = trace.ends_with(".vcd") ? trace.substr(0, trace.size() - 4) : trace;
    file = sc_core::sc_create_vcd_trace_file(stem.c_str());
    file->set_time_unit(1, sc_core::SC_PS);
    platform.trace_to(file);
  }
  sc_core::sc_start();
  if (file != nullptr) sc_core::sc_close_vcd_trace_file(file);
  return platform.take_result();
}

}  // namespace drover::sim
