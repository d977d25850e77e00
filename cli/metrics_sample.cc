#include "cli/metrics_sample.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <limits>

namespace drover::cli {
namespace {

using Labels = std::map<std::string, std::string>;

constexpr double kMost = 1e18;  // of a value: sums stay finite, and fit into a line

// Finite and not negative. False: any other text, also "nan", by which nothing could be sorted.
bool parse_number(std::string_view text, double* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(*value) || *value < 0) return false;
  *value = std::min(*value, kMost);
  return true;
}

// `name{label="value",...} number`, with \\, \" and \n in values. False: no sample.
bool parse_line(std::string_view line, std::string* name, Labels* labels, double* value) {
  labels->clear();
  if (line.empty() || line[0] == '#') return false;
  size_t at = line.find_first_of("{ ");
  if (at == std::string_view::npos) return false;
  *name = line.substr(0, at);
  if (line[at] == '{') {
    ++at;
    while (at < line.size() && line[at] != '}') {
      const size_t equals = line.find("=\"", at);
      if (equals == std::string_view::npos) return false;
      std::string& text = (*labels)[std::string(line.substr(at, equals - at))];
      for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
        char c = line[at];
        if (c == '\\' && at + 1 < line.size()) c = line[++at] == 'n' ? '\n' : line[at];
        text += c < 0x20 || c > 0x7e ? '?' : c;  // for a terminal
      }
      if (++at < line.size() && line[at] == ',') ++at;
    }
    if (at++ >= line.size()) return false;
  }
  while (at < line.size() && line[at] == ' ') ++at;
  const std::string_view number = line.substr(at, line.find(' ', at) - at);
  return parse_number(number, value);
}

void take_method(std::string_view name, Labels& labels, double value, MetricsSample::Method* method) {
  if (name == "drover_requests_total") method->started = value;
  if (name == "drover_abandoned_total") method->abandoned = value;
  if (name == "drover_request_bytes_total") method->request_bytes = value;
  if (name == "drover_response_bytes_total") method->response_bytes = value;
  if (name == "drover_latency_seconds_bucket") {
    double bound = std::numeric_limits<double>::infinity();
    const std::string& text = labels["le"];
    if (text == "+Inf" || parse_number(text, &bound)) method->latency.emplace_back(bound, value);
  }
  if (name != "drover_responses_total") return;
  method->finished += value;
  if (labels["code"] != "OK") method->failed += value;
}

void take_host(std::string_view name, Labels& labels, double value, MetricsSample::Host* host) {
  host->name = labels["host"];
  if (labels.contains("pid")) host->pid = labels["pid"];
  if (name == "drover_host_calls_in_flight") host->calls += value;
  if (name == "drover_ring_depth") host->ring_depth = std::max(host->ring_depth, value);
  if (name == "drover_region_rx_used_bytes") host->rx_used += value;
  if (name == "drover_region_rx_bytes") host->rx_size += value;
  if (name == "drover_host_reply_bytes") host->reply_bytes += value;
  if (name == "drover_host_cpu_seconds_total") host->cpu_seconds = value;
}

// An engine that was started anew counts from 0 again.
double grown(double before, double now) { return now >= before ? now - before : now; }

// The latency that the fraction `part` of the calls between two samples was below, linear inside a bucket.
double quantile(const MetricsSample::Method& before, const MetricsSample::Method& now, double part) {
  std::vector<std::pair<double, double>> calls;  // up to a bound
  for (size_t i = 0; i < now.latency.size(); ++i) {
    const bool known = i < before.latency.size() && before.latency[i].second <= now.latency[i].second;
    calls.emplace_back(now.latency[i].first, now.latency[i].second - (known ? before.latency[i].second : 0));
  }
  if (calls.empty() || calls.back().second <= 0) return 0;
  const double wanted = part * calls.back().second;
  double low = 0, below = 0;
  for (const auto& [bound, count] : calls) {
    if (count >= wanted && count > below) {
      return std::isinf(bound) ? low : low + (bound - low) * (wanted - below) / (count - below);
    }
    low = std::isinf(bound) ? low : bound;
    below = count;
  }
  return low;
}

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string duration(double seconds) {
  if (seconds <= 0) return "-";
  if (seconds < 1e-3) return format("%.0f us", seconds * 1e6);
  if (seconds < 1) return format("%.1f ms", seconds * 1e3);
  return format("%.2f s", seconds);
}

std::string amount(double bytes) {
  if (bytes < 1e4) return format("%.0f", bytes);
  if (bytes < 1e7) return format("%.0f k", bytes / 1e3);
  if (bytes < 1e10) return format("%.0f M", bytes / 1e6);
  return format("%.0f G", bytes / 1e9);
}

std::string method_line(const char* name, const MetricsChange::Method& method) {
  return format("%10.0f %9.0f %9s %9s %9s %9s  %.200s\n", method.calls, method.failed, duration(method.p50).c_str(),
                duration(method.p99).c_str(), amount(method.request_bytes).c_str(),
                amount(method.response_bytes).c_str(), name);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;  // printable, by parse_line
  }
  return out + "\"";
}

std::string method_json(const MetricsChange::Method& method) {
  return format(
      "\"calls_per_s\":%.3f,\"failed_per_s\":%.3f,\"p50_s\":%.9f,\"p99_s\":%.9f,\"request_bytes_per_s\":%.0f,"
      "\"response_bytes_per_s\":%.0f",
      method.calls, method.failed, method.p50, method.p99, method.request_bytes, method.response_bytes);
}

}  // namespace

MetricsSample MetricsSample::parse(std::string_view text) {
  MetricsSample sample;
  std::string name;
  Labels labels;
  double value = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!parse_line(line, &name, &labels, &value)) continue;
    if (labels.contains("method")) take_method(name, labels, value, &sample.methods[labels["method"]]);
    if (labels.contains("host_id")) take_host(name, labels, value, &sample.hosts[labels["host_id"]]);
    if (name == "drover_connections") sample.connections += value;
    if (name == "drover_open_streams") sample.streams += value;
    if (name == "drover_waiting_calls") sample.waiting += value;
    if (name == "process_cpu_seconds_total") sample.cpu_seconds = value;
  }
  for (auto& [path, method] : sample.methods) std::sort(method.latency.begin(), method.latency.end());
  return sample;
}

MetricsChange MetricsChange::between(const MetricsSample& before, MetricsSample now, double seconds) {
  MetricsChange change;
  change.seconds = seconds;
  change.cpu = grown(before.cpu_seconds, now.cpu_seconds) / seconds;
  MetricsSample::Method all_before, all_now;
  auto add_latency = [](const MetricsSample::Method& method, MetricsSample::Method* all) {
    all->latency.resize(std::max(all->latency.size(), method.latency.size()));
    for (size_t i = 0; i < method.latency.size(); ++i) {
      all->latency[i].first = method.latency[i].first;
      all->latency[i].second += method.latency[i].second;
    }
  };
  for (const auto& [path, method] : now.methods) {
    if (method.started == 0) continue;
    const auto known = before.methods.find(path);
    const MetricsSample::Method old = known == before.methods.end() ? MetricsSample::Method() : known->second;
    const double abandoned = grown(old.abandoned, method.abandoned);
    Method one;
    one.path = path;
    one.calls = (grown(old.finished, method.finished) + abandoned) / seconds;
    one.failed = (grown(old.failed, method.failed) + abandoned) / seconds;
    one.request_bytes = grown(old.request_bytes, method.request_bytes) / seconds;
    one.response_bytes = grown(old.response_bytes, method.response_bytes) / seconds;
    one.p50 = quantile(old, method, 0.5);
    one.p99 = quantile(old, method, 0.99);
    change.total.calls += one.calls;
    change.total.failed += one.failed;
    change.total.request_bytes += one.request_bytes;
    change.total.response_bytes += one.response_bytes;
    add_latency(old, &all_before);
    add_latency(method, &all_now);
    change.methods.push_back(std::move(one));
  }
  change.total.p50 = quantile(all_before, all_now, 0.5);
  change.total.p99 = quantile(all_before, all_now, 0.99);
  std::stable_sort(change.methods.begin(), change.methods.end(),
                   [](const Method& a, const Method& b) { return a.calls > b.calls; });
  for (const auto& [id, host] : now.hosts) {
    const auto known = before.hosts.find(id);
    const double cpu = known == before.hosts.end() ? 0 : grown(known->second.cpu_seconds, host.cpu_seconds) / seconds;
    change.hosts.push_back({id, host, cpu});
  }
  change.now = std::move(now);
  return change;
}

std::string to_table(const MetricsChange& change, size_t lines) {
  const MetricsSample& now = change.now;
  std::string out = format("%.0f connections, %.0f streams, %.0f calls wait; engine %.2f cores\n\n", now.connections,
                           now.streams, now.waiting, change.cpu);
  out += "    pid      cores     calls ring depth  region used       replies  host\n";
  for (const MetricsChange::Host& host : change.hosts) {
    const double used = host.now.rx_size == 0 ? 0 : 100 * host.now.rx_used / host.now.rx_size;
    out += format("%7s %10.2f %9.0f %10.0f %5.1f%% %6s %12s  %.80s\n", host.now.pid.c_str(), host.cpu, host.now.calls,
                  host.now.ring_depth, used, amount(host.now.rx_used).c_str(), amount(host.now.reply_bytes).c_str(),
                  host.now.name.c_str());
  }
  out += "\n   calls/s  failed/s       p50       p99   in, B/s  out, B/s  method\n" + method_line("all", change.total);
  const size_t above = static_cast<size_t>(std::count(out.begin(), out.end(), '\n'));
  const size_t room = lines > above + 1 ? lines - above - 1 : 1;
  for (size_t i = 0; i < change.methods.size(); ++i) {
    if (i == room && change.methods.size() > room) {
      return out + format("%59s  and %zu more\n", "", change.methods.size() - i);
    }
    out += method_line(change.methods[i].path.c_str(), change.methods[i]);
  }
  return out;
}

std::string to_json(const MetricsChange& change, double unix_seconds) {
  std::string out = format(
      "{\"time\":%.3f,\"seconds\":%.3f,\"connections\":%.0f,\"streams\":%.0f,\"waiting_calls\":%.0f,"
      "\"engine_cores\":%.4f,\"total\":{",
      unix_seconds, change.seconds, change.now.connections, change.now.streams, change.now.waiting, change.cpu);
  out += method_json(change.total) + "},\"methods\":[";
  for (size_t i = 0; i < change.methods.size(); ++i) {
    out += (i == 0 ? "{\"method\":" : ",{\"method\":") + quoted(change.methods[i].path) + "," +
           method_json(change.methods[i]) + "}";
  }
  out += "],\"hosts\":[";
  for (size_t i = 0; i < change.hosts.size(); ++i) {
    const MetricsChange::Host& host = change.hosts[i];
    out += (i == 0 ? "{\"id\":" : ",{\"id\":") + quoted(host.id) + ",\"host\":" + quoted(host.now.name) +
           ",\"pid\":" + quoted(host.now.pid) +
           format(
               ",\"cores\":%.4f,\"calls\":%.0f,\"ring_depth\":%.0f,\"region_used_bytes\":%.0f,"
               "\"region_bytes\":%.0f,\"reply_bytes\":%.0f}",
               host.cpu, host.now.calls, host.now.ring_depth, host.now.rx_used, host.now.rx_size, host.now.reply_bytes);
  }
  return out + "]}\n";
}

}  // namespace drover::cli
