#include "sim/engines/cpu/cpu_engine.h"

namespace drover::sim {
namespace {

class CpuEngineOptions final : public CopyableEngineOptions<CpuEngineOptions> {
 public:
  void add_keys(Keys*) override {}
};

class CpuEngine final : public Engine {
 public:
  explicit CpuEngine(Platform* platform) : platform_(*platform) {}

  void receive(Transfer* transfer) override {
    uint64_t bytes = platform_.message(*transfer).wire.size();
    Time there = platform_.link().write(platform_.now(), bytes, platform_.packet_buffer(bytes)).arrived;
    platform_.at(there, [this, transfer] { platform_.decode_on_cpu(transfer); });
  }
  void send(Transfer* transfer) override { platform_.encode_on_cpu(transfer); }

 private:
  Platform& platform_;
};

}  // namespace

EngineType cpu_engine() {
  EngineType type;
  type.kind = "none";
  type.meaning = "the host's CPU";
  type.by = "cpu";
  type.host_encodes = true;
  type.make_options = [] { return std::make_unique<CpuEngineOptions>(); };
  type.make = [](const EngineOptions&, Platform* platform) { return std::make_unique<CpuEngine>(platform); };
  return type;
}

}  // namespace drover::sim
