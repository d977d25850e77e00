// Crew: the threads that lead Workers, and the monitor that passes the lead on.
//
// Every Worker has one leading thread. The monitor reads the Workers' phases (host/worker.h) once in `takeover_ns`. If
// a phase shows the same piece of application code twice in a row, its handler blocks, and another thread takes the
// lead. A handler that waits for its stream hands the lead over by itself, at once.
//
// So there is a thread for each handler that blocks, and one for each Worker. Threads are made when they are needed. At
// most `max_threads` handlers run or block at a time: beyond that, synchronous calls wait at their Worker, which goes
// on serving callback calls and streams. If the system gives no more threads, that is the bound until one is free. A
// thread that has had nothing to do for `idle_ns` ends.
//
// While the server is idle the monitor looks only every 5 ms, which costs next to nothing.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "host/worker.h"

namespace drover::host {

class Crew final : public Successors {
 public:
  struct Options {
    uint32_t max_threads = 10'000;
    int64_t takeover_ns = 1'000'000;
    int64_t idle_ns = 10'000'000'000;
    std::vector<int> cpus;  // the threads' CPUs; empty: any
  };
  explicit Crew(const Options& options);
  // Waits for all Workers to be done; the caller has told them to end (EngineLink::gone).
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Gives the Worker its first leader, and releases the Worker when it is done.
  void add(std::shared_ptr<Worker> worker);

  bool hand_over(Worker& worker, uint64_t odd_phase) override;

  size_t threads() const;
  uint64_t takeovers() const;

 private:
  struct Watched {
    std::shared_ptr<Worker> worker;
    uint64_t phase = 0;       // as the monitor saw it last
    uint64_t rung_phase = 0;  // the phase in which it last rang the engine's bells
  };

  void thread_main(std::list<std::thread>::iterator self);
  void monitor_main();
  bool look_once();  // true if something had moved
  bool make_spare();
  void assign(const std::shared_ptr<Worker>& worker);
  bool pass_lead(const Watched& from, uint64_t odd_phase);
  void hold_or_let_go();
  void join_ended(std::unique_lock<std::mutex>& lock);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable work_, monitor_wake_, quiet_;
  std::vector<Watched> watched_;
  std::deque<std::shared_ptr<Worker>> to_lead_;
  std::list<std::thread> threads_;
  std::list<std::thread> ended_;  // to be joined
  size_t spare_ = 0;              // threads that wait for a Worker and have none assigned
  bool holding_ = false;          // as the Workers were told last
  bool exhausted_ = false;        // the system gave no thread when one was asked for
  uint64_t takeovers_ = 0;
  bool stop_ = false;
  std::thread monitor_;
};

}  // namespace drover::host
