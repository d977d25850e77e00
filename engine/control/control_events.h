// ControlEvents: the queue of events from engine threads and main to the control thread; posting wakes it.
// Thread-safety: post and wake by any thread; take by the control thread.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/dispatch/host_events.h"
#include "object/unique_fd.h"

namespace drover::engine {

struct ControlEvent {
  enum class Kind {
    kAttached,  // an engine thread has taken the host in
    kFailed,    // the host violated the channel's rules: `text` says how
    kDrained,   // the host has no calls left on an engine thread, which ended `number` of them
    kLetGo,     // an engine thread no longer refers to the host's region
    kOpened,    // a connection of RPC lines was opened for the host, or refused: `opened`
    kDrainAll,  // the engine goes down; calls have `number` ms to end
  };
  Kind kind;
  uint64_t host = 0;
  uint64_t number = 0;
  std::string text;
  HostEvents::Opened opened = {};
};

class ControlEvents {
 public:
  ControlEvents() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void post(ControlEvent event) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      events_.push_back(std::move(event));
    }
    wake();
  }
  void wake() {
    uint64_t one = 1;
    [[maybe_unused]] ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }
  std::vector<ControlEvent> take() {
    uint64_t count;
    [[maybe_unused]] ssize_t got = ::read(wake_.get(), &count, sizeof count);
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(events_, {});
  }
  // Readable when something was posted.
  int fd() const { return wake_.get(); }

 private:
  UniqueFd wake_;
  std::mutex mutex_;
  std::vector<ControlEvent> events_;
};

}  // namespace drover::engine
