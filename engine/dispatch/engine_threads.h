// EngineThreads: how engine threads reach each other.
#pragma once

#include <cstdint>
#include <functional>

namespace drover::engine {

class Dispatcher;

// Thread-safe.
class EngineThreads {
 public:
  virtual uint32_t count() const = 0;
  // Runs `work` on that thread, in the order of posting; dropped if the thread has ended. Throws std::bad_alloc.
  virtual void post(uint32_t thread, std::function<void(Dispatcher&)> work) = 0;

 protected:
  ~EngineThreads() = default;
};

}  // namespace drover::engine
