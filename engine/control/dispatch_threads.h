// DispatchThreads: the control server's interface to the engine threads, and the usual implementation over event loops.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/dispatch/dispatcher.h"
#include "engine/dispatch/engine_threads.h"
#include "engine/net/event_loop.h"
#include "engine/net/listeners.h"

namespace drover::engine {

// Thread-safe.
class DispatchThreads : public EngineThreads {
 public:
  virtual int cpu(uint32_t thread) const = 0;  // that it is pinned to, or -1
  void post_all(const std::function<void(Dispatcher&)>& work) {
    for (uint32_t thread = 0; thread < count(); ++thread) post(thread, work);
  }
  // As Listeners::listen and close: on all threads.
  virtual ListenResult listen(std::string_view address, uint32_t listener, std::shared_ptr<const tls::Server> tls) = 0;
  virtual void close(uint32_t listener) = 0;

 protected:
  ~DispatchThreads() = default;
};

class LoopThreads final : public DispatchThreads {
 public:
  struct Thread {
    EventLoop* loop;
    Dispatcher* dispatcher;
    int cpu = -1;
  };
  LoopThreads(std::vector<Thread> threads, Listeners& listeners)
      : threads_(std::move(threads)), listeners_(listeners) {}

  uint32_t count() const override { return static_cast<uint32_t>(threads_.size()); }
  int cpu(uint32_t thread) const override { return threads_[thread].cpu; }
  void post(uint32_t thread, std::function<void(Dispatcher&)> work) override {
    Dispatcher* dispatcher = threads_[thread].dispatcher;
    threads_[thread].loop->post([dispatcher, work = std::move(work)] { work(*dispatcher); });
  }
  ListenResult listen(std::string_view address, uint32_t listener, std::shared_ptr<const tls::Server> tls) override {
    return listeners_.listen(address, listener, std::move(tls));
  }
  void close(uint32_t listener) override { listeners_.close(listener); }

 private:
  const std::vector<Thread> threads_;
  Listeners& listeners_;
};

}  // namespace drover::engine
