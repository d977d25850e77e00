#include "sim/engines/cores/cores_engine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/engines/cores/cores_work.h"

namespace drover::sim {
namespace {

class CoresOptions final : public CopyableEngineOptions<CoresOptions> {
 public:
  void add_keys(Keys* keys) override {
    keys->number("cores.scale", "the codec's costs on the SmartNIC's cores, times this", &costs.scale);
    keys->number("cores.dma", "ns of a core to start one DMA transfer", &costs.dma);
  }
  CoresCosts costs;
};

class CoresEngine final : public Engine {
 public:
  CoresEngine(const CoresOptions& options, Platform* platform) : costs_(options.costs), platform_(*platform) {}

  void receive(Transfer* transfer) override { step(transfer, work(*transfer).receive, 0, 0); }
  void send(Transfer* transfer) override {
    platform_.hand_over(transfer, nullptr, [this, transfer] { step(transfer, work(*transfer).send, 0, 0); });
  }

 private:
  CoresWork work(const Transfer& transfer) {
    return cores_work_of(platform_.options(), costs_, platform_.work(transfer), platform_.prepared(transfer));
  }
  // Step i of a message's work: some computing, then a DMA transfer, which the next step waits for or not.
  void step(Transfer* transfer, std::vector<CoresStep> steps, size_t i, Time transfers_end);
  // When the step's DMA transfer, which begins now, has ended.
  Time transfer_end(const CoresStep& step) {
    Link& link = platform_.link();
    Time now = platform_.now();
    if (step.written != 0) return link.write(now, step.written, platform_.packet_buffer(step.written)).arrived;
    if (step.read != 0) return link.read(now, step.read, platform_.packet_buffer(step.read)).done;
    return now;
  }

  CoresCosts costs_;
  Platform& platform_;
  Time free_ = 0;  // the cores work as one thread
};

void CoresEngine::step(Transfer* transfer, std::vector<CoresStep> steps, size_t i, Time transfers_end) {
  if (i == steps.size()) {
    return platform_.at(std::max(platform_.now(), transfers_end), [this, transfer] { platform_.finish(transfer); });
  }
  Time begins = std::max(platform_.now(), free_);
  free_ = begins + steps[i].compute;
  platform_.at(free_, [this, transfer, steps = std::move(steps), i, transfers_end]() mutable {
    Time end = transfer_end(steps[i]);
    Time next = steps[i].waits ? std::max(end, transfers_end) : platform_.now();
    transfers_end = std::max(end, transfers_end);
    platform_.at(next, [this, transfer, steps = std::move(steps), i, transfers_end]() mutable {
      step(transfer, std::move(steps), i + 1, transfers_end);
    });
  });
}

}  // namespace

EngineType cores_engine() {
  EngineType type;
  type.kind = "cores";
  type.meaning = "of the SmartNIC";
  type.by = "cores";
  type.make_options = [] { return std::make_unique<CoresOptions>(); };
  type.make = [](const EngineOptions& options, Platform* platform) {
    return std::make_unique<CoresEngine>(static_cast<const CoresOptions&>(options), platform);
  };
  return type;
}

}  // namespace drover::sim
