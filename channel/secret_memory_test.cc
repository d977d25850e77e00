#include "channel/secret_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace drover {
namespace {

TEST(SecretMemory, TheOtherSideReadsWhatWasWritten) {
  ControlError error;
  auto secret = SecretMemory::make(std::string_view("key\0chain\0", 10), &error);
  ASSERT_TRUE(secret) << error.message;
  EXPECT_EQ(secret->size(), 10u);
  EXPECT_EQ(read_secret(secret->fd(), 10, 100, &error), std::string("key\0chain\0", 10));
}

TEST(SecretMemory, ItIsOverwrittenInTheEnd) {
  ControlError error;
  UniqueFd other;
  {
    auto secret = SecretMemory::make("key", &error);
    other.reset(::dup(secret->fd()));
  }
  EXPECT_EQ(read_secret(other.get(), 3, 100, &error), std::string(3, '\0'));
}

TEST(SecretMemory, OtherDescriptorsAndSizesAreRefused) {
  ControlError error;
  auto secret = SecretMemory::make("key", &error);
  EXPECT_FALSE(read_secret(secret->fd(), 4, 100, &error));
  EXPECT_FALSE(read_secret(secret->fd(), 0, 100, &error));
  EXPECT_FALSE(read_secret(secret->fd(), 3, 2, &error));
  EXPECT_EQ(error.code, ControlCode::kBadDescriptor);
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  EXPECT_FALSE(read_secret(pipe[0], 3, 100, &error)) << "it would wait for ever";
  ::close(pipe[0]), ::close(pipe[1]);
  EXPECT_FALSE(read_secret(-1, 3, 100, &error));
}

}  // namespace
}  // namespace drover
