// Alarm: an event at a time. gRPC's class.
//
//   alarm.Set(&queue, deadline, tag)   the tag comes out of the queue at the deadline (ok), or at Cancel (not ok)
//   alarm.Set(deadline, f)             f(ok) is called by one thread of the library, for all such alarms of the process
//
// One Set at a time; the next one may follow when the event has come. An Alarm that is destroyed is cancelled.
// Thread-safety: Cancel from any thread.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/time.h>

#include <functional>
#include <memory>
#include <utility>

namespace drover::host {
struct AlarmState;
}

namespace grpc {

class Alarm {
 public:
  Alarm();
  ~Alarm();
  template <typename T>
  Alarm(CompletionQueue* queue, const T& deadline, void* tag) : Alarm() {
    Set(queue, deadline, tag);
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  Alarm(Alarm&& other) noexcept;
  Alarm& operator=(Alarm&& other) noexcept;

  template <typename T>
  void Set(CompletionQueue* queue, const T& deadline, void* tag) {
    set(queue, TimePoint<T>(deadline).raw_time(), tag);
  }
  template <typename T>
  void Set(const T& deadline, std::function<void(bool)> f) {
    set(TimePoint<T>(deadline).raw_time(), std::move(f));
  }
  void Cancel();

 private:
  void set(CompletionQueue* queue, gpr_timespec deadline, void* tag);
  void set(gpr_timespec deadline, std::function<void(bool)> f);

  std::unique_ptr<drover::host::AlarmState> state_;
};

}  // namespace grpc
