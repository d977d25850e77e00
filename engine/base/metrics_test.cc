#include "engine/base/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/metrics_address.h"
#include "object/unique_fd.h"

namespace drover::engine {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LatencyHistogram, EveryLatencyIsAtMostItsBucketsBoundAndAboveTheOneBefore) {
  for (int64_t ns :
       {int64_t{0}, int64_t{1}, int64_t{999}, int64_t{1000}, int64_t{1001}, int64_t{1500}, int64_t{1501}, int64_t{2000},
        int64_t{2001}, int64_t{3000}, int64_t{123'456}, int64_t{7'654'321'000}, int64_t{1} << 50, INT64_MAX}) {
    int bucket = LatencyHistogram::bucket_of(ns);
    EXPECT_LE(ns, LatencyHistogram::upper_bound_ns(bucket)) << ns;
    if (bucket > 0) {
      EXPECT_GT(ns, LatencyHistogram::upper_bound_ns(bucket - 1)) << ns;
    }
  }
}

TEST(Metrics, ThreadsAreAddedUpAndGaugesKeptApart) {
  ThreadMetrics first(0), second(1);
  for (ThreadMetrics* thread : {&first, &second}) {
    MethodMetrics* method = thread->method("/a.B/C");
    EXPECT_EQ(method, thread->method("/a.B/C"));
    method->started.add(2);
    method->finished[0].add();
    method->finished[14].add();
    method->latency.record(1200);
  }
  first.gauge("drover_ring_depth", "Slots in use.", {{"host", "h"}})->set(3);
  second.gauge("drover_ring_depth", "Slots in use.", {{"host", "h"}})->set(4);
  second.counter("drover_decode_errors_total", "Bad requests.")->add(5);
  MetricsExporter exporter;
  exporter.add(&first);
  exporter.add(&second);
  std::string text = exporter.text();
  EXPECT_THAT(text, HasSubstr("drover_requests_total{method=\"/a.B/C\"} 4"));
  EXPECT_THAT(text, HasSubstr("drover_responses_total{method=\"/a.B/C\",code=\"UNAVAILABLE\"} 2"));
  EXPECT_THAT(text, HasSubstr("drover_latency_seconds_bucket{method=\"/a.B/C\",le=\"1e-06\"} 0"));
  EXPECT_THAT(text, HasSubstr("drover_latency_seconds_bucket{method=\"/a.B/C\",le=\"+Inf\"} 2"));
  EXPECT_THAT(text, HasSubstr("drover_ring_depth{host=\"h\",thread=\"0\"} 3"));
  EXPECT_THAT(text, HasSubstr("drover_ring_depth{host=\"h\",thread=\"1\"} 4"));
  EXPECT_THAT(text, HasSubstr("drover_decode_errors_total 5"));
}

TEST(Metrics, ARemovedSeriesIsNoLongerExported) {
  ThreadMetrics metrics(0);
  Gauge* gauge = metrics.gauge("drover_region_bytes", "Bytes in use.");
  MetricsExporter exporter;
  exporter.add(&metrics);
  EXPECT_THAT(exporter.text(), HasSubstr("drover_region_bytes"));
  metrics.remove(gauge);
  EXPECT_THAT(exporter.text(), Not(HasSubstr("drover_region_bytes")));
}

TEST(Metrics, AnAddressThatCannotBeServedIsAnErrorThatNamesTheKey) {
  MetricsExporter exporter;
  EXPECT_THAT(exporter.start("256.0.0.1:1"), HasSubstr("metrics.address"));
  for (const char* address : {"nonsense", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "::1:80"}) {
    EXPECT_EQ(exporter.start(address), "metrics.address: '" + std::string(address) +
                                           "' is not an address; expected HOST:PORT, such as 127.0.0.1:9464");
  }
}

TEST(Metrics, APortThatIsTakenIsAnErrorThatNamesAddressKeyAndReason) {
  int taken = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(taken, 1), 0);
  ASSERT_EQ(::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::string text = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  MetricsExporter exporter;
  EXPECT_EQ(exporter.start(text), "metrics.address: cannot serve on '" + text + "': Address already in use");
  ::close(taken);
  EXPECT_EQ(exporter.start(text), "");
}

// What "localhost" leads to, where it leads to both families. 192.0.2.1 is no machine's (RFC 5737).
class MetricsListening : public testing::Test {
 protected:
  void name(std::initializer_list<const char*> hosts) {
    for (const char* host : hosts) {
      addrinfo hints{}, *found = nullptr;
      hints.ai_socktype = SOCK_STREAM;
      hints.ai_flags = AI_NUMERICHOST;
      ASSERT_EQ(::getaddrinfo(host, port_.c_str(), &hints, &found), 0) << host;
      if (!all_.empty()) all_.back()->ai_next = found;
      all_.push_back(found);
    }
  }
  Listening choose(bool ipv6 = true) { return choose_listening("name:" + port_, port_, all_.front(), ipv6); }
  void SetUp() override {
    const UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_loopback;
    socklen_t size = sizeof any;
    if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&any), size) != 0) GTEST_SKIP() << "no IPv6 here";
    ASSERT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&any), &size), 0);
    port_ = std::to_string(ntohs(any.sin6_port));
  }
  void TearDown() override {
    if (!all_.empty()) ::freeaddrinfo(all_.front());
  }

  std::string port_;
  std::vector<addrinfo*> all_;
};

TEST_F(MetricsListening, IsOnAllThatTheNameLeadsTo) {
  name({"127.0.0.1", "::1", "127.0.0.1"});
  const Listening where = choose();
  EXPECT_EQ(where.error, "");
  EXPECT_EQ(where.numeric, "127.0.0.1:" + port_ + ",[::1]:" + port_);
  EXPECT_EQ(where.left_out, "");
}

TEST_F(MetricsListening, LeavesOutWhatThisMachineOrTheServerLacks) {
  name({"192.0.2.1", "::1", "127.0.0.1"});
  EXPECT_EQ(choose().numeric, "[::1]:" + port_ + ",127.0.0.1:" + port_);
  EXPECT_EQ(choose().left_out, "192.0.2.1:" + port_ + ": Cannot assign requested address");
  const Listening without = choose(false);
  EXPECT_EQ(without.error, "");
  EXPECT_EQ(without.numeric, "127.0.0.1:" + port_);
  EXPECT_THAT(without.left_out,
              HasSubstr("[::1]:" + port_ + ": the engine's HTTP server (civetweb) was built without"));
}

TEST_F(MetricsListening, IsAnErrorWhereAllIsLeftOut) {
  name({"192.0.2.1", "::1"});
  EXPECT_EQ(choose(false).error, "cannot serve on 'name:" + port_ + "': 192.0.2.1:" + port_ +
                                     ": Cannot assign requested address, [::1]:" + port_ +
                                     ": the engine's HTTP server (civetweb) was built without IPv6");
}

TEST_F(MetricsListening, IsAnErrorWhereAnyIsTaken) {
  name({"::1", "127.0.0.1"});
  MetricsExporter taken;
  ASSERT_EQ(taken.start("127.0.0.1:" + port_), "");
  EXPECT_EQ(choose().error, "cannot serve on 'name:" + port_ + "': Address already in use");
}

TEST(MetricsAddress, AnIpv6AddressHasBrackets) {
  std::string host, port;
  EXPECT_TRUE(split_address("localhost:9464", &host, &port));
  EXPECT_EQ(host, "localhost");
  EXPECT_TRUE(split_address("[::1]:9464", &host, &port));
  EXPECT_EQ(host, "::1");
  EXPECT_EQ(port, "9464");
  for (const char* wrong : {"::1:9464", ":9464", "localhost", "localhost:", "localhost:65536", "localhost:http"}) {
    EXPECT_FALSE(split_address(wrong, &host, &port)) << wrong;
  }
}

}  // namespace
}  // namespace drover::engine
