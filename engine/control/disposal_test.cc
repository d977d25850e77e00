#include "engine/control/disposal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace drover::engine {
namespace {

// An object whose end takes until `go`.
struct Gate {
  std::mutex mutex;
  std::condition_variable wake;
  bool open = false;

  void go() {
    {
      std::lock_guard lock(mutex);
      open = true;
    }
    wake.notify_all();
  }
  static std::shared_ptr<const void> blocker(const std::shared_ptr<Gate>& gate) {
    return {gate.get(), [gate](const void*) {
              std::unique_lock lock(gate->mutex);
              gate->wake.wait(lock, [&] { return gate->open; });
            }};
  }
};

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

template <typename Condition>
bool soon(Condition&& condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

UniqueFd descriptor() { return UniqueFd(::eventfd(0, EFD_CLOEXEC)); }

TEST(Disposal, ClosesAndDestroysOnAnotherThread) {
  Disposal disposal([] {});
  UniqueFd one = descriptor();
  int number = one.get();
  std::atomic<bool> destroyed{false};
  std::thread::id where;
  disposal.dispose(std::move(one));
  disposal.dispose(std::shared_ptr<const void>(&destroyed, [&](const void*) {
    where = std::this_thread::get_id();
    destroyed = true;
  }));
  ASSERT_TRUE(soon([&] { return destroyed.load(); }));
  EXPECT_FALSE(is_open(number));
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(Disposal, WhatDoesNotEndDelaysNoOtherAndSaysWhenTooMuchWaitsBehindIt) {
  auto gate = std::make_shared<Gate>();
  std::atomic<int> told{0};
  Disposal disposal([&] { ++told; });
  disposal.dispose(Gate::blocker(gate));
  for (size_t i = 1; i < Disposal::kMostWaiting; ++i) {
    ASSERT_FALSE(disposal.full());
    disposal.dispose(std::make_shared<int>(1));
  }
  EXPECT_TRUE(disposal.full());
  UniqueFd late = descriptor();
  int number = late.get();
  disposal.dispose(std::move(late));  // taken all the same
  gate->go();
  EXPECT_TRUE(soon([&] { return !is_open(number); }));
  EXPECT_TRUE(soon([&] { return told == 1; }));
  EXPECT_FALSE(disposal.full());
}

TEST(Disposal, EndsInTimeWhateverItsThreadWaitsFor) {
  auto gate = std::make_shared<Gate>();
  auto began = std::chrono::steady_clock::now();
  {
    Disposal disposal([] { ADD_FAILURE(); });
    disposal.dispose(Gate::blocker(gate));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
  gate->go();
}

TEST(Disposal, GivesBackWhatIsLeftWhenItEnds) {
  int number;
  {
    Disposal disposal([] {});
    UniqueFd one = descriptor();
    number = one.get();
    disposal.dispose(std::move(one));
  }
  EXPECT_FALSE(is_open(number));
}

}  // namespace
}  // namespace drover::engine
