// Lists of addresses and networks: what they allow, and which texts are refused.
#include "engine/datagram/allowed_peers.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <random>

namespace drover::engine {
namespace {

UdpAddress ip(const std::string& text) {
  UdpAddress address;
  address.port = 4700;
  address.family = text.find(':') == std::string::npos ? 4 : 6;
  EXPECT_EQ(::inet_pton(address.family == 4 ? AF_INET : AF_INET6, text.c_str(), address.ip.data()), 1) << text;
  return address;
}
AllowedPeers list(const std::string& text) {
  AllowedPeers allowed;
  EXPECT_EQ(AllowedPeers::parse(text, &allowed), "");
  return allowed;
}

TEST(AllowedPeers, WithoutAListAreEverybody) {
  for (const AllowedPeers& allowed : {AllowedPeers(), list(""), list("  ")}) {
    EXPECT_TRUE(allowed.allows(ip("10.0.0.1")));
    EXPECT_TRUE(allowed.allows(ip("2001:db8::1")));
  }
}

TEST(AllowedPeers, AreTheAddressesAndNetworksOfTheList) {
  const AllowedPeers allowed = list("10.0.0.7, 10.1.0.0/16,192.168.4.0/23 ,fd00:1::/32,2001:db8::5");
  for (const char* text : {"10.0.0.7", "10.1.0.0", "10.1.255.255", "192.168.5.255", "fd00:1::", "fd00:1:ffff::1",
                           "2001:db8::5", "::ffff:10.0.0.7", "::ffff:10.1.2.3"}) {
    EXPECT_TRUE(allowed.allows(ip(text))) << text;
  }
  for (const char* text : {"10.0.0.6", "10.0.0.8", "10.0.255.255", "10.2.0.0", "192.168.6.0", "192.168.3.255",
                           "0.0.0.0", "255.255.255.255", "fd00:2::", "fd00::ffff", "2001:db8::4", "2001:db8::6",
                           "::", "::ffff:10.0.0.8", "::10.0.0.7", "a00:7::"}) {
    EXPECT_FALSE(allowed.allows(ip(text))) << text;
  }
  EXPECT_FALSE(allowed.allows(UdpAddress())) << "of no family";
}

TEST(AllowedPeers, AllOfOneFamilyAreNoneOfTheOther) {
  EXPECT_TRUE(list("0.0.0.0/0").allows(ip("1.2.3.4")));
  EXPECT_TRUE(list("0.0.0.0/0").allows(ip("::ffff:1.2.3.4")));
  EXPECT_FALSE(list("0.0.0.0/0").allows(ip("::1")));
  EXPECT_TRUE(list("::/0").allows(ip("::1")));
  EXPECT_FALSE(list("::/0").allows(ip("1.2.3.4")));
  EXPECT_FALSE(list("::/0").allows(ip("::ffff:1.2.3.4")));
}

TEST(AllowedPeers, TextsThatAreNoListSayWhy) {
  for (const char* text : {",", "10.0.0.1,", ",10.0.0.1", "10.0.0", "10.0.0.1:4700", "host", "10.0.0.1/", "10.0.0.0/33",
                           "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.1/24", "10.0.0.0/24/24", "fd00::/129", "fd00::1/64",
                           "fe80::1%lo", "[::1]", "::ffff:10.0.0.0/104", "/8", "*"}) {
    AllowedPeers allowed;
    const std::string wrong = AllowedPeers::parse(text, &allowed);
    EXPECT_EQ(wrong.substr(0, 14), "lines.allow: '") << text << ": " << wrong;
  }
  std::string many = "10.0.0.1";
  for (size_t i = 1; i < AllowedPeers::kMostEntries; ++i) many += ",10.0.0.1";
  AllowedPeers allowed;
  EXPECT_EQ(AllowedPeers::parse(many, &allowed), "");
  EXPECT_EQ(AllowedPeers::parse(many + ",10.0.0.1", &allowed), "lines.allow: more than 4096 entries");
}

// Networks that overlap, lie in each other or beside each other, against a look at each.
TEST(AllowedPeers, OverlappingNetworksAllowWhatEachOfThemAllows) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::pair<uint32_t, uint32_t>> networks;  // first, mask
    std::string text;
    for (uint32_t i = 0, count = 1 + random() % 8; i < count; ++i) {
      const uint32_t bits = 22 + random() % 11;
      const uint32_t mask = ~uint32_t{0} << (32 - bits), first = (0x0a000000 | random() % 4096) & mask;
      networks.emplace_back(first, mask);
      const in_addr address{htonl(first)};
      char dotted[INET_ADDRSTRLEN];
      ::inet_ntop(AF_INET, &address, dotted, sizeof dotted);
      text += (text.empty() ? "" : ",") + std::string(dotted) + "/" + std::to_string(bits);
    }
    const AllowedPeers allowed = list(text);
    for (uint32_t low = 0; low < 4200; ++low) {
      UdpAddress address;
      address.family = 4;
      const uint32_t value = 0x0a000000 | low, on_wire = htonl(value);
      std::memcpy(address.ip.data(), &on_wire, sizeof on_wire);
      bool expected = false;
      for (auto [first, mask] : networks) expected |= (value & mask) == first;
      ASSERT_EQ(allowed.allows(address), expected) << text << " " << low;
    }
  }
}

}  // namespace
}  // namespace drover::engine
