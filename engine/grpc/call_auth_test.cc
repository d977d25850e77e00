#include "engine/grpc/call_auth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "channel/identity.h"
#include "engine/auth/auth_testing.h"
#include "engine/grpc/request_head.h"

namespace drover::engine {
namespace {

using auth::Algorithm;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kPath = "/shop.Orders/List";

class CallAuthTest : public testing::Test {
 protected:
  void start(auth::PolicyOptions options = {}) {
    options.issuers = "main iss=i audiences=* keys=" + file_.path();
    std::string error;
    ASSERT_TRUE(policy_.load(options, &error)) << error;
    checker_ = std::make_unique<auth::TokenChecker>(policy_, metrics_);
    calls_ = std::make_unique<CallAuth>(*checker_, pace_);
  }
  std::string token(int64_t seconds = 60) const {
    return key_.token(Algorithm::kEs256,
                      R"({"iss":"i","sub":"alice","exp":)" + std::to_string(std::time(nullptr) + seconds) + "}");
  }
  static http2::HeadRef head_of(std::vector<http2::Field> fields, std::string_view path = kPath) {
    http2::HeadSummary summary{};
    summary.method = "POST";
    summary.path = path;
    summary.first_regular = 0;
    return http2::HeadRef(new RequestHead(summary, fields, false, 16 << 10, {}));
  }
  Status admit(const http2::HeadRef& head) {
    call_ = Call();
    call_.peer = &peer_;
    return calls_->admit(static_cast<RequestHead&>(*head.get()), peer_, call_);
  }
  static const std::vector<Header>& metadata_of(const http2::HeadRef& head) {
    return static_cast<const RequestHead&>(*head.get()).metadata;
  }
  std::vector<std::pair<std::string_view, std::string_view>> properties() const {
    std::vector<std::pair<std::string_view, std::string_view>> found;
    EXPECT_TRUE(unpack_identity(call_.peer->identity, &found));
    return found;
  }
  uint64_t verifications() {
    uint64_t sum = 0;
    metrics_.visit([](const MethodMetrics&) {},
                   [&](const ThreadMetrics::Series& one) {
                     if (one.name == "drover_auth_verifications_total") sum += one.counter->value();
                   });
    return sum;
  }

  const auth::TestKey key_{auth::KeyKind::kP256};
  auth::KeyFile file_{auth::jwks({key_.jwk()})};
  ThreadMetrics metrics_{0};
  auth::Policy policy_;
  std::unique_ptr<auth::TokenChecker> checker_;
  Pace pace_;
  std::unique_ptr<CallAuth> calls_;
  Peer peer_{"ipv4:127.0.0.1:4711", {}};
  Call call_;
};

TEST_F(CallAuthTest, AGoodTokenGivesTheCallItsPeerAndLeavesTheMetadata) {
  start();
  const std::string value = "Bearer " + token();
  const http2::HeadRef head = head_of({{"a", "1"}, {"authorization", value}, {"b", "2"}});
  ASSERT_TRUE(admit(head).ok());
  EXPECT_THAT(metadata_of(head), ElementsAre(Pair("a", "1"), Pair("b", "2")));
  EXPECT_EQ(call_.peer->address, peer_.address);
  EXPECT_THAT(properties(),
              testing::IsSupersetOf({Pair("transport_security_type", "insecure"), Pair("jwt_sub", "alice")}));
}

TEST_F(CallAuthTest, WhatTlsProvedStays) {
  start();
  peer_ = {"ipv4:192.0.2.1:4711", pack_identity(std::vector<std::pair<std::string, std::string>>{{"peer_dns", "a"}})};
  const std::string value = "bEARER  " + token();
  const http2::HeadRef head = head_of({{"authorization", value}});
  ASSERT_TRUE(admit(head).ok());
  EXPECT_THAT(properties().front(), Pair("peer_dns", "a"));
  EXPECT_THAT(properties()[2], Pair("jwt_sub", "alice"));
}

TEST_F(CallAuthTest, ARepeatedHeadIsNotCheckedAgainUntilTheKeysChange) {
  start({.issuers = "", .rules = "", .claims = "", .cache_bytes = 0});  // the head alone remembers
  const std::string value = "Bearer " + token();
  const http2::HeadRef head = head_of({{"authorization", value}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(admit(head).ok());
  const Peer* const peer = call_.peer;
  EXPECT_EQ(verifications(), 1u);
  file_.write(auth::jwks({key_.jwk(R"("kid":"the same")")}));
  policy_.issuers().reload(false);
  EXPECT_TRUE(admit(head).ok());
  EXPECT_EQ(verifications(), 2u);
  EXPECT_EQ(call_.peer, peer);  // earlier calls of the head refer to it
  file_.write(auth::jwks({auth::TestKey(auth::KeyKind::kP256).jwk()}));
  policy_.issuers().reload(false);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(admit(head).code, StatusCode::kUnauthenticated);
  EXPECT_EQ(verifications(), 3u);
}

TEST_F(CallAuthTest, AWrongTokenOfARepeatedHeadIsVerifiedOnce) {
  start();
  const std::string value =
      "Bearer " + auth::TestKey(auth::KeyKind::kP256).token(Algorithm::kEs256, R"({"iss":"i","exp":99999999999})");
  const http2::HeadRef head = head_of({{"authorization", value}});
  for (int i = 0; i < 5; ++i) {
    const Status status = admit(head);
    EXPECT_EQ(status.code, StatusCode::kUnauthenticated);
    EXPECT_THAT(status.message, HasSubstr("(signature)"));
    EXPECT_THAT(status.message, testing::Not(HasSubstr("eyJ")));
  }
  EXPECT_EQ(verifications(), 1u);
}

TEST_F(CallAuthTest, AnExpiredHeadIsRefused) {
  start({.issuers = "", .rules = "", .claims = "", .leeway_s = 0});
  const std::string value = "Bearer " + token(2);
  const http2::HeadRef head = head_of({{"authorization", value}});
  EXPECT_TRUE(admit(head).ok());
  static_cast<RequestHead&>(*head.get()).auth->expires_s = 1;
  EXPECT_TRUE(admit(head).ok());  // asked anew
  const std::string old = "Bearer " + token(-1);
  EXPECT_THAT(admit(head_of({{"authorization", old}})).message, HasSubstr("(expired)"));
}

TEST_F(CallAuthTest, AnAnonymousCallHasTheConnectionsPeer) {
  start({.issuers = "", .rules = "*=optional", .claims = ""});
  ASSERT_TRUE(admit(head_of({{"authorization", "Basic YTpi"}})).ok());
  EXPECT_EQ(call_.peer, &peer_);
  EXPECT_THAT(admit(head_of({{"authorization", "Bearer x"}})).message, HasSubstr("(malformed)"));
}

TEST_F(CallAuthTest, AMethodWithoutChecksKeepsItsMetadata) {
  start({.issuers = "", .rules = "/shop.*=off", .claims = ""});
  const http2::HeadRef head = head_of({{"authorization", "Bearer x"}});
  ASSERT_TRUE(admit(head).ok());
  ASSERT_TRUE(admit(head).ok());
  EXPECT_THAT(metadata_of(head), ElementsAre(Pair("authorization", "Bearer x")));
  EXPECT_EQ(call_.peer, &peer_);
}

TEST_F(CallAuthTest, TwoTokensAreNone) {
  start();
  const std::string value = "Bearer " + token();
  const http2::HeadRef head = head_of({{"authorization", value}, {"authorization", value}});
  EXPECT_THAT(admit(head).message, HasSubstr("(malformed)"));
  EXPECT_TRUE(metadata_of(head).empty());
}

TEST_F(CallAuthTest, CleartextFromAnotherMachineIsRefused) {
  peer_ = {"ipv4:192.0.2.1:4711", {}};
  start();
  const std::string value = "Bearer " + token();
  EXPECT_THAT(admit(head_of({{"authorization", value}})).message, HasSubstr("(cleartext)"));
  EXPECT_THAT(admit(head_of({})).message, HasSubstr("(no_token)"));
}

TEST_F(CallAuthTest, WhatAHeadHoldsIsCharged) {
  start();
  const std::string value = "Bearer " + token();
  const auto budget = std::make_shared<http2::ByteBudget>(1 << 20);
  {
    const http2::HeadRef head = head_of({{"authorization", value}});
    head.get()->charge_to(budget);
    const size_t before = budget->held();
    ASSERT_TRUE(admit(head).ok());
    EXPECT_GE(budget->held(), before + sizeof(HeadAuth) + value.size());
  }
  EXPECT_EQ(budget->held(), 0u);
}

TEST(IsLocalPeer, LoopbackAndUnixSocketsAre) {
  for (const char* address : {"ipv4:127.0.0.1:4711", "ipv4:127.9.8.7:1", "ipv6:%5B::1%5D:80", "unix:/run/x", "unix:"}) {
    EXPECT_TRUE(is_local_peer(address)) << address;
  }
  for (const char* address :
       {"ipv4:192.0.2.1:4711", "ipv4:1.127.0.0:1", "ipv6:%5B::1:1%5D:80", "ipv6:%5B2001:db8::1%5D:80", ""}) {
    EXPECT_FALSE(is_local_peer(address)) << address;
  }
}

}  // namespace
}  // namespace drover::engine
