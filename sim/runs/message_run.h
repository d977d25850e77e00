// A run of messages: the whole workload received, then all of it sent, one engine and one host under SystemC's clock.
// Private to sim/runs: run.h starts it in a process of its own, since SystemC has one simulation a process.
#pragma once

#include <functional>
#include <memory>
#include <systemc>
#include <vector>

#include "sim/engines/engine.h"
#include "sim/platform/platform.h"
#include "sim/runs/due_list.h"
#include "sim/runs/result.h"
#include "sim/runs/system.h"

namespace drover::sim {

class MessageRun final : public sc_core::sc_module, public Platform {
 public:
  // `images` are the groups' schema images, with their target flags.
  MessageRun(const System& system, const PlatformSetup& setup, std::vector<std::vector<uint64_t>> images);

  RunResult take_result() { return std::move(result_); }
  void trace_to(sc_core::sc_trace_file* file);

  // ---- Platform
  Time now() const override { return DueList::now(); }
  void at(Time when, std::function<void()> what) override { due_.at(when, std::move(what)); }
  Transfer* transfer(uint64_t number) override { return number < transfers_.size() ? &transfers_[number] : nullptr; }
  void finish(Transfer* transfer) override;
  void fail(const Transfer* transfer, const std::string& what) override;

 private:
  void tick();
  void run_due() { due_.run_due(); }

  // The host's program.
  void host_program();
  // All messages in one direction, group after group, since each group has a schema table of its own. Returns the time
  // that they took, loading the table apart.
  Time phase(Direction direction, Leg MessageResult::* leg);
  void run_list(const std::vector<size_t>& list, Direction direction, Leg MessageResult::* leg);
  void start(Transfer* transfer, Direction direction);
  Counters counters() const;

  const workload::Workload& workload_;
  RunOptions options_;
  std::vector<std::vector<uint64_t>> images_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<sc_core::sc_clock> clock_;  // the engine's, if it has one
  DueList due_;
  sc_core::sc_event finished_event_;
  std::vector<Transfer> transfers_;  // of the list under way
  std::vector<Transfer*> finished_;
  Counters snapshot_;
  RunResult result_;
  bool receiving_ = false, sending_ = false;
  uint32_t ended_ = 0;
};

// In this process: elaborates, simulates, and must not be called again in it.
RunResult simulate(const System& system, const workload::Workload& workload, const CostsResult& costs,
                   const std::string& trace);

}  // namespace drover::sim
