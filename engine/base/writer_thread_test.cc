#include "engine/base/writer_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace drover::engine {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{3'600'000};

TEST(WriterThread, WorksOnceMoreAtItsEnd) {
  std::atomic<int> times{0};
  {
    WriterThread thread("test", kLong, [&] { ++times; });
    thread.start();
  }
  EXPECT_EQ(times, 1);
}

TEST(WriterThread, DoesNothingUnlessItWasStarted) {
  std::atomic<int> times{0};
  {
    WriterThread thread("test", milliseconds(1), [&] { ++times; });
    thread.wake();
  }
  EXPECT_EQ(times, 0);
}

TEST(WriterThread, WorksEveryPeriod) {
  std::atomic<int> times{0};
  WriterThread thread("test", milliseconds(1), [&] { ++times; });
  thread.start();
  while (times < 3) std::this_thread::yield();
}

TEST(WriterThread, WorksEarlierWhenItIsWoken) {
  std::atomic<int> times{0};
  WriterThread thread("test", kLong, [&] { ++times; });
  thread.start();
  for (int wanted = 1; wanted <= 3; ++wanted) {
    while (times < wanted) {  // a hint may be lost
      thread.wake();
      std::this_thread::yield();
    }
  }
}

}  // namespace
}  // namespace drover::engine
