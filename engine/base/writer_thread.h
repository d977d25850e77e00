// WriterThread: a thread for what may wait for files, so that no engine thread does. It works every period, earlier
// when it is woken, and once more at its end.
//
//   engine thread --puts into a ring of bounded size--> WriterThread --FileAppender--> file
//
// wake() may be called by any thread at any time and never waits. The others: by the owner's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace drover::engine {

class WriterThread {
 public:
  // `name`: of the thread, at most 15 bytes; it outlives this. `work`: is called by the thread.
  WriterThread(const char* name, std::chrono::milliseconds period, std::function<void()> work);
  // As stop().
  ~WriterThread();
  WriterThread(const WriterThread&) = delete;
  WriterThread& operator=(const WriterThread&) = delete;

  // Once. Nothing works before.
  void start();
  // Works a last time, if it was started.
  void stop();
  // There is work before the period is over. A hint: one that comes while the thread goes to sleep may be lost, and the
  // next one counts.
  void wake() noexcept;

 private:
  void run();

  const char* const name_;
  const std::chrono::milliseconds period_;
  const std::function<void()> work_;
  std::atomic<bool> asleep_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace drover::engine
