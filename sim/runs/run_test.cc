// Whole runs: the verilated engines under SystemC, every message compared with the software codec inside the run.
#include "sim/runs/run.h"

#include <gtest/gtest.h>

#include <cstring>

#include "schema/image_builder.h"
#include "sim/platform/host_images.h"
#include "sim/platform/target_fields.h"
#include "sim/runs/report.h"
#include "workload/workload.h"

namespace drover::sim {
namespace {

workload::Workload built_in(workload::WorkloadPart part, size_t max_size) {
  workload::WorkloadResult result = workload::hyperproto_like(workload::kDefaultSeed, part);
  EXPECT_TRUE(result.ok()) << result.error;
  std::erase_if(result.workload.messages, [=](const auto& m) { return m.wire.size() > max_size; });
  return std::move(result.workload);
}
// The built-in workload's messages under 16 KiB: a run of them takes a second or two.
const workload::Workload& small_workload() {
  static const workload::Workload built = built_in(workload::WorkloadPart::kPublished, 16384);
  return built;
}

System system_named(const std::string& name, const std::vector<std::pair<std::string, std::string>>& keys = {}) {
  SystemResult loaded = load_system(name);
  EXPECT_TRUE(loaded.ok()) << loaded.error;
  for (const auto& [key, value] : keys) EXPECT_EQ(set_key(&loaded.system, key, value), "");
  return loaded.system;
}

RunResult run_all_of(const System& system, const workload::Workload& workload) {
  CostsResult costs = workload_costs(system, workload);
  EXPECT_EQ(costs.error, "");
  RunResult result = run(system, workload, costs);
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.messages.size(), workload.messages.size() * system.run.repeat);
  return result;
}
RunResult run_small(const System& system) { return run_all_of(system, small_workload()); }
RunTotals small_totals(const std::string& name, const std::vector<std::pair<std::string, std::string>>& keys = {}) {
  return total(small_workload(), run_small(system_named(name, keys)));
}

TEST(Run, EverySystemTakesTheWorkload) {
  for (const BuiltInSystem& system : built_in_systems()) {
    SCOPED_TRACE(system.name);
    System loaded = system_named(std::string(system.name));
    if (loaded.for_calls()) continue;  // calls_test.cc
    RunResult result = run_small(loaded);
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
  const LinkConfig& config = system.platform.links.link;
  Link link(config);
  for (size_t i = 0; i < result.messages.size(); ++i) {
    Time wire = link.wire_time(small_workload().messages[i].wire.size());
    EXPECT_EQ(result.messages[i].receive.time, wire + config.one_way + costs.costs[i].decode);
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
  RunTotals plain = small_totals("rpcnic", {{"serializer.memcpy_engine", "false"}});
  RunTotals copied = small_totals("rpcnic", {{"serializer.memcpy_engine", "true"}});
  EXPECT_LT(copied.send.cpu, plain.send.cpu);
  EXPECT_GT(copied.send.copies, 0u);
}

TEST(Run, TargetFieldsCrossNoLinkAndCostNoCopy) {
  RunTotals host = small_totals("rpcnic"), card = small_totals("rpcnic", {{"run.target", ">=1024"}});
  EXPECT_EQ(host.receive.card.writes + host.send.card.reads, 0u);
  EXPECT_GT(card.receive.card.written_bytes, 20'000u);
  EXPECT_GT(card.send.card.read_bytes, 20'000u);
  // What is on the card does not come over the link, to a line or two for each string.
  EXPECT_LT(card.receive.link.written_bytes + card.receive.card.written_bytes,
            host.receive.link.written_bytes * 11 / 10);
  EXPECT_LT(card.send.link.read_bytes + card.send.card.read_bytes, host.send.link.read_bytes * 11 / 10);
  EXPECT_LT(card.send.cpu, host.send.cpu);
  EXPECT_LE(card.send.mean_ns, host.send.mean_ns);
  EXPECT_LT(card.receive.mean_ns, host.receive.mean_ns);
}

TEST(Run, TargetFieldsMayBeNamed) {
  const workload::WorkloadMessage& message = small_workload().messages[0];
  std::string name;  // of a string field that the message has
  for (const schema::FieldEntry& field : message.type.fields()) {
    if (!schema::is_string_kind(field.kind)) continue;
    name = std::string(message.full_name()) + "." + message.type.image->name(field.name);
  }
  ASSERT_NE(name, "");
  EXPECT_EQ(target_fields(name, small_workload()).error, "");
  EXPECT_FALSE(target_fields(name, small_workload()).fields.empty());
  EXPECT_EQ(target_fields("a.B.c", small_workload()).error, "run.target: the workload has no field a.B.c");
  EXPECT_EQ(target_fields(">=many", small_workload()).error, "run.target: >=many is no size");
  EXPECT_NE(workload_costs(system_named("rpcnic", {{"run.target", "nothing"}}), small_workload()).error, "");
}

TEST(Run, PushedRecordsAreNotFetched) {
  RunTotals fetched = small_totals("rpcnic"), pushed = small_totals("rpcnic", {{"serializer.push_limit", "65536"}});
  uint64_t doorbells = small_workload().messages.size();
  EXPECT_EQ(fetched.send.link.pushes, doorbells);
  EXPECT_GT(pushed.send.link.pushes, doorbells * 2);
  EXPECT_LT(pushed.send.link.reads, fetched.send.link.reads);
  EXPECT_LT(pushed.send.mean_ns + 200, fetched.send.mean_ns);
  Time lines = (pushed.send.link.pushes - doorbells) * 8 * kNanosecond;
  EXPECT_EQ(pushed.send.cpu, fetched.send.cpu + lines);
}

TEST(Run, AFullInboxFallsBackOnDma) {
  RunTotals none = small_totals("rpcnic", {{"serializer.push_limit", "65536"}, {"inbox.size", "0"}});
  EXPECT_EQ(none.send.link.pushes, small_workload().messages.size());
  RunResult some = run_small(system_named("drover", {{"inbox.size", "1024"}, {"run.in_flight", "8"}}));
  EXPECT_TRUE(some.ok()) << some.error;
}

TEST(Run, ReferencesTakeTheCopiesOffTheCpu) {
  RunTotals copied = small_totals("rpcnic"), referred = small_totals("rpcnic", {{"serializer.reference_from", "256"}});
  EXPECT_LT(referred.send.cpu, copied.send.cpu);
  EXPECT_EQ(referred.send.copies, 0u);
}

TEST(Run, AnObjectInOnePieceIsWalkedWithoutARoundTripForEachPointer) {
  RunTotals chased = small_totals("rpcnic", {{"serializer.mode", "nic-only"}});
  RunTotals once = small_totals("rpcnic", {{"serializer.mode", "nic-only"}, {"serializer.one_piece", "true"}});
  RunTotals ahead = small_totals(
      "rpcnic", {{"serializer.mode", "nic-only"}, {"serializer.one_piece", "true"}, {"serializer.prefetch", "16KiB"}});
  EXPECT_LT(once.send.mean_ns + 1250, chased.send.mean_ns);
  EXPECT_LT(ahead.send.mean_ns + 600, once.send.mean_ns);  // long strings come beside the objects
  EXPECT_EQ(ahead.send.cpu, chased.send.cpu);
}

TEST(Run, GrpcsPrefixGoesOutInFront) {  // compared byte by byte inside the run
  for (const char* name : {"rpcnic", "drover"}) {
    RunTotals with = small_totals(name, {{"run.header", "grpc"}});
    EXPECT_EQ(with.send.by_software, 0u);
    EXPECT_GE(with.send.mean_ns, small_totals(name).send.mean_ns);
  }
}

TEST(Run, TlbMissesAreCountedAndWaitedFor) {
  RunTotals none = small_totals("rpcnic"), few = small_totals("rpcnic", {{"link.tlb_entries", "8"}});
  EXPECT_EQ(none.receive.link.tlb_misses + none.send.link.tlb_misses, 0u);
  EXPECT_GT(few.receive.link.tlb_misses, 0u);
  EXPECT_GT(few.send.link.read_waits.tlb, 0u);
  EXPECT_GT(few.receive.mean_ns, none.receive.mean_ns);
  EXPECT_GT(few.send.mean_ns, none.send.mean_ns);
  System system = system_named("rpcnic", {{"link.tlb_entries", "8"}});
  EXPECT_NE(table(system, small_workload(), run_small(system)).find("TLB misses: "), std::string::npos);
}

// The project's goal: on every bench, in time and in host CPU. By the stated costs and simulated time: deterministic.
TEST(Run, DroverBeatsRpcnicOnEveryBench) {
  workload::Workload all = built_in(workload::WorkloadPart::kAll, 65536);
  std::vector<GroupTotals> rpcnic = group_totals(all, run_all_of(system_named("rpcnic"), all));
  std::vector<GroupTotals> drover = group_totals(all, run_all_of(system_named("drover"), all));
  ASSERT_EQ(rpcnic.size(), 6u);
  ASSERT_EQ(drover.size(), 6u);
  for (size_t i = 0; i < rpcnic.size(); ++i) {
    SCOPED_TRACE(rpcnic[i].name);
    EXPECT_GE(rpcnic[i].totals.send.messages, 2u);
    const RunTotals &slow = rpcnic[i].totals, &fast = drover[i].totals;
    EXPECT_LT(fast.receive.mean_ns, slow.receive.mean_ns);
    EXPECT_LT(fast.receive.geomean_ns, slow.receive.geomean_ns);
    EXPECT_LT(fast.send.mean_ns, slow.send.mean_ns);
    EXPECT_LT(fast.send.geomean_ns, slow.send.geomean_ns);
    EXPECT_LE(fast.receive.cpu, slow.receive.cpu);
    EXPECT_LT(fast.send.cpu, slow.send.cpu);
  }
}

TEST(Run, CostsThatAreMeasuredAreAboveZero) {
  System system = system_named("rpcnic", {{"cpu.model", "measured"}});
  workload::Workload one;
  MessageCost cost;
  EXPECT_EQ(measure_costs(system.platform, small_workload().messages[0], &cost), "");
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
  PreparedHost host = prepare_host(system_named("protoacc-pcie").platform.handover, small_workload(), {});
  ASSERT_EQ(host.error, "");
  const auto* object = reinterpret_cast<const Message*>(host.memory->bytes().data() + host.messages[0].source.records);
  EXPECT_EQ(compare_object(messages[0].type, host.messages[0].encoded, object), "");
  std::string other = host.messages[0].encoded;
  other[other.size() / 2] ^= 1;
  EXPECT_NE(compare_object(messages[0].type, other, object)
                .find("the first difference at " + std::to_string(other.size() / 2)),
            std::string::npos);
}

}  // namespace
}  // namespace drover::sim
