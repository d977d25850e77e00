// An engine that is registered from outside plugs in: a system file names it, and its keys are its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/runs/engines.h"
#include "sim/runs/report.h"
#include "sim/runs/run.h"
#include "workload/workload.h"

namespace drover::sim {
namespace {

using ::testing::HasSubstr;

class FixedOptions final : public CopyableEngineOptions<FixedOptions> {
 public:
  void add_keys(Keys* keys) override {
    keys->time("fixed.delay", "of every message", &delay);
    keys->count("fixed.cycle", "ns of its clock", &cycle, 1, 1000);
  }
  std::string summary() const override { return "; every message in " + format_time(delay); }
  Time delay = 100 * kNanosecond;
  uint64_t cycle = 10;
};

// Takes the same time for every message; receives on clock edges, leaves what it sends to software.
class FixedEngine final : public Engine {
 public:
  FixedEngine(const FixedOptions& options, Platform* platform) : options_(options), platform_(*platform) {}
  void receive(Transfer* transfer) override { waiting_ = transfer; }
  void send(Transfer* transfer) override {
    platform_.hand_over(transfer, nullptr, [this, transfer] {
      transfer->leg.outcome = Outcome::kSoftware;
      transfer->leg.reason = 7;
      platform_.encode_on_cpu(transfer);
    });
  }
  Time period() const override { return options_.cycle * kNanosecond; }
  void tick(Direction) override {
    if (waiting_ == nullptr) return;
    platform_.at(platform_.now() + options_.delay, [this, done = waiting_] { platform_.finish(done); });
    waiting_ = nullptr;
  }

 private:
  FixedOptions options_;
  Platform& platform_;
  Transfer* waiting_ = nullptr;
};

void register_fixed() {
  if (find_engine("fixed") != nullptr) return;
  EngineType type;
  type.kind = "fixed";
  type.meaning = "a test's";
  type.by = "fixed";
  type.make_options = [] { return std::make_unique<FixedOptions>(); };
  type.make = [](const EngineOptions& options, Platform* platform) {
    return std::make_unique<FixedEngine>(static_cast<const FixedOptions&>(options), platform);
  };
  type.reason_name = [](Direction, uint8_t reason) { return "reason " + std::to_string(reason); };
  register_engine(std::move(type));
}

constexpr char kFixed[] = "name = \"mine\"\n[engine]\nkind = \"fixed\"\n[fixed]\ndelay = \"40ns\"\n";

TEST(Engine, ASystemFileNamesItAndSetsItsKeys) {
  register_fixed();
  SystemResult loaded = parse_system(kFixed, "mine.toml");
  ASSERT_TRUE(loaded.ok()) << loaded.error;
  EXPECT_EQ(get_key(loaded.system, "engine.kind"), "fixed");
  EXPECT_EQ(get_key(loaded.system, "fixed.delay"), "40ns");
  EXPECT_EQ(get_key(System(), "fixed.delay"), "100ns");
}

TEST(Engine, AWrongKeyOfItIsToldByItsOwnKeys) {
  register_fixed();
  System system;
  EXPECT_THAT(set_key(&system, "fixed.size", "1"), HasSubstr("there are fixed.delay, fixed.cycle"));
  EXPECT_THAT(set_key(&system, "fixed.cycle", "0"), HasSubstr("ns of its clock"));
  EXPECT_THAT(set_key(&system, "engine.kind", "broken"), HasSubstr("fixed (a test's)"));
}

TEST(Engine, ACopyOfASystemHasOptionsOfItsOwn) {
  register_fixed();
  System one = parse_system(kFixed, "mine.toml").system, other = one;
  EXPECT_EQ(set_key(&other, "fixed.delay", "7ns"), "");
  EXPECT_EQ(get_key(one, "fixed.delay"), "40ns");
  EXPECT_EQ(get_key(other, "fixed.delay"), "7ns");
}

TEST(Engine, ItRunsAMessageAndIsNamedInTheResults) {
  register_fixed();
  workload::WorkloadResult made = workload::hyperproto_like(workload::kDefaultSeed, workload::WorkloadPart::kPublished);
  ASSERT_TRUE(made.ok());
  workload::Workload& workload = made.workload;
  std::erase_if(workload.messages, [](const auto& m) { return m.wire.size() > 4096; });
  System system = parse_system(kFixed, "mine.toml").system;
  RunResult result = run(system, workload, workload_costs(system, workload));
  ASSERT_TRUE(result.ok()) << result.error;
  ASSERT_FALSE(result.messages.empty());
  for (const MessageResult& message : result.messages) {
    EXPECT_GE(message.receive.time, 40 * kNanosecond);
    EXPECT_LE(message.receive.time, 50 * kNanosecond);  // and what is left of a clock
    EXPECT_GT(message.send.cpu, 0u);
  }
  std::string text = table(system, workload, result);
  EXPECT_THAT(text, HasSubstr("every message in 40ns"));
  EXPECT_THAT(text, HasSubstr("fixed, software: reason 7"));
}

}  // namespace
}  // namespace drover::sim
