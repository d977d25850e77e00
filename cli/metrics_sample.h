// What an engine's metrics say (docs/deploy.md), and what happened between two looks at them: the numbers of
// `drover stat`.
//
// The text is Prometheus's exposition format, of any content: what is not understood is skipped, as are values that are
// negative, infinite or no number, which no engine has; larger ones than 1e18 count as that.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drover::cli {

// Totals since the engine's start, and gauges of now.
struct MetricsSample {
  struct Method {
    double started = 0, finished = 0, failed = 0;  // failed: with a status other than OK, of the finished
    double abandoned = 0;                          // by the client
    double request_bytes = 0, response_bytes = 0;
    std::vector<std::pair<double, double>> latency;  // upper bound in seconds (the last is infinite), calls up to it
  };
  struct Host {
    std::string name, pid;
    double calls = 0;       // in flight
    double ring_depth = 0;  // of its fullest ring
    double rx_used = 0, rx_size = 0, reply_bytes = 0;
    double cpu_seconds = 0;
  };
  std::map<std::string, Method> methods;  // by path
  std::map<std::string, Host> hosts;      // by the engine's number of the host
  double connections = 0, streams = 0, waiting = 0, cpu_seconds = 0;

  static MetricsSample parse(std::string_view text);
};

// Of the time between two samples; rates are per second.
struct MetricsChange {
  struct Method {
    std::string path;
    double calls = 0, failed = 0;  // ended calls; those without an OK, abandoned ones included
    double request_bytes = 0, response_bytes = 0;
    double p50 = 0, p99 = 0;  // seconds; of no calls 0
  };
  struct Host {
    std::string id;
    MetricsSample::Host now;
    double cpu = 0;  // cores
  };
  std::vector<Method> methods;  // that had calls since the engine's start, the busiest first
  std::vector<Host> hosts;
  Method total;
  double cpu = 0;  // cores, of the engine
  double seconds = 0;
  MetricsSample now;

  static MetricsChange between(const MetricsSample& before, MetricsSample now, double seconds);
};

// As a table of at most so many lines, for people; and as one line of JSON.
std::string to_table(const MetricsChange& change, size_t lines);
std::string to_json(const MetricsChange& change, double unix_seconds);

}  // namespace drover::cli
