#include "engine/base/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>
#include <ctime>

#include <algorithm>
#include <charconv>
#include <set>

#include "engine/base/log.h"
#include "engine/base/metrics_address.h"

namespace drover::engine {

namespace {

// One method, added up over the engine threads.
struct MethodTotals {
  uint64_t started = 0;
  uint64_t abandoned = 0;
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
  std::array<uint64_t, kStatusCodes> finished{};
  std::array<uint64_t, LatencyHistogram::kBuckets> latency{};
  uint64_t latency_sum_ns = 0;

  void add(const MethodMetrics& m) {
    started += m.started.value();
    abandoned += m.abandoned.value();
    request_bytes += m.request_bytes.value();
    response_bytes += m.response_bytes.value();
    for (size_t i = 0; i < finished.size(); ++i) finished[i] += m.finished[i].value();
    for (int i = 0; i < LatencyHistogram::kBuckets; ++i) latency[static_cast<size_t>(i)] += m.latency.count(i);
    latency_sum_ns += m.latency.sum_ns();
  }
};

// A series that each host has, with its process id among the labels (engine/dispatch/host_link.cc).
constexpr std::string_view kOfHosts = "drover_host_calls_in_flight";

prometheus::MetricFamily family(const char* name, const char* help, prometheus::MetricType type) {
  prometheus::MetricFamily made;
  made.name = name;
  made.help = help;
  made.type = type;
  return made;
}

prometheus::ClientMetric counter_sample(std::vector<prometheus::ClientMetric::Label> labels, uint64_t value) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = static_cast<double>(value);
  return metric;
}

prometheus::ClientMetric latency_sample(const std::string& method, const MethodTotals& totals) {
  prometheus::ClientMetric metric;
  metric.label = {{"method", method}};
  uint64_t cumulative = 0;
  for (int i = 0; i < LatencyHistogram::kBuckets; ++i) {
    cumulative += totals.latency[static_cast<size_t>(i)];
    int64_t bound = LatencyHistogram::upper_bound_ns(i);
    double seconds = bound == INT64_MAX ? std::numeric_limits<double>::infinity() : static_cast<double>(bound) / 1e9;
    metric.histogram.bucket.push_back({cumulative, seconds});
  }
  metric.histogram.sample_count = cumulative;
  metric.histogram.sample_sum = static_cast<double>(totals.latency_sum_ns) / 1e9;
  return metric;
}

void append_methods(const std::map<std::string, MethodTotals>& methods, std::vector<prometheus::MetricFamily>& out) {
  using prometheus::MetricType;
  auto started = family("drover_requests_total", "Calls whose headers were accepted.", MetricType::Counter);
  auto finished = family("drover_responses_total", "Calls that were answered, by gRPC status.", MetricType::Counter);
  auto abandoned = family("drover_abandoned_total", "Calls that the client ended first.", MetricType::Counter);
  auto in = family("drover_request_bytes_total", "Bytes of request messages.", MetricType::Counter);
  auto out_bytes = family("drover_response_bytes_total", "Bytes of response messages.", MetricType::Counter);
  auto latency =
      family("drover_latency_seconds", "From a request's headers to its reply at the kernel.", MetricType::Histogram);
  for (const auto& [method, totals] : methods) {
    started.metric.push_back(counter_sample({{"method", method}}, totals.started));
    abandoned.metric.push_back(counter_sample({{"method", method}}, totals.abandoned));
    in.metric.push_back(counter_sample({{"method", method}}, totals.request_bytes));
    out_bytes.metric.push_back(counter_sample({{"method", method}}, totals.response_bytes));
    for (size_t i = 0; i < totals.finished.size(); ++i) {
      if (totals.finished[i] == 0 && i != 0) continue;
      finished.metric.push_back(counter_sample(
          {{"method", method}, {"code", status_code_name(static_cast<StatusCode>(i))}}, totals.finished[i]));
    }
    latency.metric.push_back(latency_sample(method, totals));
  }
  for (auto* one : {&started, &finished, &abandoned, &in, &out_bytes, &latency}) out.push_back(std::move(*one));
}

// CPU time of a process in seconds; negative: there is no such process. By its clock, for which no file is opened.
double cpu_seconds_of(const std::string& pid) {
  pid_t number = 0;
  auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), number);
  clockid_t clock;
  timespec time{};
  if (error != std::errc() || number <= 0 || ::clock_getcpuclockid(number, &clock) != 0) return -1;
  if (::clock_gettime(clock, &time) != 0) return -1;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

prometheus::ClientMetric cpu_sample(std::vector<prometheus::ClientMetric::Label> labels, double seconds) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = seconds;
  return metric;
}

// The engine's own CPU time, under the name that Prometheus's clients give it, and that of each of `hosts`.
void append_cpu(const std::set<ThreadMetrics::Labels>& hosts, std::vector<prometheus::MetricFamily>& out) {
  using prometheus::MetricType;
  auto own = family("process_cpu_seconds_total", "CPU time of the engine, all its threads.", MetricType::Counter);
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  own.metric.push_back(cpu_sample({}, static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9));
  out.push_back(std::move(own));
  auto theirs = family("drover_host_cpu_seconds_total", "CPU time of a host's process.", MetricType::Counter);
  for (const ThreadMetrics::Labels& labels : hosts) {
    std::vector<prometheus::ClientMetric::Label> made;
    double seconds = -1;
    for (const auto& [name, value] : labels) {
      made.push_back({name, value});
      if (name == "pid") seconds = cpu_seconds_of(value);
    }
    if (seconds >= 0) theirs.metric.push_back(cpu_sample(std::move(made), seconds));
  }
  if (!theirs.metric.empty()) out.push_back(std::move(theirs));
}

}  // namespace

ThreadMetrics::ThreadMetrics(uint32_t thread) : thread_(thread) {
  unknown_ = method("unknown");
  connections = gauge("drover_connections", "Open client connections.");
  connections_accepted = counter("drover_connections_accepted_total", "Client connections accepted.");
  connections_refused = counter("drover_connections_refused_total", "Client connections over the limit.");
  protocol_errors = counter("drover_protocol_errors_total", "Broken frames and connections ended for them.");
  open_streams = gauge("drover_open_streams", "HTTP/2 streams in progress.");
  received_bytes = counter("drover_socket_received_bytes_total", "Bytes read from sockets.");
  sent_bytes = counter("drover_socket_sent_bytes_total", "Bytes written to sockets.");
  loop_iterations = counter("drover_loop_turns_total", "Turns of the event loops.");
  loop_sleeps = counter("drover_loop_sleeps_total", "Turns that slept.");
}

ThreadMetrics::~ThreadMetrics() = default;

MethodMetrics* ThreadMetrics::method(std::string_view path) {
  if (auto found = methods_.find(path); found != methods_.end()) {
    ++found->second.users;
    return found->second.metrics.get();
  }
  auto made = std::make_shared<MethodMetrics>(std::string(path));
  std::lock_guard<std::mutex> lock(mutex_);
  methods_.emplace(made->path(), Method{made, 1});
  return made.get();
}

void ThreadMetrics::release(MethodMetrics* method) {
  auto at = methods_.find(method->path());
  if (--at->second.users != 0) return;
  removed_abandoned_.add(method->abandoned.value());
  std::shared_ptr<MethodMetrics> last = at->second.metrics;  // ends outside the lock
  std::lock_guard<std::mutex> lock(mutex_);
  methods_.erase(at);
}

uint64_t ThreadMetrics::abandoned_calls() const {
  uint64_t sum = removed_abandoned_.value();
  visit([&sum](const MethodMetrics& method) { sum += method.abandoned.value(); }, [](const Series&) {});
  return sum;
}

std::vector<std::shared_ptr<const MethodMetrics>> ThreadMetrics::methods_after(const std::string& path) const {
  constexpr size_t kGroup = 256;
  std::vector<std::shared_ptr<const MethodMetrics>> some;
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = methods_.upper_bound(path); at != methods_.end() && some.size() < kGroup; ++at) {
    some.push_back(at->second.metrics);
  }
  return some;
}

Counter* ThreadMetrics::counter(std::string_view name, std::string_view help, Labels labels) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto made = std::make_unique<Counter>();
  series_.push_back({std::string(name), std::string(help), std::move(labels), std::move(made), nullptr});
  return series_.back().counter.get();
}

Gauge* ThreadMetrics::gauge(std::string_view name, std::string_view help, Labels labels) {
  std::lock_guard<std::mutex> lock(mutex_);
  series_.push_back({std::string(name), std::string(help), std::move(labels), nullptr, std::make_unique<Gauge>()});
  return series_.back().gauge.get();
}

void ThreadMetrics::remove(const Counter* counter) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(series_, [&](const Series& series) { return series.counter.get() == counter && counter; });
}

void ThreadMetrics::remove(const Gauge* gauge) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(series_, [&](const Series& series) { return series.gauge.get() == gauge && gauge; });
}

struct MetricsExporter::Impl {
  struct Source final : prometheus::Collectable {
    std::vector<prometheus::MetricFamily> Collect() const override;
    std::vector<const ThreadMetrics*> threads;
  };
  std::shared_ptr<Source> source = std::make_shared<Source>();
  std::unique_ptr<prometheus::Exposer> exposer;
  std::string address, numeric;
};

std::vector<prometheus::MetricFamily> MetricsExporter::Impl::Source::Collect() const {
  std::map<std::string, MethodTotals> methods;
  struct Total {
    std::string help;
    bool is_gauge = false;
    std::map<ThreadMetrics::Labels, uint64_t> counters;
    std::vector<std::pair<ThreadMetrics::Labels, int64_t>> gauges;
  };
  std::map<std::string, Total> totals;
  std::set<ThreadMetrics::Labels> hosts;
  for (const ThreadMetrics* thread : threads) {
    thread->visit([&](const MethodMetrics& m) { methods[m.path()].add(m); },
                  [&](const ThreadMetrics::Series& series) {
                    Total& total = totals[series.name];
                    if (series.name == kOfHosts) hosts.insert(series.labels);
                    total.help = series.help;
                    total.is_gauge = series.gauge != nullptr;
                    if (series.counter) {
                      total.counters[series.labels] += series.counter->value();
                    } else {
                      ThreadMetrics::Labels labels = series.labels;
                      labels.emplace_back("thread", std::to_string(thread->thread()));
                      total.gauges.emplace_back(std::move(labels), series.gauge->value());
                    }
                  });
  }
  std::vector<prometheus::MetricFamily> out;
  append_methods(methods, out);
  append_cpu(hosts, out);
  auto to_labels = [](const ThreadMetrics::Labels& labels) {
    std::vector<prometheus::ClientMetric::Label> made;
    for (const auto& [name, value] : labels) made.push_back({name, value});
    return made;
  };
  for (const auto& [name, total] : totals) {
    auto made = family(name.c_str(), total.help.c_str(),
                       total.is_gauge ? prometheus::MetricType::Gauge : prometheus::MetricType::Counter);
    for (const auto& [labels, value] : total.counters) made.metric.push_back(counter_sample(to_labels(labels), value));
    for (const auto& [labels, value] : total.gauges) {
      prometheus::ClientMetric metric;
      metric.label = to_labels(labels);
      metric.gauge.value = static_cast<double>(value);
      made.metric.push_back(std::move(metric));
    }
    out.push_back(std::move(made));
  }
  return out;
}

MetricsExporter::MetricsExporter() : impl_(std::make_unique<Impl>()) {}
MetricsExporter::~MetricsExporter() = default;

void MetricsExporter::add(const ThreadMetrics* metrics) { impl_->source->threads.push_back(metrics); }

std::string MetricsExporter::start(const std::string& address) {
  std::string wrong = prepare(address);
  return wrong.empty() ? start() : wrong;
}

std::string MetricsExporter::prepare(const std::string& address) {
  impl_->address = address;
  const Listening where = resolve_listening(address);
  if (!where.error.empty()) return "metrics.address: " + where.error;
  if (!where.left_out.empty()) {
    log::warn("metrics are not served at all of the address", {{"address", address}, {"left_out", where.left_out}});
  }
  impl_->numeric = where.numeric;
  return "";
}

std::string MetricsExporter::start() {
  try {
    // A scraper that reads slowly takes one of the threads, for as long as a request may take.
    impl_->exposer = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", impl_->numeric, "num_threads", "4", "request_timeout_ms", "2000",
                                 "keep_alive_timeout_ms", "500"});
    impl_->exposer->RegisterCollectable(impl_->source);
    return "";
  } catch (const std::exception&) {  // its text names CivetServer's state, not the reason
    return "metrics.address: cannot serve on '" + impl_->address + "': the HTTP server did not start";
  }
}

std::string MetricsExporter::text() const { return prometheus::TextSerializer().Serialize(impl_->source->Collect()); }

}  // namespace drover::engine
