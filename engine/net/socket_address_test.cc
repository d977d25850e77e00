#include "engine/net/socket_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "object/unique_fd.h"

namespace drover::engine {
namespace {

using testing::HasSubstr;

TEST(SocketAddress, NamesAreNotResolvedButForLocalhost) {
  ParsedAddress local = parse_listen_address("localhost:80");
  ASSERT_EQ(local.candidates.size(), 2u);
  EXPECT_EQ(describe_peer(local.candidates[0].storage, local.candidates[0].size), "ipv4:127.0.0.1:80");
  EXPECT_EQ(describe_peer(local.candidates[1].storage, local.candidates[1].size), "ipv6:%5B::1%5D:80");
  for (const char* name : {"example.invalid:80", "dns:///example.invalid:80", "127.1:80"}) {
    EXPECT_THAT(parse_listen_address(name).error, HasSubstr("names are not resolved here")) << name;
  }
}

TEST(SocketAddress, PeersAreSpelledAsGrpcDoes) {
  ParsedAddress four = parse_listen_address("127.0.0.1:80");
  EXPECT_EQ(describe_peer(four.candidates[0].storage, four.candidates[0].size), "ipv4:127.0.0.1:80");
  ParsedAddress six = parse_listen_address("[::1]:80");
  EXPECT_EQ(describe_peer(six.candidates[0].storage, six.candidates[0].size), "ipv6:%5B::1%5D:80");
  ParsedAddress mapped = parse_listen_address("[::ffff:10.0.0.1]:80");
  EXPECT_EQ(describe_peer(mapped.candidates[0].storage, mapped.candidates[0].size), "ipv4:10.0.0.1:80");
}

TEST(SocketAddress, ANetworkIsWhoCountsAsOneClient) {
  EXPECT_EQ(network_of("ipv4:192.0.2.1:4711"), "192.0.2.1");
  EXPECT_EQ(network_of("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:4711"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of("ipv6:%5B2001:db8:1:2::9%5D:1"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of("unix:"), "unix");
}

TEST(SocketAddress, EachSpellingOfASocketHasTheSameCanonicalOne) {
  using All = std::vector<std::string>;
  for (const char* any : {"0.0.0.0:80", "[::]:80", "*:80", "ipv4:0.0.0.0:80", "dns:///0.0.0.0:80", "0.0.0.0:080"}) {
    EXPECT_EQ(canonical_addresses(any), (All{"*:80", "*:80"})) << any;
  }
  EXPECT_EQ(canonical_addresses("127.0.0.1:80"), All{"127.0.0.1:80"});
  EXPECT_EQ(canonical_addresses("[::ffff:127.0.0.1]:80"), All{"127.0.0.1:80"});
  EXPECT_EQ(canonical_addresses("[0::1]:80"), All{"[::1]:80"});
  EXPECT_EQ(canonical_addresses("localhost:80"), (All{"127.0.0.1:80", "[::1]:80"}));
  EXPECT_EQ(canonical_addresses("unix:///run/a"), All{"unix:/run/a"});
  EXPECT_EQ(canonical_addresses("unix-abstract:a"), All{"unix-abstract:a"});
  EXPECT_EQ(canonical_addresses("nonsense"), All{"nonsense"});
}

TEST(SocketAddress, AnAbstractNameIsAnyBytesAndPrintedAsGrpcDoes) {
  using namespace std::string_literals;
  const std::string address = "unix-abstract:drover\0 test\0"s + std::to_string(::getpid());
  const ParsedAddress parsed = parse_listen_address(address);
  ASSERT_EQ(parsed.error, "");
  const SocketAddress& one = parsed.candidates.front();
  EXPECT_EQ(canonical_address(one), address);
  EXPECT_NE(canonical_addresses("unix-abstract:drover"), canonical_addresses(address));
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&one.storage), one.size), 0);
  const std::string printed = "unix-abstract:drover%00%20test%00" + std::to_string(::getpid());
  EXPECT_EQ(describe_socket(fd.get()), printed);
  EXPECT_EQ(printable_address(address), printed);
  EXPECT_EQ(printable_address("unix-abstract:a/b-c"), "unix-abstract:a/b-c");
  EXPECT_EQ(printable_address("[::1]:80"), "[::1]:80");
}

}  // namespace
}  // namespace drover::engine
