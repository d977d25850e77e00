// Fiber: a function on a stack of its own, which can stop in the middle and go on later, on the same thread.
//
//   resumer:   start(work); resume() ------> . . . resume() -------> true
//   work:                    runs; pause() --^      goes on; returns --^
//
// For work that is too long for one turn of an engine thread and that cannot be cut otherwise, such as one large
// encode. A switch costs a microsecond (two system calls, for the signal mask).
// Thread-safety: none; one thread. Exceptions must not leave `work`.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>

namespace drover::engine {

class Fiber {
 public:
  // The stack is mapped when the first work starts; only pages that are touched take memory. Its lower end is guarded.
  explicit Fiber(size_t stack_bytes = 4 << 20) : stack_bytes_(stack_bytes) {}
  // Not while work is in the middle: its stack would go without its destructors.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Gets `work` ready; it runs in resume(). False: no memory for a stack.
  bool start(std::function<void()> work);
  // Runs it until it pauses or ends. True: it has ended.
  bool resume();
  // Called by the work: returns to resume(), and here again with the next resume().
  void pause();
  // Started and not ended.
  bool running() const { return running_; }

 private:
  static void enter(unsigned low, unsigned high);
  void run();
  void enter_fiber();
  void leave_fiber(bool for_good);

  const size_t stack_bytes_;
  char* stack_ = nullptr;  // with a guard page in front
  ucontext_t own_;
  ucontext_t resumer_;
  std::function<void()> work_;
  bool running_ = false;
  // What the sanitizers must be told of.
  [[maybe_unused]] void* own_fake_stack_ = nullptr;
  [[maybe_unused]] void* resumer_fake_stack_ = nullptr;
  [[maybe_unused]] const void* resumer_stack_ = nullptr;
  [[maybe_unused]] size_t resumer_stack_bytes_ = 0;
  [[maybe_unused]] void* own_tsan_ = nullptr;
  [[maybe_unused]] void* resumer_tsan_ = nullptr;
};

}  // namespace drover::engine
