// Whole runs: the verilated engines under SystemC, every message compared with the software codec inside the run.
#include "sim/run.h"

#include <gtest/gtest.h>

#include <cstring>

#include "schema/image_builder.h"
#include "sim/host_images.h"
#include "sim/report.h"
#include "workload/workload.h"

namespace drover::sim {
namespace {

// The built-in workload's messages under 16 KiB: a run of them takes a second or two.
const workload::Workload& small_workload() {
  static const workload::Workload built = [] {
    workload::WorkloadResult result =
        workload::hyperproto_like(workload::kDefaultSeed, workload::WorkloadPart::kPublished);
    EXPECT_TRUE(result.ok()) << result.error;
    std::erase_if(result.workload.messages, [](const auto& m) { return m.wire.size() > 16384; });
    return std::move(result.workload);
  }();
  return built;
}

System system_named(const std::string& name, const std::vector<std::pair<std::string, std::string>>& keys = {}) {
  SystemResult loaded = load_system(name);
  EXPECT_TRUE(loaded.ok()) << loaded.error;
  for (const auto& [key, value] : keys) EXPECT_EQ(set_key(&loaded.system, key, value), "");
  return loaded.system;
}

RunResult run_small(const System& system) {
  CostsResult costs = workload_costs(system, small_workload());
  EXPECT_EQ(costs.error, "");
  RunResult result = run(system, small_workload(), costs);
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.messages.size(), small_workload().messages.size() * system.repeat);
  return result;
}

TEST(Run, EverySystemTakesTheWorkload) {
  for (const BuiltInSystem& system : built_in_systems()) {
    SCOPED_TRACE(system.name);
    RunResult result = run_small(system_named(std::string(system.name)));
    for (const MessageResult& message : result.messages) {
      EXPECT_GT(message.receive.time, 0u);
      EXPECT_GT(message.send.time, 0u);
    }
  }
}

TEST(Run, IsTheSameEachTime) {
  System system = system_named("rpcnic");
  RunResult once = run_small(system), again = run_small(system);
  ASSERT_EQ(once.messages.size(), again.messages.size());
  EXPECT_EQ(json(system, small_workload(), once), json(system, small_workload(), again));
}

TEST(Run, CpuOnlyIsTheFormula) {
  System system = system_named("cpu-only");
  CostsResult costs = workload_costs(system, small_workload());
  RunResult result = run_small(system);
  Link link(system.link);
  for (size_t i = 0; i < result.messages.size(); ++i) {
    Time wire = link.wire_time(small_workload().messages[i].wire.size());
    EXPECT_EQ(result.messages[i].receive.time, wire + system.link.one_way + costs.costs[i].decode);
    EXPECT_EQ(result.messages[i].receive.cpu, costs.costs[i].decode);
  }
}

TEST(Run, OneShotWritesLessOftenThanFieldByField) {
  RunTotals one_shot = total(small_workload(), run_small(system_named("rpcnic")));
  RunTotals by_field = total(small_workload(), run_small(system_named("rpcnic", {{"deserializer.one_shot", "false"}})));
  EXPECT_LT(one_shot.receive.link.writes * 3, by_field.receive.link.writes);
  EXPECT_LT(one_shot.receive.mean_ns, by_field.receive.mean_ns);
}

TEST(Run, PointerChasingPaysForTheDistance) {
  auto send_time = [&](const char* mode, const char* latency) {
    return total(small_workload(),
                 run_small(system_named("rpcnic", {{"serializer.mode", mode}, {"link.latency", latency}})))
        .send.mean_ns;
  };
  double near = send_time("nic-only", "70ns"), far = send_time("nic-only", "1250ns");
  EXPECT_GT(far, near + 1180);  // more than one round trip
  double stream_near = send_time("memory-affinity", "70ns"), stream_far = send_time("memory-affinity", "1250ns");
  EXPECT_LT(stream_far - stream_near, far - near);
}

TEST(Run, MoreInFlightIsMoreThroughput) {
  RunResult alone = run_small(system_named("rpcnic", {{"run.repeat", "2"}}));
  RunResult many = run_small(system_named("rpcnic", {{"run.repeat", "2"}, {"run.in_flight", "16"}}));
  EXPECT_LT(many.receive_time * 2, alone.receive_time);
  EXPECT_LT(many.send_time, alone.send_time);
}

TEST(Run, TheCopyEngineTakesWorkOffTheCpu) {
  RunTotals plain = total(small_workload(), run_small(system_named("rpcnic")));
  RunTotals copied = total(small_workload(), run_small(system_named("rpcnic", {{"serializer.memcpy_engine", "true"}})));
  EXPECT_LT(copied.send.cpu, plain.send.cpu);
  EXPECT_GT(copied.send.copies, 0u);
}

TEST(Run, CostsThatAreMeasuredAreAboveZero) {
  System system = system_named("rpcnic", {{"cpu.model", "measured"}});
  workload::Workload one;
  MessageCost cost;
  EXPECT_EQ(measure_costs(system, small_workload().messages[0], &cost), "");
  EXPECT_GT(cost.decode, 0u);
  EXPECT_GT(cost.encode, 0u);
  EXPECT_GT(cost.preserialize, 0u);
}

// One message type of `fields` int64 fields, and a message that has them all.
workload::Workload wide_workload(int fields) {
  workload::Workload out;
  out.name = "wide";
  workload::Group& group = out.groups.emplace_back();
  auto* file = group.files.add_file();
  file->set_name("wide.proto");
  file->set_syntax("proto2");
  auto* message = file->add_message_type();
  message->set_name("Wide");
  std::string wire;
  for (int i = 1; i <= fields; ++i) {
    auto* field = message->add_field();
    field->set_name("f" + std::to_string(i));
    field->set_number(i);
    field->set_type(google::protobuf::FieldDescriptorProto::TYPE_INT64);
    field->set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
    for (uint32_t tag = static_cast<uint32_t>(i) << 3; true; tag >>= 7) {
      wire.push_back(static_cast<char>((tag & 0x7f) | (tag >= 0x80 ? 0x80 : 0)));
      if (tag < 0x80) break;
    }
    wire.push_back(static_cast<char>(i & 0x7f));
  }
  schema::BuildResult built = schema::build_image(group.files);
  EXPECT_TRUE(built.ok()) << built.error;
  EXPECT_TRUE(schema::OwnedImage::load(built.image, &group.image).ok());
  schema::MessageType type{&group.image.image(), 0};
  out.messages.push_back({"wide", type, wire, 0});
  return out;
}

TEST(Run, WhatTheEngineLeavesToSoftwareIsCountedAndNamed) {
  // An object beyond a chunk: the deserializer says so, and the CPU decodes.
  workload::Workload wide = wide_workload(600);
  System system = system_named("rpcnic");
  CostsResult costs = workload_costs(system, wide);
  RunResult result = run(system, wide, costs);
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.messages[0].receive.outcome, Outcome::kSoftware);
  EXPECT_EQ(result.messages[0].receive.cpu, costs.costs[0].decode);
  EXPECT_NE(table(system, wide, result).find("software: object_size"), std::string::npos);
  EXPECT_EQ(total(wide, result).receive.by_software, 1u);
}

TEST(Run, AnObjectThatDiffersIsTold) {
  const auto& messages = small_workload().messages;
  PreparedHost host = prepare_host(system_named("protoacc-pcie"), small_workload(), {});
  ASSERT_EQ(host.error, "");
  const auto* object = reinterpret_cast<const Message*>(host.memory->bytes().data() + host.messages[0].command.records);
  EXPECT_EQ(compare_object(messages[0].type, host.messages[0].encoded, object), "");
  std::string other = host.messages[0].encoded;
  other[other.size() / 2] ^= 1;
  EXPECT_NE(compare_object(messages[0].type, other, object)
                .find("the first difference at " + std::to_string(other.size() / 2)),
            std::string::npos);
}

}  // namespace
}  // namespace drover::sim
