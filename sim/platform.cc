#include "sim/platform.h"

// libsystemc's own main() refers to it. A program that ends up with that main instead of its own has been linked
// wrongly.
int sc_main(int, char*[]) { return 1; }

namespace drover::sim {
namespace {

constexpr uint64_t kPacketBuffers = uint64_t{6} << 36, kPacketBufferBytes = uint64_t{1} << 24;
constexpr Time kPatience = Time{100} * 1000 * 1000 * kNanosecond;

LinkWaits less(const LinkWaits& a, const LinkWaits& b) {
  return {a.bandwidth - b.bandwidth, a.interval - b.interval, a.in_flight - b.in_flight, a.tlb - b.tlb};
}
LinkCounters less(const LinkCounters& a, const LinkCounters& b) {
  LinkCounters c;
  c.writes = a.writes - b.writes;
  c.written_bytes = a.written_bytes - b.written_bytes;
  c.reads = a.reads - b.reads;
  c.read_bytes = a.read_bytes - b.read_bytes;
  c.pushes = a.pushes - b.pushes;
  c.pushed_bytes = a.pushed_bytes - b.pushed_bytes;
  c.write_waits = less(a.write_waits, b.write_waits);
  c.read_waits = less(a.read_waits, b.read_waits);
  c.tlb_misses = a.tlb_misses - b.tlb_misses;
  return c;
}

}  // namespace

Platform::Platform(const System& system, const workload::Workload& workload, const CostsResult& costs,
                   const TargetFields& targets, PreparedHost* host)
    : sc_module(sc_core::sc_module_name("platform")),
      system_(system),
      workload_(workload),
      costs_(costs),
      host_(*host),
      link_(system.link),
      nic_link_(system.nic_link),
      engine_link_(system.engine_memory),
      descriptor_link_(system.descriptors),
      inbox_(system.inbox, system.inbox_size),
      period_(1'000'000'000'000 / system.clock),
      clock_("clock", sc_core::sc_time::from_value(period_)) {
  using SC_CURRENT_USER_MODULE = Platform;
  for (const workload::Group& group : workload.groups) images_.push_back(targets.flagged(group.image.image()));
  if (system.engine == EngineKind::kRtl) make_engines();
  SC_METHOD(tick);
  sensitive << clock_.posedge_event();
  dont_initialize();
  SC_METHOD(run_due);
  sensitive << due_event_;
  dont_initialize();
  SC_THREAD(host_program);
}

void Platform::trace_to(sc_core::sc_trace_file* file) {
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

void Platform::make_engines() {
  region_ = std::make_unique<AlignedBytes>(kHostRegion + kEngineRegion);
  deserializer_ = std::make_unique<DeserializerEngine>(
      DeserializerSetup{system_.one_shot, system_.eager, system_.protoacc, static_cast<unsigned>(system_.lanes),
                        region_->bytes(), kHostRegion, &link_, &engine_link_, &descriptor_link_, &now_});
  serializer_ = std::make_unique<SerializerEngine>(
      SerializerSetup{host_.host(), host_.engine_port(), host_.engine_bytes, &link_, &inbox_, &engine_link_, &now_});
  deserializer_->on_record([this](const ArrivedRecord& arrived) { received(arrived); });
  serializer_->on_done([this](const SerializerDone& done) { sent(done); });
}

// ---- time
void Platform::tick() {
  now_ = time();
  if (deserializer_ && receiving_) deserializer_->cycle();
  if (serializer_ && sending_) serializer_->cycle();
}

void Platform::at(Time when, std::function<void()> what) {
  due_.emplace(when, std::move(what));
  call_next();
}

void Platform::call_next() {
  if (due_.empty()) return;
  Time now = time(), first = due_.begin()->first;
  due_event_.notify(sc_core::sc_time::from_value(first > now ? first - now : 0));
}

void Platform::run_due() {
  now_ = time();
  while (!due_.empty() && due_.begin()->first <= now_) {
    std::function<void()> what = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    what();
  }
  call_next();
}

Time Platform::on_cpu(Job* job, Time cost, Time copies, std::function<void()> what) {
  Time begins = std::max(time(), cpu_.free);
  cpu_.free = begins + cost;
  job->leg.cpu += cost;
  job->leg.copies += copies;
  cpu_busy_ = true;
  at(cpu_.free, [this] { cpu_busy_ = cpu_.free > time(); });
  at(begins + std::max(cost, copies), std::move(what));
  return begins + cost;
}

// ---- the host's program
void Platform::host_program() {
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

Time Platform::phase(Start start, Leg MessageResult::* leg) {
  Time sum = 0;
  for (uint32_t group = 0; group < workload_.groups.size() && result_.ok(); ++group) {
    std::vector<size_t> list;
    for (size_t i = 0; i < result_.messages.size(); ++i) {
      if (workload_.messages[result_.messages[i].message].group == group) list.push_back(i);
    }
    if (list.empty()) continue;
    schema::Image image = schema::Image::from_trusted(images_[group].data());
    if (deserializer_ && receiving_) deserializer_->load(image);
    if (serializer_ && sending_) serializer_->load(image);
    Time began = time();
    run_list(list, start, leg);
    sum += time() - began;
  }
  return sum;
}

void Platform::run_list(const std::vector<size_t>& list, Start start, Leg MessageResult::* leg) {
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

void Platform::finish(Job* job) {
  job->ended = time();
  Counters now = counters();
  job->leg.link = less(now.link, snapshot_.link);
  job->leg.card = less(now.card, snapshot_.card);
  job->leg.input_stalls = now.input_stalls - snapshot_.input_stalls;
  job->leg.port_stalls = now.port_stalls - snapshot_.port_stalls;
  job->leg.read_waits = now.read_waits - snapshot_.read_waits;
  snapshot_ = now;
  finished_.push_back(job);
  finished_event_.notify(sc_core::SC_ZERO_TIME);
}

void Platform::fail(const Job& job, const std::string& what) {
  if (result_.ok()) result_.error = workload_.messages[job.message].name + ": " + what;
  finished_event_.notify(sc_core::SC_ZERO_TIME);
}

uint64_t Platform::packet_buffer(uint64_t bytes) {
  uint64_t at = bytes > kPacketBufferBytes - buffers_ ? 0 : buffers_;
  buffers_ = (at + bytes + 4095) / 4096 * 4096 % kPacketBufferBytes;
  return kPacketBuffers + at;
}

Platform::Counters Platform::counters() const {
  Counters c;
  c.link = link_.counters();
  c.card = engine_link_.counters();
  if (deserializer_) {
    c.input_stalls = deserializer_->ports().input_stalls;
    c.port_stalls = deserializer_->ports().write_stalls + serializer_->ports().request_stalls;
    c.read_waits = serializer_->ports().waiting + deserializer_->ports().descriptor_waits;
  }
  return c;
}

RunResult simulate(const System& system, const workload::Workload& workload, const CostsResult& costs,
                   const std::string& trace) {
  RunResult result;
  TargetFieldsResult targets = target_fields(system.engine == EngineKind::kRtl ? system.target : "none", workload);
  result.error = targets.error;
  if (!result.ok()) return result;
  PreparedHost host = prepare_host(system, workload, targets.fields);
  result.error = host.error;
  if (!result.ok()) return result;
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);  // "stopped by user"
  sc_core::sc_set_time_resolution(1, sc_core::SC_PS);
  Platform platform(system, workload, costs, targets.fields, &host);
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
