#include "engine/base/fiber.h"

#include <sys/mman.h>

#include <cassert>
#include <cstdint>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DROVER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define DROVER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define DROVER_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define DROVER_TSAN 1
#endif
#ifdef DROVER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef DROVER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace drover::engine {
namespace {

constexpr size_t kGuardBytes = 4096;

}  // namespace

Fiber::~Fiber() {
  assert(!running_);
#ifdef DROVER_TSAN
  if (own_tsan_ != nullptr) __tsan_destroy_fiber(own_tsan_);
#endif
  if (stack_ != nullptr) ::munmap(stack_ - kGuardBytes, stack_bytes_ + kGuardBytes);
}

bool Fiber::start(std::function<void()> work) {
  assert(!running_);
  if (stack_ == nullptr) {
    void* memory = ::mmap(nullptr, stack_bytes_ + kGuardBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return false;
    if (::mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
      ::munmap(memory, stack_bytes_ + kGuardBytes);
      return false;
    }
    stack_ = static_cast<char*>(memory) + kGuardBytes;
  }
  ::getcontext(&own_);
  own_.uc_stack.ss_sp = stack_;
  own_.uc_stack.ss_size = stack_bytes_;
  own_.uc_link = nullptr;
  auto self = reinterpret_cast<uintptr_t>(this);
  ::makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(self),
                static_cast<unsigned>(self >> 32));
  work_ = std::move(work);
  running_ = true;
#ifdef DROVER_TSAN
  if (own_tsan_ == nullptr) own_tsan_ = __tsan_create_fiber(0);
#endif
  return true;
}

// makecontext passes ints: the address comes in two halves.
void Fiber::enter(unsigned low, unsigned high) {
  auto* self = reinterpret_cast<Fiber*>(static_cast<uintptr_t>(low) | static_cast<uintptr_t>(high) << 32);
  self->run();
}

void Fiber::run() {
  enter_fiber();
  work_();
  work_ = nullptr;
  running_ = false;
  leave_fiber(true);
}

bool Fiber::resume() {
#ifdef DROVER_ASAN
  __sanitizer_start_switch_fiber(&resumer_fake_stack_, stack_, stack_bytes_);
#endif
#ifdef DROVER_TSAN
  resumer_tsan_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_tsan_, 0);
#endif
  ::swapcontext(&resumer_, &own_);
#ifdef DROVER_ASAN
  __sanitizer_finish_switch_fiber(resumer_fake_stack_, nullptr, nullptr);
#endif
  return !running_;
}

void Fiber::pause() {
  leave_fiber(false);
  enter_fiber();
}

void Fiber::enter_fiber() {
#ifdef DROVER_ASAN
  __sanitizer_finish_switch_fiber(own_fake_stack_, &resumer_stack_, &resumer_stack_bytes_);
#endif
}

void Fiber::leave_fiber([[maybe_unused]] bool for_good) {
#ifdef DROVER_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &own_fake_stack_, resumer_stack_, resumer_stack_bytes_);
  if (for_good) own_fake_stack_ = nullptr;
#endif
#ifdef DROVER_TSAN
  __tsan_switch_to_fiber(resumer_tsan_, 0);
#endif
  ::swapcontext(&own_, &resumer_);
}

}  // namespace drover::engine
