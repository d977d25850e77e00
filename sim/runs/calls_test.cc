// Runs of calls: the host library, the NIC in RTL and the coherent link under SystemC, each call checked by content.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "rtl/driver/nic_host.h"
#include "sim/runs/call_content.h"
#include "sim/runs/call_programs.h"
#include "sim/runs/call_report.h"
#include "sim/runs/calls.h"
#include "sim/runs/calls_testing.h"

namespace drover::sim {
namespace {

using ::testing::HasSubstr;

TEST(Calls, EveryInterfaceServesThem) {
  for (std::string interface : {"mmio", "doorbell", "coherent", "cxl"}) {
    SCOPED_TRACE(interface);
    CallResult result = run_of("dagger", {{"line_nic.interface", interface}, {"line_nic.batch", "4"}});
    EXPECT_GT(result.throughput(), 3);
    EXPECT_EQ(result.lost, 0u);
    EXPECT_EQ(result.checked, figure(result, 0, "rx_lines"));
  }
}

// The source of examples/lines_kv: its handlers, its client, and the stubs generated from its .proto.
TEST(Calls, TheKeyValueServiceAnswersRightOnEveryInterface) {
  for (std::string interface : {"mmio", "doorbell", "coherent", "cxl"}) {
    SCOPED_TRACE(interface);
    CallResult result = run_of("dagger", {{"calls.program", "lines_kv"},
                                          {"line_nic.interface", interface},
                                          {"calls.clients", "2"},
                                          {"calls.servers", "2"},
                                          {"calls.outstanding", "16"}});
    EXPECT_GT(result.checked, 100u);
    EXPECT_GT(result.throughput(), 1);
  }
  CallResult lossy = run_of("dagger", {{"calls.program", "lines_kv"}, {"network.loss", "0.03"}});
  EXPECT_EQ(lossy.lost, 0u);
  EXPECT_GT(lossy.checked, 50u);
}

// Whichever line is lost, of a Scan of several or of the clients' questions: a call that ends well has the right
// answer.
TEST(Calls, TheKeyValueServiceLosesCallsAloneOverUdp) {
  const Pairs udp = {{"calls.program", "lines_kv"}, {"line_nic.transport", "udp"}, {"calls.timeout", "20us"},
                     {"calls.clients", "2"},        {"calls.outstanding", "16"},   {"calls.time", "200us"}};
  for (std::string loss : {"0.002", "0.05"}) {
    SCOPED_TRACE(loss);
    Pairs keys = udp;
    keys.emplace_back("network.loss", loss);
    CallResult result = run_of("dagger", keys);
    EXPECT_GT(result.lost, 0u);
    EXPECT_LE(result.lost, result.network.lost);
    EXPECT_GT(result.checked, 3 * result.lost);
  }
  System reordering = system_named("dagger", udp);
  EXPECT_EQ(set_key(&reordering, "network.reorder", "0.1"), "");
  EXPECT_EQ(check_calls(reordering), "");
  EXPECT_EQ(set_key(&reordering, "network.reorder_keys", "true"), "");
  EXPECT_THAT(check_calls(reordering), HasSubstr("reorders packets of a connection"));
}

TEST(Calls, AreTheSameEachTime) {
  Pairs open = {{"calls.load", "open"}, {"calls.rate", "5"}, {"calls.clients", "2"}};
  EXPECT_EQ(run_of("dagger", open).bytes(), run_of("dagger", open).bytes());
}

TEST(Calls, MessagesOfSeveralLinesArriveWhole) {
  CallResult result =
      run_of("dagger", {{"calls.request", "200"}, {"calls.response", "1000"}, {"calls.outstanding", "4"}});
  EXPECT_GT(result.checked, 20u);
  EXPECT_EQ(figure(result, 0, "tx_lines"), result.checked * 5);
  EXPECT_EQ(figure(result, 0, "rx_lines"), result.checked * 21);
}

// Each run checks by itself that every call is served once and answered once, by its own response.
TEST(Calls, ABadNetworkLosesDoublesAndCrossesNoneOfTheReliableTransport) {
  uint32_t seed = 0;
  for (std::string loss : {"0.01", "0.1"}) {
    for (std::string interface : {"coherent", "doorbell", "mmio", "cxl"}) {
      SCOPED_TRACE(interface + ", loss " + loss);
      ++seed;
      CallResult result = run_of("dagger-lossy", {{"network.loss", loss},
                                                  {"network.reorder", seed % 2 == 0 ? "0.2" : "0.02"},
                                                  {"network.seed", std::to_string(seed)},
                                                  {"calls.seed", std::to_string(seed)},
                                                  {"calls.clients", std::to_string(1 + seed % 3)},
                                                  {"calls.servers", std::to_string(1 + seed % 2)},
                                                  {"calls.request", seed % 3 == 0 ? "300" : "48"},
                                                  {"line_nic.interface", interface}});
      EXPECT_EQ(result.lost, 0u);
      EXPECT_GT(result.checked, 20u);
      EXPECT_GT(result.network.lost, 0u);
      EXPECT_GT(figure(result, 0, "tx_again") + figure(result, 1, "tx_again"), 0u);
      EXPECT_EQ(figure(result, 0, "deaths") + figure(result, 1, "deaths"), 0u);
    }
  }
}

TEST(Calls, ConnectionsBeyondTheNicsTableAreServedFromHostMemory) {
  CallResult result = run_of("dagger", {{"calls.connections", "150"}, {"calls.clients", "2"}, {"calls.time", "100us"}});
  EXPECT_EQ(result.lost, 0u);
  EXPECT_GT(result.checked, 300u);
  EXPECT_GT(figure(result, 0, "misses"), 0u);
  EXPECT_GT(figure(result, 1, "evictions"), 0u);
}

TEST(Calls, ConnectionsOfAClientShareItsFlow) {
  CallResult one = run_of("dagger"), ten = run_of("dagger", {{"calls.connections", "10"}});
  EXPECT_NEAR(ten.throughput(), one.throughput(), 0.05 * one.throughput());
}

TEST(Calls, ACallThatIsLostExpires) {
  CallResult result = run_of("dagger", {{"line_nic.transport", "udp"},
                                        {"network.loss", "0.01"},
                                        {"calls.timeout", "20us"},
                                        {"calls.outstanding", "16"}});
  EXPECT_GT(result.lost, 0u);
  EXPECT_GT(result.checked, 20 * result.lost);
  EXPECT_LE(result.lost, result.network.lost);
}

TEST(Calls, OfALongerMessageAMissingLineLosesTheCallAlone) {
  for (std::string keys : {"true", "false"}) {
    CallResult result = run_of("dagger", {{"line_nic.transport", "udp"},
                                          {"network.loss", "0.005"},
                                          {"network.reorder", "0.01"},
                                          {"network.reorder_keys", keys},
                                          {"calls.request", "200"},
                                          {"calls.response", "300"},
                                          {"calls.timeout", "30us"},
                                          {"calls.outstanding", "8"}});
    EXPECT_GT(result.lost, 0u);
    EXPECT_GT(result.checked, result.lost);
  }
}

TEST(Calls, ThreadsAddUpUntilTheEndpointIsTheLimit) {
  auto threads = [](const std::string& count, const std::string& interval) {
    return run_of("dagger", {{"calls.clients", count}, {"calls.servers", count}, {"coherent.interval", interval}})
        .throughput();
  };
  double one = threads("1", "11900ps");
  EXPECT_NEAR(threads("2", "11900ps"), 2 * one, 0.1 * one);
  EXPECT_LT(threads("4", "11900ps"), 3.6 * one);
  EXPECT_NEAR(threads("4", "0ns"), 4 * one, 0.1 * one);
}

TEST(Calls, RequestsGoToServersByThePolicy) {
  for (std::string policy : {"round-robin", "key"}) {
    CallResult result = run_of(
        "dagger",
        {{"calls.clients", "1"}, {"calls.servers", "4"}, {"calls.outstanding", "32"}, {"line_nic.balance", policy}});
    for (const CoreResult& core : result.cores) {
      EXPECT_GT(core.spent[static_cast<size_t>(Work::kTake)], result.measured / 200) << policy << " " << core.name;
    }
  }
}

// Lines that each server took in the measured time, four of them, with one client.
std::vector<uint64_t> taken_by_servers(const Pairs& keys) {
  Pairs all = {{"calls.clients", "1"}, {"calls.servers", "4"}, {"calls.outstanding", "32"}};
  all.insert(all.end(), keys.begin(), keys.end());
  System system = system_named("dagger", all);
  std::vector<uint64_t> taken;
  CallResult result = run_calls(system);
  EXPECT_EQ(result.error, "");
  for (const CoreResult& core : result.cores) {
    if (core.name.starts_with("server"))
      taken.push_back(core.spent[static_cast<size_t>(Work::kTake)] / system.platform.cores.take);
  }
  return taken;
}

TEST(Calls, RoundRobinGivesEachServerTheSame) {
  std::vector<uint64_t> taken = taken_by_servers({{"line_nic.balance", "round-robin"}});
  ASSERT_EQ(taken.size(), 4u);
  auto [least, most] = std::ranges::minmax(taken);
  EXPECT_GT(least, 50u);
  EXPECT_LE(most - least, 1 + most / 50);
}

TEST(Calls, AKeyHasOneServerAndManyKeysHaveAll) {
  // The key: bytes of the call's number that are the client's, which are the same in all its calls.
  std::vector<uint64_t> one =
      taken_by_servers({{"line_nic.balance", "key"}, {"line_nic.key_offset", "5"}, {"line_nic.key_length", "3"}});
  uint8_t arguments[kLineArguments] = {};  // of client 0
  uint32_t server = rtl::nic_key_flow(arguments, {.offset = 5, .length = 3}, 4);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(one[i] > 0, i == server) << i;
  // And the whole number: each call has a key of its own.
  std::vector<uint64_t> all = taken_by_servers({{"line_nic.balance", "key"}, {"line_nic.key_length", "8"}});
  uint64_t sum = std::accumulate(all.begin(), all.end(), uint64_t{0});
  for (uint64_t taken : all) EXPECT_NEAR(taken, sum / 4, sum / 16);
}

// Each run checks by itself that every call is served once and answered once, by its own response.
TEST(Calls, ChangesOfTheConfigurationLoseNothing) {
  for (std::string interface : {"coherent", "doorbell", "mmio", "cxl"}) {
    for (std::string policy : {"connection", "round-robin", "key"}) {
      SCOPED_TRACE(interface + ", " + policy);
      CallResult result = run_of("dagger-lossy", {{"line_nic.change_every", "300ns"},
                                                  {"line_nic.interface", interface},
                                                  {"line_nic.balance", policy},
                                                  {"calls.clients", "2"},
                                                  {"calls.servers", "3"},
                                                  {"calls.request", policy == "key" ? "48" : "200"}});
      EXPECT_EQ(result.lost, 0u);
      EXPECT_GT(result.checked, 20u);
      EXPECT_GT(figure(result, 0, "changes"), 100u);
    }
  }
}

TEST(Calls, ACoreDoesNothingTwiceAtOnce) {
  CallResult result =
      run_of("dagger", {{"calls.clients", "2"}, {"calls.outstanding", "32"}, {"cores.handler", "100ns"}});
  for (const CoreResult& core : result.cores) {
    Time sum = std::accumulate(core.spent.begin(), core.spent.end(), Time{0});
    EXPECT_LE(sum, result.measured + 300 * kNanosecond) << core.name;
    EXPECT_GT(sum, result.measured * 98 / 100) << core.name;
  }
  EXPECT_LE(result.throughput(), 1000 / 178.5 * 1.02) << "a server's handler and its port";
}

TEST(Calls, OpenLoopLatencyCountsFromTheIntendedTime) {
  CallResult light = run_of("dagger", {{"calls.load", "open"}, {"calls.rate", "2"}});
  CallResult heavy = run_of("dagger", {{"calls.load", "open"}, {"calls.rate", "20"}});
  EXPECT_LT(light.quantile_us(0.99), 5);
  EXPECT_GT(heavy.quantile_us(0.5), 5) << "calls wait at the client";
  EXPECT_GT(heavy.waiting, heavy.offered / 10);
}

TEST(Calls, ACurveFindsWhereTheSystemSaturates) {
  size_t runs = 0;
  Curve curve = call_curve(system_named("dagger"), 4, 2, [&](size_t) { ++runs; });
  ASSERT_EQ(curve.error, "");
  EXPECT_GE(runs, 4u);
  EXPECT_GT(curve.saturation, 0.75 * curve.closed.throughput());
  EXPECT_LT(curve.saturation, 1.1 * curve.closed.throughput());
  EXPECT_THAT(curve_table(system_named("dagger"), curve), HasSubstr("saturation"));
}

TEST(Calls, AReportSaysWhereTheCostsComeFrom) {
  System system = system_named("dagger");
  CallResult result = run_calls(system);
  EXPECT_THAT(call_table(system, result), HasSubstr("core costs: the Dagger paper's figure 5"));
  EXPECT_THAT(call_json(system, result), HasSubstr("\"p99_us\""));
}

TEST(Calls, WhatCannotBeRunIsNamed) {
  System rpcnic = load_system("rpcnic").system;
  EXPECT_THAT(check_calls(rpcnic), HasSubstr("system for messages"));
  System dagger = load_system("dagger").system;
  set_key(&dagger, "network.loss", "0.5");
  EXPECT_EQ(check_calls(dagger), "");
  set_key(&dagger, "line_nic.transport", "udp");
  EXPECT_THAT(check_calls(dagger), HasSubstr("calls.timeout"));
  set_key(&dagger, "line_nic.interface", "mmio");
  EXPECT_THAT(check_calls(dagger), HasSubstr("calls.timeout"));
  System synchronous = load_system("dagger-synchronous").system;
  EXPECT_EQ(check_calls(synchronous), "");
  set_key(&synchronous, "calls.clients", "4");
  EXPECT_THAT(check_calls(synchronous), HasSubstr("line_nic.ring_lines is at least 512"));
  set_key(&synchronous, "calls.servers", "4");
  EXPECT_EQ(check_calls(synchronous), "");
  set_key(&synchronous, "line_nic.balance", "round-robin");
  EXPECT_THAT(check_calls(synchronous), HasSubstr("line_nic.ring_lines is at least 512"));
  set_key(&synchronous, "line_nic.ring_lines", "512");
  EXPECT_EQ(check_calls(synchronous), "");
  set_key(&synchronous, "calls.timeout", "10us");
  EXPECT_THAT(check_calls(synchronous), HasSubstr("gives up no call"));
  set_key(&synchronous, "calls.clients", "1");
  set_key(&synchronous, "line_nic.transport", "udp");
  EXPECT_EQ(check_calls(synchronous), "");
  set_key(&synchronous, "calls.timeout", "0us");
  EXPECT_THAT(check_calls(synchronous), HasSubstr("needs a calls.timeout"));
  set_key(&synchronous, "line_nic.transport", "reliable");
  set_key(&synchronous, "line_nic.interface", "mmio");
  EXPECT_THAT(check_calls(synchronous), HasSubstr("windows of this interface hold 32"));
  set_key(&synchronous, "calls.outstanding", "32");
  EXPECT_EQ(check_calls(synchronous), "");
  System objects = load_system("dagger-objects").system;
  set_key(&objects, "line_nic.transport", "udp");
  EXPECT_THAT(check_calls(objects), HasSubstr("line_nic.transport = reliable"));
  set_key(&objects, "line_nic.transport", "reliable");
  set_key(&objects, "calls.clients", "5");
  EXPECT_THAT(check_calls(objects), HasSubstr("4 flows"));
  set_key(&objects, "calls.clients", "1");
  EXPECT_EQ(check_calls(objects), "");
  set_key(&objects, "calls.messages", "like9");
  EXPECT_THAT(run_calls(objects).error, HasSubstr("no group like9"));
  set_key(&dagger, "line_nic.transport", "reliable");
  set_key(&dagger, "line_nic.balance", "key");
  set_key(&dagger, "calls.connections", "65");
  set_key(&dagger, "calls.request", "49");
  EXPECT_THAT(check_calls(dagger), HasSubstr("64 connections"));
  set_key(&dagger, "calls.connections", "65536");
  EXPECT_EQ(check_calls(dagger).find("65536"), std::string::npos);
  set_key(&dagger, "calls.clients", "2");
  EXPECT_THAT(check_calls(dagger), HasSubstr("65536"));
  set_key(&dagger, "calls.connections", "1");
  set_key(&dagger, "line_nic.balance", "connection");
  set_key(&dagger, "network.loss", "0");
  set_key(&dagger, "calls.clients", "64");
  EXPECT_THAT(check_calls(dagger), HasSubstr("16 flows"));
}

// Each object is compared with the software decoder's, at the server and at the client.
TEST(Calls, ObjectsAreTheSoftwareDecodersAtBothEnds) {
  const Pairs walked = {}, streams = {{"serializer.mode", "memory-affinity"}},
              fields = {{"deserializer.one_shot", "false"},
                        {"objects.protoacc", "true"},
                        {"serializer.one_piece", "false"}},
              synchronous = {{"line_nic.threading", "synchronous"}, {"calls.outstanding", "8"}};
  for (const Pairs& keys : {walked, streams, fields, synchronous}) {
    CallResult result = run_of("dagger-objects", keys);
    EXPECT_GT(result.checked, 20u);
    for (size_t host : {0, 1}) {
      EXPECT_EQ(figure(result, host, "deserialized"), result.checked);
      EXPECT_EQ(figure(result, host, "serialized"), result.checked);
      EXPECT_EQ(figure(result, host, "received_left_to_software"), 0u);
    }
  }
}

TEST(Calls, ObjectsCrossABadNetwork) {
  CallResult result = run_of("dagger-objects", {{"network.kind", "switch"},
                                                {"network.delay", "300ns"},
                                                {"network.loss", "0.02"},
                                                {"network.reorder", "0.05"},
                                                {"network.reorder_keys", "true"},
                                                {"calls.clients", "3"},
                                                {"calls.servers", "2"}});
  EXPECT_GT(result.checked, 20u);
  EXPECT_EQ(result.lost, 0u);
  EXPECT_GT(result.network.lost, 0u);
}

TEST(Calls, MessagesWithoutACodecInTheNicAreTheCoresWork) {
  CallResult result = run_of("dagger", {{"calls.messages", "like1"}, {"calls.cut", "64"}, {"calls.outstanding", "16"}});
  EXPECT_GT(result.checked, 20u);
  EXPECT_GT(result.cores[0].spent[static_cast<size_t>(Work::kCodec)], 0u);
  EXPECT_GT(result.cores[1].spent[static_cast<size_t>(Work::kCodec)], 0u);
}

TEST(CallResult, CrossesAPipe) {
  CallResult result;
  result.latencies = {1, 2, 3};
  result.cores.push_back({"client 0", {1, 2}});
  result.engines.push_back({"NIC", {{"tx_lines", 7}}, {}});
  std::string bytes = result.bytes();
  EXPECT_EQ(CallResult::parse(bytes).bytes(), bytes);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(CallResult::parse(bytes.substr(0, size)).ok());
}

TEST(CallContent, AMessageIsItsOwn) {
  std::vector<std::byte> bytes(48);
  fill_message(5, false, &bytes);
  uint64_t id = 0;
  EXPECT_TRUE(check_message(bytes, false, &id));
  EXPECT_EQ(id, 5u);
  EXPECT_FALSE(check_message(bytes, true, &id)) << "a request is no response";
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> changed = bytes;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(check_message(changed, false, &id)) << i;
  }
}

}  // namespace
}  // namespace drover::sim
