// The engine's counters, and their export to Prometheus.
//
// Each engine thread has one ThreadMetrics. Its counters have a single writer, the thread; the exporter's thread
// reads them with relaxed atomics, so counting costs a load, an add and a store and no cache line is shared between
// engine threads. Series of the same name and labels from several threads are added up when they are exported.
//
//   ThreadMetrics (thread 0) --.
//   ThreadMetrics (thread 1) ---+--> MetricsExporter (own thread, HTTP at metrics.address) --> Prometheus
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace drover::engine {

// Only goes up. One writer thread, any readers.
class Counter {
 public:
  void add(uint64_t n = 1) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// Goes up and down. One writer thread, any readers.
class Gauge {
 public:
  void set(int64_t v) { value_.store(v, std::memory_order_relaxed); }
  void add(int64_t n) { set(value() + n); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// Latencies in nanoseconds, in buckets of half an octave: 1 us, 1.5 us, 2 us, 3 us, 4 us, 6 us, ... 134 s, and more.
class LatencyHistogram {
 public:
  static constexpr int kBuckets = 56;

  void record(int64_t ns) {
    counts_[bucket_of(ns)].add();
    sum_ns_.add(ns > 0 ? static_cast<uint64_t>(ns) : 0);
  }
  uint64_t count(int bucket) const { return counts_[bucket].value(); }
  uint64_t sum_ns() const { return sum_ns_.value(); }

  // The first bucket whose upper bound is at least `ns`.
  static int bucket_of(int64_t ns);
  // Upper bound in nanoseconds; the last bucket has none (INT64_MAX).
  static int64_t upper_bound_ns(int bucket);

 private:
  std::array<Counter, kBuckets> counts_;
  Counter sum_ns_;
};

inline int LatencyHistogram::bucket_of(int64_t ns) {
  if (ns <= 1000) return 0;
  uint64_t units = static_cast<uint64_t>(ns - 1) / 500;     // of half a microsecond: 2.. for the first octave
  int octave = std::bit_width(units) - 1;                   // units in [2^octave, 2^(octave+1))
  int half = octave > 0 ? (units >> (octave - 1)) & 1 : 0;  // lower or upper half of the octave
  int bucket = (octave - 1) * 2 + half + 1;
  return bucket < kBuckets ? bucket : kBuckets - 1;
}

inline int64_t LatencyHistogram::upper_bound_ns(int bucket) {
  if (bucket >= kBuckets - 1) return INT64_MAX;
  int64_t octave = int64_t{1000} << (bucket / 2);
  return bucket % 2 == 0 ? octave : octave + octave / 2;
}

// One method on one engine thread. The transport records calls here; the dispatcher only looks the method up, in
// open: `call.metrics = metrics.method(path)`. A call without metrics is counted under "unknown".
class MethodMetrics {
 public:
  explicit MethodMetrics(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  Counter started;                             // calls whose headers were accepted
  std::array<Counter, kStatusCodes> finished;  // by StatusCode
  Counter abandoned;                           // ended by the client or the connection before the reply was out
  Counter request_bytes;                       // messages only, without gRPC's prefix
  Counter response_bytes;
  LatencyHistogram latency;  // from the request's headers to the reply handed to the kernel

 private:
  std::string path_;
};

// The metrics of one engine thread. `method`, `release` and the updates of what `method` returns: by that thread only.
// `counter`, `gauge`, `remove`: any thread. Everything returned lives as long as the ThreadMetrics (or until it is
// removed or released).
class ThreadMetrics {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  explicit ThreadMetrics(uint32_t thread);
  ~ThreadMetrics();
  ThreadMetrics(const ThreadMetrics&) = delete;
  ThreadMetrics& operator=(const ThreadMetrics&) = delete;

  uint32_t thread() const { return thread_; }

  // The entry of a known method; made at the first call. Ask only for methods that a host registered: a peer must
  // not be able to make entries.
  MethodMetrics* method(std::string_view path);
  // Once for each method(): the entry and its series end with the last.
  void release(MethodMetrics* method);
  // Calls that ended without an answer, of all methods that there are and were. Any thread.
  uint64_t abandoned_calls() const;
  // Where calls to unknown methods and broken requests are counted.
  MethodMetrics* unknown() { return unknown_; }

  // The registry: a series of `name` ("drover_ring_depth") with `labels`, written by its one owner. Series of the
  // same name must be of one kind. The exporter adds the label thread="N" to gauges, so that they are not summed.
  Counter* counter(std::string_view name, std::string_view help, Labels labels = {});
  Gauge* gauge(std::string_view name, std::string_view help, Labels labels = {});
  // Ends a series (a host that went away). The pointer is dead afterwards.
  void remove(const Counter* counter);
  void remove(const Gauge* gauge);

  // The transport's own.
  Gauge* connections;
  Counter* connections_accepted;
  Counter* connections_refused;  // over limits.max_connections
  Counter* protocol_errors;      // connections ended because of what the peer sent
  Gauge* open_streams;
  Counter* received_bytes;  // from sockets
  Counter* sent_bytes;      // to sockets
  Counter* loop_iterations;
  Counter* loop_sleeps;

  struct Series {
    std::string name;
    std::string help;
    Labels labels;
    std::unique_ptr<Counter> counter;  // one of the two
    std::unique_ptr<Gauge> gauge;
  };
  // For the exporter: calls visit_method(const MethodMetrics&) and then visit_series(const Series&), these under the
  // lock. Methods are visited in groups, between which the engine thread may come and take the lock.
  template <typename VisitMethod, typename VisitSeries>
  void visit(VisitMethod visit_method, VisitSeries visit_series) const {
    std::string last;
    for (std::vector<std::shared_ptr<const MethodMetrics>> some; !(some = methods_after(last)).empty();) {
      for (const auto& method : some) visit_method(*method);
      last = some.back()->path();
    }
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Series& series : series_) visit_series(series);
  }

 private:
  const uint32_t thread_;
  mutable std::mutex mutex_;  // guards the containers' shape, not the values
  struct Method {
    std::shared_ptr<MethodMetrics> metrics;
    uint32_t users;
  };
  // The first methods behind `path`, in order; empty: there are no more.
  std::vector<std::shared_ptr<const MethodMetrics>> methods_after(const std::string& path) const;

  std::map<std::string_view, Method> methods_;  // by the path of the metrics
  std::vector<Series> series_;
  MethodMetrics* unknown_;
  Counter removed_abandoned_;  // of methods that were released
};

// Serves all threads' metrics at `http://address/metrics`. Runs prometheus-cpp's own threads.
class MetricsExporter {
 public:
  MetricsExporter();
  ~MetricsExporter();

  // Call before start; the ThreadMetrics must outlive the exporter.
  void add(const ThreadMetrics* metrics);
  // "127.0.0.1:9464"; returns what went wrong, or an empty string.
  std::string start(const std::string& address);
  // The same in two steps: the first looks up names, for which it opens files and sockets; the second makes threads.
  std::string prepare(const std::string& address);
  std::string start();
  // What a scrape returns now, in the text format (for tests and dumps).
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drover::engine
