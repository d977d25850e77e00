#include "host/engine_facts.h"

#include <gtest/gtest.h>

namespace drover::host {
namespace {

const std::string kA(64, 'a'), kB(64, 'b'), kC(64, 'c');

Description engine() {
  return {kEngineIsChild | kEngineTakesLog, "0.1.0", kA, kB, "/etc/orders.toml", "", 1'790'000'000};
}

TEST(EngineFacts, AFingerprintIsReadAsItIsPrinted) {
  auto read = parse_fingerprint("build=" + kA + " config=" + kB + "\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->build, kA);
  EXPECT_EQ(read->config, kB);
  for (const std::string& wrong :
       {std::string(), "build=" + kA, "build=" + kA + " config=" + kB, "build=" + kA + " config=" + kB + "c\n",
        "build= config=" + kB + "\n", std::string("droverd: unknown flag\n"),
        "build=" + kA + " config=" + std::string(64, 'g') + "\n"}) {
    EXPECT_FALSE(parse_fingerprint(wrong)) << wrong;
  }
}

TEST(EngineFacts, TheSameEngineDoesNotDiffer) {
  const EngineFingerprint own{kA, kB};
  bool differs = true;
  EXPECT_EQ(describe_engine(engine(), 4711, &own, &differs),
            "engine process 4711 runs droverd 0.1.0 (build aaaaaaaaaaaa) since 2026-09-21T14:13:20Z on configuration "
            "file /etc/orders.toml (digest bbbbbbbbbbbb); its log goes to the stderr of this process");
  EXPECT_FALSE(differs);
  describe_engine(engine(), 4711, nullptr, &differs);
  EXPECT_FALSE(differs);
}

TEST(EngineFacts, WhatDiffersIsNamed) {
  bool differs = false;
  const EngineFingerprint other_config{kA, kC}, other_build{kC, kB}, both{kC, kC};
  EXPECT_NE(describe_engine(engine(), 1, &other_config, &differs)
                .find("this process would start one with configuration digest cccccccccccc;"),
            std::string::npos);
  EXPECT_TRUE(differs);
  EXPECT_NE(describe_engine(engine(), 1, &other_build, &differs)
                .find("this process would start one with build cccccccccccc;"),
            std::string::npos);
  EXPECT_TRUE(differs);
  EXPECT_NE(describe_engine(engine(), 1, &both, &differs)
                .find("with build cccccccccccc and configuration digest cccccccccccc;"),
            std::string::npos);
}

TEST(EngineFacts, TheEnginesTextsDoNotReachATerminalAsTheyAre) {
  Description hostile = engine();
  hostile.version = hostile.build = hostile.config = hostile.config_file = hostile.log_file = "\x1b[2J\n";
  hostile.started = UINT64_MAX;
  bool differs = false;
  for (char c : describe_engine(hostile, 1, nullptr, &differs)) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
}

}  // namespace
}  // namespace drover::host
