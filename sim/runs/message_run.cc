#include "sim/runs/message_run.h"

#include <utility>

// libsystemc's own main() refers to it. A program that runs that main() instead of its own was linked wrongly.
int sc_main(int, char*[]) { return 1; }

namespace drover::sim {
namespace {

constexpr Time kPatience = Time{100} * 1000 * 1000 * kNanosecond;

}  // namespace

MessageRun::MessageRun(const System& system, const PlatformSetup& setup, std::vector<std::vector<uint64_t>> images)
    : sc_module(sc_core::sc_module_name("platform")),
      Platform(setup),
      workload_(setup.workload),
      options_(system.run),
      images_(std::move(images)),
      engine_(system.engine_type().make(system.engine_options(), this)) {
  using SC_CURRENT_USER_MODULE = MessageRun;
  if (engine_->period() != 0) {
    clock_ = std::make_unique<sc_core::sc_clock>("clock", sc_core::sc_time::from_value(engine_->period()));
    SC_METHOD(tick);
    sensitive << clock_->posedge_event();
    dont_initialize();
  }
  SC_METHOD(run_due);
  sensitive << due_.due_event();
  dont_initialize();
  SC_THREAD(host_program);
}

void MessageRun::trace_to(sc_core::sc_trace_file* file) {
  sc_core::sc_trace(file, receiving_, "receiving");
  sc_core::sc_trace(file, sending_, "sending");
  sc_core::sc_trace(file, ended_, "messages_ended");
  sc_core::sc_trace(file, cpu_busy(), "cpu_busy");
  engine_->trace([file](const std::string& name, const bool& signal) { sc_core::sc_trace(file, signal, name); });
}

// ---- time

void MessageRun::tick() {
  if (receiving_) engine_->tick(Direction::kReceive);
  if (sending_) engine_->tick(Direction::kSend);
}

// ---- the host's program

void MessageRun::host_program() {
  for (uint32_t round = 0; round < options_.repeat; ++round) {
    for (uint32_t m = 0; m < workload_.messages.size(); ++m) result_.messages.push_back({m, {}, {}});
  }
  receiving_ = true;
  result_.receive_time = phase(Direction::kReceive, &MessageResult::receive);
  receiving_ = false;
  sending_ = true;
  if (result_.ok()) result_.send_time = phase(Direction::kSend, &MessageResult::send);
  sending_ = false;
  if (result_.ok()) result_.error = engine_->violation();
  sc_core::sc_stop();
}

Time MessageRun::phase(Direction direction, Leg MessageResult::* leg) {
  Time sum = 0;
  for (uint32_t group = 0; group < workload_.groups.size() && result_.ok(); ++group) {
    std::vector<size_t> list;
    for (size_t i = 0; i < result_.messages.size(); ++i) {
      if (workload_.messages[result_.messages[i].message].group == group) list.push_back(i);
    }
    if (list.empty()) continue;
    engine_->begin(direction, schema::Image::from_trusted(images_[group].data()));
    Time began = now();
    run_list(list, direction, leg);
    sum += now() - began;
  }
  return sum;
}

void MessageRun::run_list(const std::vector<size_t>& list, Direction direction, Leg MessageResult::* leg) {
  transfers_.assign(list.size(), {});
  snapshot_ = counters();
  size_t next = 0, ended = 0;
  while (ended < list.size() && result_.ok()) {
    for (; next < list.size() && next - ended < options_.in_flight; ++next) {
      Transfer* transfer = &transfers_[next];
      transfer->number = static_cast<uint32_t>(next);
      transfer->result = list[next];
      transfer->message = result_.messages[list[next]].message;
      start(transfer, direction);
    }
    while (finished_.empty() && result_.ok()) {
      wait(sc_core::sc_time::from_value(kPatience), finished_event_);
      if (finished_.empty() && result_.ok()) {
        fail(&transfers_[ended], "nothing came within 100 ms: the engine hangs");
      }
    }
    for (Transfer* transfer : finished_) {
      transfer->leg.time = transfer->ended - transfer->began;
      result_.messages[transfer->result].*leg = transfer->leg;
      ++ended;
      ++ended_;
    }
    finished_.clear();
  }
}

void MessageRun::start(Transfer* transfer, Direction direction) {
  transfer->began = now();
  if (direction == Direction::kReceive) {
    engine_->receive(transfer);
  } else {
    engine_->send(transfer);
  }
}

void MessageRun::finish(Transfer* transfer) {
  transfer->ended = now();
  Counters all = counters();
  static_cast<Counters&>(transfer->leg) = all - snapshot_;
  snapshot_ = all;
  finished_.push_back(transfer);
  finished_event_.notify(sc_core::SC_ZERO_TIME);
}

void MessageRun::fail(const Transfer* transfer, const std::string& what) {
  if (result_.ok()) {
    result_.error = (transfer == nullptr ? "" : workload_.messages[transfer->message].name + ": ") + what;
  }
  finished_event_.notify(sc_core::SC_ZERO_TIME);
}

Counters MessageRun::counters() const {
  Counters all = engine_->counters();
  all.link = link().counters();
  return all;
}

RunResult simulate(const System& system, const workload::Workload& workload, const CostsResult& costs,
                   const std::string& trace) {
  RunResult result;
  TargetFieldsResult targets = target_fields(system.engine_type().has_memory ? system.run.target : "none", workload);
  result.error = targets.error;
  if (!result.ok()) return result;
  PreparedHost host = prepare_host(system.platform.handover, workload, targets.fields);
  result.error = host.error;
  if (!result.ok()) return result;
  std::vector<std::vector<uint64_t>> images;
  for (const workload::Group& group : workload.groups) images.push_back(targets.fields.flagged(group.image.image()));
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);  // "stopped by user"
  sc_core::sc_set_time_resolution(1, sc_core::SC_PS);
  PlatformSetup setup{system.platform, workload, costs, host, system.run.header};
  MessageRun messages(system, setup, std::move(images));
  sc_core::sc_trace_file* file = nullptr;
  if (!trace.empty()) {
    std::string stem = trace.ends_with(".vcd") ? trace.substr(0, trace.size() - 4) : trace;
    file = sc_core::sc_create_vcd_trace_file(stem.c_str());
    file->set_time_unit(1, sc_core::SC_PS);
    messages.trace_to(file);
  }
  sc_core::sc_start();
  if (file != nullptr) sc_core::sc_close_vcd_trace_file(file);
  return messages.take_result();
}

}  // namespace drover::sim
