// Crew: the threads that lead Workers, and the monitor that passes the lead on.
//
// Every Worker has one leading thread. The monitor reads the Workers' phases (host/worker.h) once in `takeover_ns`. If
// a phase shows the same piece of application code twice in a row, its handler blocks, and a spare thread takes the
// lead. There are at most `max_threads` threads; while all of them block, calls wait in the rings.
//
// While the server is idle the monitor looks only every 5 ms, which costs next to nothing.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "host/worker.h"

namespace drover::host {

class Crew {
 public:
  struct Options {
    uint32_t max_threads = 64;
    int64_t takeover_ns = 1'000'000;
    std::vector<int> cpus;  // the threads' CPUs; empty: any
  };
  explicit Crew(const Options& options);
  // Waits for all Workers to be done; the caller has told them to end (EngineLink::gone).
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Gives the Worker its first leader, and releases the Worker when it is done.
  void add(std::shared_ptr<Worker> worker);

  size_t threads() const;
  uint64_t takeovers() const;

 private:
  struct Watched {
    std::shared_ptr<Worker> worker;
    uint64_t phase = 0;       // as the monitor saw it last
    uint64_t rung_phase = 0;  // the phase in which it last rang the engine's bells
  };

  void thread_main();
  void monitor_main();
  bool look_once();  // true if something had moved
  void assign(const std::shared_ptr<Worker>& worker);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable work_, monitor_wake_, quiet_;
  std::vector<Watched> watched_;
  std::deque<std::shared_ptr<Worker>> to_lead_;
  std::vector<std::thread> threads_;
  size_t spare_ = 0;  // threads that wait for a Worker and have none assigned
  uint64_t takeovers_ = 0;
  bool stop_ = false;
  std::thread monitor_;
};

}  // namespace drover::host
