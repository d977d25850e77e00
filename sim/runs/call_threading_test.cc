// Runs of calls with the threading models, transports and balances of line_nic that ask something of the hosts: how
// rings are freed without positions, how calls end that lost a packet, and whose calls must not overtake each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/runs/calls_testing.h"
#include "sim/runs/kv_programs.h"

namespace drover::sim {
namespace {

using ::testing::HasSubstr;

const std::string kInterfaces[] = {"mmio", "doorbell", "coherent", "cxl"};

// Each run checks by itself that every call is served once and answered once, by its own response.
TEST(Calls, WithSynchronousThreadingTheNicsPublishNothingAndNoCallIsLost) {
  const Pairs lines_kv = {{"calls.program", "lines_kv"}, {"calls.clients", "2"}, {"calls.outstanding", "8"}},
              bad_network = {{"network.loss", "0.02"}, {"network.reorder", "0.05"}, {"network.reorder_keys", "true"}},
              // Rings that go round many times, messages of several lines, connections that take turns.
      small_rings = {{"line_nic.ring_lines", "64"}, {"calls.clients", "2"},    {"calls.connections", "2"},
                     {"calls.request", "200"},      {"calls.response", "300"}, {"calls.outstanding", "2"}},
              one_at_a_time = {{"calls.outstanding", "1"}},
              // No server is ever asked twice in a row for a place of the window.
      in_turn = {{"calls.outstanding", "1"},
                 {"calls.servers", "2"},
                 {"line_nic.balance", "round-robin"},
                 {"line_nic.ring_lines", "16"}};
  for (const Pairs& keys : {Pairs{}, lines_kv, bad_network, small_rings, one_at_a_time, in_turn}) {
    CallResult result = run_of("dagger-synchronous", keys);
    EXPECT_GT(result.checked, 20u);
    EXPECT_EQ(result.lost, 0u);
    for (size_t host : {0, 1}) EXPECT_EQ(figure(result, host, "positions_written"), 0u);
  }
  CallResult asynchronous = run_of("dagger");
  EXPECT_GT(figure(asynchronous, 0, "positions_written"), 0u);
  EXPECT_NEAR(run_of("dagger-synchronous").throughput(), asynchronous.throughput(), 0.1 * asynchronous.throughput());
}

// Calls of a window, not only one at a time, free the rings, which go round many times.
TEST(Calls, ANicWithObjectsServesAWindowOfCallsWithSynchronousThreading) {
  const Pairs small_ring = {{"line_nic.ring_lines", "16"}}, mmio = {{"line_nic.interface", "mmio"}};
  for (Pairs keys : {small_ring, mmio}) {
    SCOPED_TRACE(keys[0].first);
    keys.insert(keys.end(), {{"calls.outstanding", "8"}, {"calls.time", "80us"}});
    CallResult asynchronous = run_of("dagger-objects", keys);
    keys.emplace_back("line_nic.threading", "synchronous");
    CallResult synchronous = run_of("dagger-objects", keys);
    EXPECT_GT(synchronous.checked, 20u);
    EXPECT_GT(synchronous.throughput(), 0.8 * asynchronous.throughput());
    for (size_t host : {0, 1}) {
      EXPECT_GT(figure(asynchronous, host, "positions_written"), 0u);
      EXPECT_EQ(figure(synchronous, host, "positions_written"), 0u);
    }
  }
}

TEST(Calls, ARequestOfMoreLinesThanATxRingIsRefused) {
  for (const std::string system : {"dagger", "dagger-synchronous"}) {
    SCOPED_TRACE(system);
    System calls = system_named(system, {{"calls.outstanding", "1"}, {"calls.request", "2000"}});
    for (const std::string interface : {"mmio", "cxl"}) {
      EXPECT_EQ(set_key(&calls, "line_nic.interface", interface), "");
      EXPECT_THAT(check_calls(calls), HasSubstr("calls.request is 42 lines, and a TX ring holds 32"));
    }
    EXPECT_EQ(set_key(&calls, "calls.request", "1536"), "");
    EXPECT_EQ(check_calls(calls), "");
    EXPECT_EQ(set_key(&calls, "line_nic.interface", "doorbell"), "");
    EXPECT_EQ(set_key(&calls, "line_nic.ring_lines", "16"), "");
    EXPECT_THAT(check_calls(calls), HasSubstr("(line_nic.ring_lines)"));
  }
}

// Messages of the workload that would not fit are left out.
TEST(Calls, MessagesThatTheCoresEncodeFitATxRing) {
  Pairs keys = {{"calls.messages", "like1"}, {"calls.cut", "64"}, {"calls.outstanding", "4"}};
  CallResult ring = run_of("dagger", keys);
  keys.emplace_back("line_nic.interface", "mmio");
  CallResult window = run_of("dagger", keys);
  EXPECT_GE(window.messages_left_out, ring.messages_left_out);
  EXPECT_GT(window.checked, 5u);
}

// The rings of mmio and cxl are the NIC's windows of 32 lines.
TEST(Calls, SynchronousThreadingServesEveryInterface) {
  const Pairs lines_kv = {{"calls.program", "lines_kv"}, {"calls.outstanding", "2"}},
              batches = {{"calls.outstanding", "16"}, {"line_nic.batch", "4"}},
              bad_network = {{"calls.clients", "2"},           {"calls.outstanding", "4"}, {"calls.request", "100"},
                             {"calls.response", "160"},        {"network.loss", "0.02"},   {"network.reorder", "0.05"},
                             {"network.reorder_keys", "true"}, {"calls.servers", "2"}};
  for (const std::string& interface : kInterfaces) {
    for (Pairs keys : {lines_kv, batches, bad_network}) {
      SCOPED_TRACE(interface + ", " + keys[0].first);
      keys.emplace_back("line_nic.interface", interface);
      CallResult result = run_of("dagger-synchronous", keys);
      EXPECT_GT(result.checked, 10u);
      EXPECT_EQ(result.lost, 0u);
      for (size_t host : {0, 1}) {
        EXPECT_EQ(figure(result, host, "positions_written"), 0u);
        EXPECT_EQ(figure(result, host, "tx_no_room"), 0u);
      }
    }
  }
}

// A call that lost a packet ends in DEADLINE_EXCEEDED at its time-out, and no other one.
TEST(Calls, OverUdpSynchronousAndAsynchronousCallsEndAtTheirTimeOutOnEveryInterface) {
  for (const std::string& interface : kInterfaces) {
    for (std::string threading : {"synchronous", "asynchronous"}) {
      for (std::string program : {"test", "lines_kv"}) {
        SCOPED_TRACE(interface + ", " + threading + ", " + program);
        CallResult result = run_of("dagger-synchronous", {{"line_nic.interface", interface},
                                                          {"line_nic.threading", threading},
                                                          {"line_nic.transport", "udp"},
                                                          {"calls.program", program},
                                                          {"calls.outstanding", "2"},
                                                          {"calls.timeout", "10us"},
                                                          {"calls.time", "150us"},
                                                          {"network.loss", "0.02"}});
        EXPECT_GT(result.lost, 0u);
        EXPECT_LE(result.lost, result.network.lost);
        EXPECT_GT(result.checked, result.lost);
      }
    }
  }
}

TEST(Calls, ARingDoesNotBeginAnewBeforeItsCallsHaveEnded) {
  System calls = system_named("dagger-synchronous",
                              {{"line_nic.transport", "udp"}, {"calls.timeout", "10us"}, {"calls.outstanding", "8"}});
  for (const std::string reclaim : {"9us", "10us"}) {
    EXPECT_EQ(set_key(&calls, "line_nic.reclaim", reclaim), "");
    EXPECT_THAT(check_calls(calls), HasSubstr("needs a line_nic.reclaim that is longer than calls.timeout"));
  }
  EXPECT_EQ(set_key(&calls, "line_nic.reclaim", "11us"), "");
  EXPECT_EQ(check_calls(calls), "");
  EXPECT_EQ(set_key(&calls, "line_nic.reclaim", "1us"), "");
  EXPECT_EQ(set_key(&calls, "line_nic.threading", "asynchronous"), "");
  EXPECT_EQ(check_calls(calls), "") << "the NIC frees its rings";
}

// Almost nothing comes back that would free a ring's lines; every call ends all the same.
TEST(Calls, OverUdpRingsWhoseAnswersAreLostBeginAnew) {
  for (const std::string& interface : kInterfaces) {
    SCOPED_TRACE(interface);
    CallResult result = run_of("dagger-synchronous", {{"line_nic.interface", interface},
                                                      {"line_nic.transport", "udp"},
                                                      {"line_nic.ring_lines", "32"},
                                                      {"line_nic.reclaim", "15us"},
                                                      {"calls.outstanding", "16"},
                                                      {"calls.timeout", "10us"},
                                                      {"calls.time", "150us"},
                                                      {"network.loss", "0.98"}});
    EXPECT_GT(result.lost, 50u);
    EXPECT_GT(figure(result, 0, "tx_rings_begun_anew"), 0u);
  }
}

// One key's calls are one server's, so that none overtakes another; the client checks each value.
TEST(Calls, TheKeyValueServiceKeepsTheOrderOfAKeysCallsOverManyServers) {
  const Pairs shape = {{"calls.program", "lines_kv"}, {"calls.clients", "2"},  {"calls.servers", "4"},
                       {"calls.outstanding", "64"},   {"calls.time", "100us"}, {"line_nic.key_length", "16"}};
  Pairs by_key = shape;
  by_key.emplace_back("line_nic.balance", "key");
  CallResult result = run_of("dagger", by_key);
  EXPECT_GT(result.checked, 100u);
  for (const CoreResult& core : result.cores) {
    EXPECT_GT(core.spent[static_cast<size_t>(Work::kHandler)] + core.spent[static_cast<size_t>(Work::kTake)], 0u)
        << core.name;
  }
  System by_turns = system_named("dagger", shape);
  EXPECT_EQ(set_key(&by_turns, "line_nic.balance", "round-robin"), "");
  EXPECT_THAT(check_calls(by_turns), HasSubstr("round-robin gives them to different servers"));
  set_key(&by_turns, "calls.servers", "1");
  EXPECT_EQ(check_calls(by_turns), "");
  System other_bytes = system_named("dagger", by_key);
  set_key(&other_bytes, "line_nic.key_length", "17");
  EXPECT_THAT(check_calls(other_bytes), HasSubstr("16 bytes from 0"));
  set_key(&other_bytes, "line_nic.key_offset", "1");
  set_key(&other_bytes, "line_nic.key_length", "15");
  EXPECT_EQ(check_calls(other_bytes), "");
  set_key(&other_bytes, "line_nic.change_every", "1us");
  EXPECT_THAT(check_calls(other_bytes), HasSubstr("line_nic.change_every"));
}

TEST(KeyValue, TheKeyIsTheSameBytesOfAGetAndASet) {
  lines_kv::GetRequestFixed get;
  lines_kv::SetRequestFixed set, other;
  ASSERT_TRUE(get.set_key("short") && set.set_key("a longer key") && set.set_key("short") && set.set_value("value"));
  ASSERT_TRUE(other.set_key("shirt") && other.set_value("value"));
  auto key_of = [](const auto& message) {
    const auto* bytes = reinterpret_cast<const char*>(&message);
    return std::string(bytes + kKeyValueKey.offset, kKeyValueKey.length);
  };
  EXPECT_EQ(key_of(get), key_of(set));
  EXPECT_NE(key_of(set), key_of(other));
  EXPECT_THAT(key_of(get), HasSubstr("short"));
}

}  // namespace
}  // namespace drover::sim
