#include "host/attachment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "host/listen_address.h"
#include "host/start_lock.h"

namespace drover::host {
namespace {

using testing::HasSubstr;

TEST(Attachment, WaitingForAnAbsentEngineSaysWhereHowLongAndWhatToDo) {
  Offer offer;
  std::string address = "unix:/tmp/drover-absent-" + std::to_string(::getpid()) + ".sock";
  offer.options.engine = address;
  offer.options.engine_wait_ns = 50'000'000;
  std::vector<uint32_t> ports;
  AttachError error;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Attachment::open(offer, &ports, &error), nullptr);
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("cannot connect to " + address + ": No such file or directory"));
  EXPECT_THAT(said, HasSubstr("waiting up to 0.05 s"));
  EXPECT_THAT(said, HasSubstr("droverd --engine.control_socket=" + address));
  EXPECT_THAT(said, HasSubstr("unset DROVER_ENGINE"));
  EXPECT_THAT(error.message, HasSubstr("cannot attach to the engine at " + address));
}

TEST(Attachment, WaitingEndsWhenTheProcessGivesUp) {
  Offer offer;
  offer.options.engine = "unix:/tmp/drover-absent-" + std::to_string(::getpid()) + ".sock";
  offer.options.engine_wait_ns = 60'000'000'000;
  std::vector<uint32_t> ports;
  AttachError error;
  int asked = 0;
  EXPECT_EQ(Attachment::open(offer, &ports, &error, [&] { return ++asked == 3; }), nullptr);
  EXPECT_EQ(asked, 3);
}

TEST(ListenAddress, PathsArePercentDecodedAndOthersAreNot) {
  const std::pair<const char*, const char*> cases[] = {
      {"unix:/run/u%20x.sock", "unix:/run/u x.sock"},
      {"unix:///run/%61", "unix:///run/a"},
      {"unix-abstract:a%2fb", "unix-abstract:a/b"},
      {"unix:/run/100%", "unix:/run/100%"},
      {"unix:/run/%4", "unix:/run/%4"},
      {"unix:/run/%zz%-1", "unix:/run/%zz%-1"},
      {"unix:/run/%2541", "unix:/run/%41"},
      {"[fe80::1%25eth0]:80", "[fe80::1%25eth0]:80"},
  };
  for (const auto& [address, decoded] : cases) EXPECT_EQ(decoded_address(address), decoded) << address;
  EXPECT_EQ(decoded_address("unix:/run/a%00b"), std::nullopt);
}

TEST(ListenAddress, ANameStandsForAllItsAddresses) {
  auto resolve = [](const std::string& name, std::string* error) -> std::vector<std::string> {
    if (name == "two") return {"192.0.2.1", "2001:db8::1"};
    if (name == "many") return std::vector<std::string>(100, "192.0.2.1");
    return *error = "unknown", std::vector<std::string>();
  };
  auto of = [&](const char* address) { return listen_addresses(address, resolve).all; };
  using All = std::vector<std::string>;
  EXPECT_EQ(of("two:80"), (All{"192.0.2.1:80", "[2001:db8::1]:80"}));
  EXPECT_EQ(of("dns:///two:80"), of("two:80"));
  EXPECT_EQ(of("dns:two:0"), (All{"192.0.2.1:0"})) << "one port, which the first address has";
  EXPECT_EQ(of("many:80").size(), kMostAddresses);
  for (const char* address : {"127.0.0.1:80", "[::1]:80", ":80", "*:80", "localhost:80", "unix:/run/a", "two"}) {
    EXPECT_EQ(of(address), (All{address}));
  }
  EXPECT_EQ(of("ipv4:127.0.0.1:80"), (All{"127.0.0.1:80"}));
  EXPECT_EQ(of("ipv6:[::1]:80"), (All{"[::1]:80"}));
  EXPECT_EQ(listen_addresses("nowhere:80", resolve).error, "nowhere:80: the name 'nowhere' is not resolved: unknown");
  EXPECT_NE(listen_addresses("unix:/run/a%00b", resolve).error, "");
}

TEST(ListenAddress, NamesAreResolvedAsTheSystemDoes) {
  std::string error;
  const std::vector<std::string> all = resolve_name("localhost", &error);
  EXPECT_TRUE(std::find(all.begin(), all.end(), "127.0.0.1") != all.end() ||
              std::find(all.begin(), all.end(), "::1") != all.end())
      << error;
  EXPECT_TRUE(resolve_name("no name", &error).empty());
  EXPECT_NE(error, "");
}

TEST(ListenAddress, AnAbstractNameMayHaveNuls) {
  EXPECT_EQ(decoded_address("unix-abstract:my%00abstract%00"), std::string("unix-abstract:my\0abstract\0", 26));
}

TEST(StartLock, OneProcessHasItAndTheNextGetsItWhenThatEnds) {
  char directory[] = "/tmp/drover-start-lock-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  {
    StartLock first(directory, 0);
    EXPECT_TRUE(first.held());
    StartLock second(directory, 20'000'000);
    EXPECT_FALSE(second.held());
    StartLock given_up(directory, 60'000'000'000, [] { return true; });
    EXPECT_FALSE(given_up.held());
  }
  EXPECT_TRUE(StartLock(directory, 0).held());
  EXPECT_FALSE(StartLock("/nonexistent", 0).held());
  ::unlink((std::string(directory) + "/start.lock").c_str());
  ::rmdir(directory);
}

TEST(Attachment, AnAddressThatCannotBeIsRefusedWithoutWaiting) {
  Offer offer;
  offer.options.engine = "/run/drover.sock";
  offer.options.engine_wait_ns = 60'000'000'000;
  std::vector<uint32_t> ports;
  AttachError error;
  auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(Attachment::open(offer, &ports, &error), nullptr);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  EXPECT_EQ(error.code, ControlCode::kAddressInvalid);
  EXPECT_THAT(error.message, HasSubstr("expected unix:PATH"));
}

}  // namespace
}  // namespace drover::host
