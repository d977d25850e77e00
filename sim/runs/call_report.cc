#include "sim/runs/call_report.h"

#include <algorithm>
#include <numeric>

#include "sim/runs/text.h"

namespace drover::sim {
namespace {

double percent(Time part, Time whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}
Time busy(const CoreResult& core) {
  Time sum = std::accumulate(core.spent.begin(), core.spent.end(), Time{0});
  return sum - core.spent[static_cast<size_t>(Work::kPoll)] - core.spent[static_cast<size_t>(Work::kIdle)];
}
double mean_us(const CallResult& result) {
  if (result.latencies.empty()) return 0;
  double sum = 0;
  for (uint32_t latency : result.latencies) sum += latency;
  return sum / 1e3 / static_cast<double>(result.latencies.size());
}

std::string load_text(const System& system) {
  const CallOptions& calls = system.calls;
  std::string text = std::to_string(calls.clients) + (calls.clients == 1 ? " client, " : " clients, ") +
                     std::to_string(calls.servers) + (calls.servers == 1 ? " server; " : " servers; ");
  if (calls.load == Load::kClosed) {
    text += "closed loop, " + std::to_string(calls.outstanding) + " outstanding each";
  } else {
    text += print("open loop, %.3g million calls/s, %s arrivals", calls.rate,
                  calls.arrivals == Arrivals::kPoisson ? "Poisson" : "fixed");
  }
  if (calls.messages == "none") {
    text += "; " + std::to_string(calls.request) + " B requests, " + std::to_string(calls.response) + " B responses";
  } else {
    text += "; messages of " + calls.messages + (calls.cut == 0 ? "" : " cut to " + std::to_string(calls.cut) + " B");
  }
  return text + "; measured for " + format_time(calls.time);
}

// Buckets of a 2^(1/4) scale, from the least latency to the greatest.
std::string histogram_json(const std::vector<uint32_t>& latencies) {
  std::string text = "[";
  double end = 16;
  for (size_t at = 0; at < latencies.size(); end *= 1.189207115) {
    size_t from = at;
    while (at < latencies.size() && latencies[at] < end) ++at;
    if (at == from) continue;
    text += (text.size() == 1 ? "" : ", ") + print("[%.3g, %zu]", end, at - from);
  }
  return text + "]";
}

std::string latency_json(const CallResult& result) {
  return print(
      "\"p50_us\": %.3f, \"p90_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f, \"max_us\": %.3f, "
      "\"mean_us\": %.3f",
      result.quantile_us(0.5), result.quantile_us(0.9), result.quantile_us(0.99), result.quantile_us(0.999),
      result.quantile_us(1), mean_us(result));
}

std::string rates_json(const CallResult& result) {
  return print("\"offered_mrps\": %.4f, \"mrps\": %.4f, \"completed\": %llu, \"lost\": %llu, ", result.offered_rate(),
               result.throughput(), static_cast<unsigned long long>(result.completed),
               static_cast<unsigned long long>(result.lost)) +
         latency_json(result);
}

}  // namespace

std::string call_table(const System& system, const CallResult& result) {
  std::string text = system.name + ": " + system.description + "\n" + load_text(system) + "\n" +
                     "core costs: " + system.platform.cores.source + system.engine_summary() + "\n\n";
  text += print("%-12s %10.3f million calls/s (%.3f offered); %llu calls checked, %llu lost\n", "throughput",
                result.throughput(), result.offered_rate(), static_cast<unsigned long long>(result.checked),
                static_cast<unsigned long long>(result.lost));
  if (result.messages_left_out != 0) {
    text += print("%-12s %10llu of the group; %llu are longer than a message of lines can be\n", "messages",
                  static_cast<unsigned long long>(result.messages),
                  static_cast<unsigned long long>(result.messages_left_out));
  }
  text += print("%-12s %10.2f us median, %.2f p90, %.2f p99, %.2f p99.9, %.2f greatest\n\n", "latency",
                result.quantile_us(0.5), result.quantile_us(0.9), result.quantile_us(0.99), result.quantile_us(0.999),
                result.quantile_us(1));
  text += print("%-12s %6s |", "core", "busy");
  for (size_t i = 0; i < kWorks; ++i) text += print(" %8s", work_name(static_cast<Work>(i)));
  text += " | % of the measured time\n";
  for (const CoreResult& core : result.cores) {
    text += print("%-12s %5.1f%% |", core.name.c_str(), percent(busy(core), result.measured));
    for (Time time : core.spent) text += print(" %8.1f", percent(time, result.measured));
    text += " |\n";
  }
  text += "\n";
  for (const EngineResult& engine : result.engines) {
    text += print("%-14s", engine.name.c_str());
    for (const auto& [name, value] : engine.figures) {
      if (value != 0) text += " " + name + " " + std::to_string(value);
    }
    text +=
        print("; link: %llu reads, %llu writes, %llu stores\n", static_cast<unsigned long long>(engine.link.reads),
              static_cast<unsigned long long>(engine.link.writes), static_cast<unsigned long long>(engine.link.pushes));
  }
  text +=
      print("%-14s %llu packets, %llu lost; busiest link %.1f %%; coherent endpoint %llu transactions, %.1f %% busy\n",
            "network", static_cast<unsigned long long>(result.network.packets),
            static_cast<unsigned long long>(result.network.lost), percent(result.network.busiest, result.whole),
            static_cast<unsigned long long>(result.endpoint_passed), percent(result.endpoint_busy, result.whole));
  return text;
}

std::string call_json(const System& system, const CallResult& result) {
  std::string text = "{\"system\": " + quoted(system.name) +
                     ", \"core_costs\": " + quoted(system.platform.cores.source) + ",\n " + keys_json(system) + ",\n " +
                     rates_json(result) + ",\n \"histogram_ns\": " + histogram_json(result.latencies) +
                     ",\n \"cores\": [";
  for (const CoreResult& core : result.cores) {
    text += std::string(text.ends_with('[') ? "" : ",") + "\n  {\"name\": " + quoted(core.name) +
            print(", \"busy\": %.4f", percent(busy(core), result.measured) / 100);
    for (size_t i = 0; i < kWorks; ++i) {
      text += print(", \"%s\": %.4f", work_name(static_cast<Work>(i)), percent(core.spent[i], result.measured) / 100);
    }
    text += "}";
  }
  text += "],\n \"engines\": [";
  for (const EngineResult& engine : result.engines) {
    text += std::string(text.ends_with('[') ? "" : ",") + "\n  {\"name\": " + quoted(engine.name);
    for (const auto& [name, value] : engine.figures) text += ", " + quoted(name) + ": " + std::to_string(value);
    text +=
        print(", \"link_reads\": %llu, \"link_writes\": %llu, \"link_stores\": %llu}",
              static_cast<unsigned long long>(engine.link.reads), static_cast<unsigned long long>(engine.link.writes),
              static_cast<unsigned long long>(engine.link.pushes));
  }
  return text + print(
                    "],\n \"network\": {\"packets\": %llu, \"lost\": %llu, \"busiest_link\": %.4f}, "
                    "\"endpoint\": {\"transactions\": %llu, \"busy\": %.4f}}\n",
                    static_cast<unsigned long long>(result.network.packets),
                    static_cast<unsigned long long>(result.network.lost),
                    percent(result.network.busiest, result.whole) / 100,
                    static_cast<unsigned long long>(result.endpoint_passed),
                    percent(result.endpoint_busy, result.whole) / 100);
}

std::string call_heading(const std::string& key) {
  return print("%-21s | %10s %10s | %8s %8s %8s %8s | %8s %8s\n", key.c_str(), "offered M/s", "served M/s", "p50 us",
               "p90", "p99", "p99.9", "client %", "server %");
}

std::string call_line(const std::string& value, const CallResult& result) {
  double client = 0, server = 0;  // the busiest of each
  for (const CoreResult& core : result.cores) {
    double& side = core.name.starts_with("client") ? client : server;
    side = std::max(side, percent(busy(core), result.measured));
  }
  return print("%-21s | %11.3f %10.3f | %8.2f %8.2f %8.2f %8.2f | %8.1f %8.1f\n", value.c_str(), result.offered_rate(),
               result.throughput(), result.quantile_us(0.5), result.quantile_us(0.9), result.quantile_us(0.99),
               result.quantile_us(0.999), client, server);
}

std::string curve_table(const System& system, const Curve& curve) {
  std::string text = system.name + ": " + system.description + "\n" + "core costs: " + system.platform.cores.source +
                     system.engine_summary() + "\n\n" + call_heading("offered load");
  for (const CurvePoint& point : curve.points) {
    text += call_line(print("%.3f%s", point.rate, point.rate == curve.saturation ? " saturation" : ""), point.result);
  }
  text += call_line("closed loop", curve.closed);
  return text + print("\nsaturation: %.3f million calls/s (the highest load at which calls do not pile up)\n",
                      curve.saturation);
}

std::string curve_json(const System& system, const Curve& curve) {
  std::string text = "{\"system\": " + quoted(system.name) +
                     ", \"core_costs\": " + quoted(system.platform.cores.source) + ",\n " + keys_json(system) +
                     print(",\n \"saturation_mrps\": %.4f,\n \"closed\": {", curve.saturation) +
                     rates_json(curve.closed) + "},\n \"points\": [";
  for (const CurvePoint& point : curve.points) {
    text += std::string(text.ends_with('[') ? "" : ",") + print("\n  {\"rate_mrps\": %.4f, ", point.rate) +
            rates_json(point.result) + "}";
  }
  return text + "]}\n";
}

}  // namespace drover::sim
