#include "engine/binary_log/redaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/config.h"

namespace drover::engine::binary_log {
namespace {

using testing::HasSubstr;
using Entry = Redaction::Entry;

Redaction of(std::string_view text) {
  Redaction redaction;
  EXPECT_EQ(Redaction::parse(text, &redaction), "");
  return redaction;
}

TEST(BinaryLogRedaction, WhatBelongsToGrpcAndTheTransportIsLeftOut) {
  const Redaction redaction = of("*");
  for (const char* name : {"grpc-timeout", "grpc-encoding", "grpc-status-details-bin", "grpc-", ":path", ":authority",
                           "content-type", "content-encoding", "user-agent", "te", "lb-token", "host"}) {
    EXPECT_EQ(redaction.of(name), Entry::kLeftOut) << name;
  }
  EXPECT_EQ(redaction.of("grpc-trace-bin"), Entry::kAlways);
  EXPECT_EQ(of("").of("x-user-agent"), Entry::kLogged);
}

TEST(BinaryLogRedaction, NamesAreWholeOrHaveAStarAtAnEnd) {
  const Redaction redaction = of("authorization,x-*,*-token,*secret*");
  for (const char* name : {"authorization", "x-", "x-y", "a-token", "-token", "secret", "the-secret-is"}) {
    EXPECT_EQ(redaction.of(name), Entry::kRedacted) << name;
  }
  for (const char* name : {"authorization2", "proxy-authorization", "y-x-", "token", "a-token-", "secre"}) {
    EXPECT_EQ(redaction.of(name), Entry::kLogged) << name;
  }
}

TEST(BinaryLogRedaction, TheDefaultHasTheNamesThatBearCredentials) {
  const Redaction redaction = of(Config().binary_log_redact);
  for (const char* name :
       {"authorization", "proxy-authorization", "x-serverless-authorization", "x-forwarded-authorization",
        "x-goog-iap-jwt-assertion", "x-amzn-oidc-data", "x-amz-security-token", "x-auth", "x-api-key", "apikey",
        "x-access-key", "x-passwd", "password", "cookie", "set-cookie", "session-id", "client-secret-bin"}) {
    EXPECT_EQ(redaction.of(name), Entry::kRedacted) << name;
  }
  for (const char* name : {"x-request-id", "traceparent", "x-forwarded-for"}) {
    EXPECT_EQ(redaction.of(name), Entry::kLogged) << name;
  }
}

TEST(BinaryLogRedaction, AStarAloneIsEveryName) {
  EXPECT_EQ(of("*").of("anything"), Entry::kRedacted);
  EXPECT_EQ(of("**").of("anything"), Entry::kRedacted);
  EXPECT_EQ(of("").of("authorization"), Entry::kLogged);
}

TEST(BinaryLogRedaction, WhatIsNoNameIsAnError) {
  for (const char* text : {"Authorization", "a b", ",", "a,,b", "a,", "a*b", "\xff", "***"}) {
    Redaction redaction;
    EXPECT_THAT(Redaction::parse(text, &redaction), HasSubstr("is no name of metadata")) << text;
  }
}

}  // namespace
}  // namespace drover::engine::binary_log
