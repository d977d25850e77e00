// A file of keys that holds a private one is an error, and not left behind in freed memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/auth/auth_testing.h"
#include "engine/auth/policy.h"
#include "engine/base/freed_memory_testing.h"

namespace drover::engine::auth {
namespace {

TEST(WipedKeys, OfAFileThatIsRefusedAreNotInFreedMemory) {
  const std::string secret = "c2VjcmV0IHRleHQgb2YgYSBwcml2YXRlIGtleSAx";
  const KeyFile file("-----BEGIN PRIVATE KEY-----\n" + secret + "\n-----END PRIVATE KEY-----\n");
  const PolicyOptions options{.issuers = "main iss=i audiences=* keys=" + file.path(), .rules = "", .claims = ""};
  Policy policy;
  std::string error;
  const FreedMemory freed(secret);
  EXPECT_FALSE(policy.load(options, &error));
  EXPECT_THAT(error, testing::HasSubstr("PRIVATE KEY"));
  EXPECT_FALSE(freed.held_it());
}

}  // namespace
}  // namespace drover::engine::auth
