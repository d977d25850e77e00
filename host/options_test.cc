#include "host/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace drover::host {
namespace {

TEST(CpuList, ReadsNumbersAndRanges) {
  std::vector<int> cpus;
  EXPECT_TRUE(parse_cpu_list("0", &cpus));
  EXPECT_EQ(cpus, (std::vector<int>{0}));
  EXPECT_TRUE(parse_cpu_list("2-4,0,3", &cpus));
  EXPECT_EQ(cpus, (std::vector<int>{0, 2, 3, 4}));
}

TEST(CpuList, RefusesAnythingElse) {
  std::vector<int> cpus;
  for (const char* text : {"", "a", "1-", "-1", "3-1", "0,", ",0", "0;1", "99999", "1 2"}) {
    EXPECT_FALSE(parse_cpu_list(text, &cpus)) << text;
  }
}

TEST(HostOptions, AWrongValueIsAnErrorThatNamesTheVariable) {
  for (const char* name : {"DROVER_WORKERS", "DROVER_MAX_THREADS", "DROVER_SPIN_US", "DROVER_HOST_CPUS"}) {
    ::setenv(name, "many", 1);
    std::string error;
    EXPECT_FALSE(HostOptions::from_environment(&error));
    EXPECT_NE(error.find(name), std::string::npos) << error;
    ::unsetenv(name);
  }
}

TEST(HostOptions, AnEngineIsNamedByAUnixAddress) {
  for (const char* address : {"/run/drover.sock", "@drover", "127.0.0.1:9000"}) {
    ::setenv("DROVER_ENGINE", address, 1);
    std::string error;
    EXPECT_FALSE(HostOptions::from_environment(&error)) << address;
    EXPECT_NE(error.find("DROVER_ENGINE: \"" + std::string(address)), std::string::npos) << error;
    EXPECT_NE(error.find("expected unix:PATH"), std::string::npos) << error;
  }
  ::unsetenv("DROVER_ENGINE");
}

TEST(HostOptions, ReadsBytesWithTheirUnit) {
  const struct {
    const char* text;
    uint64_t bytes;
  } cases[] = {{"65536", 65536}, {"100KiB", 100 << 10}, {"3MiB", 3 << 20}, {"64GiB", uint64_t{64} << 30}};
  for (const auto& one : cases) {
    ::setenv("DROVER_RX_BYTES", one.text, 1);
    ::setenv("DROVER_TX_BYTES", one.text, 1);
    std::string error;
    auto options = HostOptions::from_environment(&error);
    ASSERT_TRUE(options) << error;
    EXPECT_EQ(options->rx_bytes, one.bytes);
    EXPECT_EQ(options->tx_bytes, one.bytes);
  }
  ::unsetenv("DROVER_TX_BYTES");
  for (const char* text : {"0", "-1", "MiB", "1MB", "1 MiB", "65GiB", "99999999999999999999", "17179869185GiB"}) {
    ::setenv("DROVER_RX_BYTES", text, 1);
    std::string error;
    EXPECT_FALSE(HostOptions::from_environment(&error)) << text;
    EXPECT_NE(error.find("DROVER_RX_BYTES: \"" + std::string(text)), std::string::npos) << error;
  }
  ::unsetenv("DROVER_RX_BYTES");
}

TEST(HostOptions, ReadsTheEnvironment) {
  ::setenv("DROVER_WORKERS", "3", 1);
  ::setenv("DROVER_SPIN_US", "7", 1);
  ::setenv("DROVER_ENGINE", "unix:/x", 1);
  ::setenv("DROVER_HOST_CHECK_REQUESTS", "1", 1);
  ::setenv("DROVER_HOST_NAME", "shop-1", 1);
  std::string error;
  auto options = HostOptions::from_environment(&error);
  ASSERT_TRUE(options) << error;
  EXPECT_EQ(options->workers, 3u);
  EXPECT_EQ(options->spin_ns, 7000);
  EXPECT_EQ(options->engine, "unix:/x");
  EXPECT_TRUE(options->check_requests);
  EXPECT_EQ(options->name, "shop-1");
  for (const char* name :
       {"DROVER_WORKERS", "DROVER_SPIN_US", "DROVER_ENGINE", "DROVER_HOST_CHECK_REQUESTS", "DROVER_HOST_NAME"}) {
    ::unsetenv(name);
  }
  EXPECT_FALSE(HostOptions::from_environment(&error)->check_requests);
}

}  // namespace
}  // namespace drover::host
