#include "engine/base/writer_thread.h"

#include <pthread.h>

#include <utility>

namespace drover::engine {

WriterThread::WriterThread(const char* name, std::chrono::milliseconds period, std::function<void()> work)
    : name_(name), period_(period), work_(std::move(work)) {}

WriterThread::~WriterThread() { stop(); }

void WriterThread::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), name_);
    run();
  });
}

void WriterThread::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void WriterThread::wake() noexcept {
  if (!asleep_.load(std::memory_order_relaxed)) return;
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  woken_ = true;
  asleep_.store(false, std::memory_order_relaxed);
  wake_.notify_one();
}

void WriterThread::run() {
  for (bool last = false; !last;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      asleep_.store(true, std::memory_order_relaxed);
      wake_.wait_for(lock, period_, [this] { return stopping_ || woken_; });
      asleep_.store(false, std::memory_order_relaxed);
      woken_ = false;
      last = stopping_;
    }
    work_();
  }
}

}  // namespace drover::engine
