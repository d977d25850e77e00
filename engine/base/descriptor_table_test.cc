#include "engine/base/descriptor_table.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace drover::engine {
namespace {

size_t table_size() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (size_t size; word == "FDSize:" && status >> size) return size;
  }
  return 0;
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(DescriptorTable, IsAsLargeAsWasReservedAndHoldsNothingMore) {
  const size_t open = open_descriptors(), wanted = 2 * table_size() + 1;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_cur < wanted) GTEST_SKIP() << "RLIMIT_NOFILE is " << before.rlim_cur;
  EXPECT_TRUE(reserve_descriptors(wanted));
  EXPECT_GE(table_size(), wanted);
  EXPECT_EQ(open_descriptors(), open);
}

TEST(DescriptorTable, GoesNoFurtherThanTheLimitOfDescriptors) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &small), 0);
  EXPECT_TRUE(reserve_descriptors(1'000'000));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace drover::engine
