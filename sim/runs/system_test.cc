#include "sim/runs/system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace drover::sim {
namespace {

using ::testing::HasSubstr;

TEST(Systems, AllThatAreCompiledInLoadUnderTheirName) {
  ASSERT_GE(built_in_systems().size(), 2u);
  for (const BuiltInSystem& system : built_in_systems()) {
    SystemResult loaded = load_system(std::string(system.name));
    ASSERT_TRUE(loaded.ok()) << loaded.error;
    EXPECT_EQ(loaded.system.name, system.name);
    EXPECT_FALSE(loaded.system.description.empty()) << system.name;
  }
}

TEST(Systems, RpcnicIsAsThePaperHasIt) {
  System system = load_system("rpcnic").system;
  EXPECT_EQ(system.engine, "rtl");
  EXPECT_EQ(get_key(system, "engine.clock"), "250MHz");
  EXPECT_EQ(system.platform.links.link.one_way, 625 * kNanosecond);
  EXPECT_DOUBLE_EQ(system.platform.links.link.bandwidth, 12.8e9);
  EXPECT_TRUE(system.platform.handover.one_shot);
  EXPECT_EQ(system.platform.handover.send, SendMode::kMemoryAffinity);
}

TEST(Systems, EveryKeysDefaultIsAValueOfIt) {
  for (const SystemKey& key : system_keys()) {
    System system;
    EXPECT_EQ(set_key(&system, key.name, key.value), "") << key.name;
    EXPECT_EQ(get_key(system, key.name), key.value);
    EXPECT_FALSE(key.meaning.empty());
  }
}

TEST(Systems, NoKeyStandsForTwoThings) {
  std::set<std::string> names;
  for (const SystemKey& key : system_keys()) EXPECT_TRUE(names.insert(key.name).second) << key.name;
}

TEST(Systems, AnUnknownNameIsAnErrorThatSaysWhatThereIs) {
  SystemResult result = load_system("rpc-nic");
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.error, HasSubstr("rpcnic"));
  EXPECT_THAT(result.error, HasSubstr("cpu-only"));
}

TEST(Systems, AnUnknownKeyIsAnErrorThatSaysWhatThereIs) {
  System system;
  EXPECT_THAT(set_key(&system, "link.latencies", "1ns"), HasSubstr("link.latency"));
  EXPECT_THAT(set_key(&system, "colour", "red"), HasSubstr("link.*"));
  EXPECT_THAT(set_key(&system, "link.latency", "70"), HasSubstr("\"70\" is no value of link.latency"));
  EXPECT_THAT(set_key(&system, "engine.kind", "fpga"), HasSubstr("cores"));
}

TEST(Systems, AFilesErrorsNameTheLine) {
  EXPECT_THAT(parse_system("name = \"x\"\n[link]\nlatency = \"fast\"\n", "x.toml").error, HasSubstr("x.toml, line 3"));
  EXPECT_THAT(parse_system("name = \n", "x.toml").error, HasSubstr("x.toml, line 1"));
  EXPECT_THAT(parse_system("[link]\nheader = 24\n", "x.toml").error, HasSubstr("name"));
  EXPECT_THAT(parse_system("name = \"x\"\nlink.header = [1]\n", "x.toml").error, HasSubstr("link.header"));
}

}  // namespace
}  // namespace drover::sim
