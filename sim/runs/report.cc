#include "sim/runs/report.h"

#include <cmath>

#include "sim/runs/text.h"

namespace drover::sim {
namespace {

double ns(Time time) { return static_cast<double>(time) / 1e3; }
double gigabytes(uint64_t bytes, Time time) {
  return time == 0 ? 0 : static_cast<double>(bytes) * 1e3 / static_cast<double>(time);
}

constexpr uint32_t kAllGroups = UINT32_MAX;

LegTotals total_leg(const workload::Workload& workload, const RunResult& result, Leg MessageResult::* member, Time time,
                    uint32_t group = kAllGroups) {
  LegTotals totals;
  totals.time = time;
  double logarithms = 0;
  for (const MessageResult& message : result.messages) {
    const Leg& leg = message.*member;
    if (group != kAllGroups && workload.messages[message.message].group != group) continue;
    ++totals.messages;
    totals.wire_bytes += workload.messages[message.message].wire.size();
    totals.mean_ns += ns(leg.time);
    totals.mean_cycles += static_cast<double>(leg.cycles);
    logarithms += std::log(std::max(ns(leg.time), 1e-3));
    totals.cpu += leg.cpu;
    totals.copies += leg.copies;
    static_cast<Counters&>(totals) += leg;
    ++(leg.outcome == Outcome::kSoftware ? totals.by_software : totals.by_engine);
  }
  auto count = static_cast<double>(std::max<uint64_t>(totals.messages, 1));
  totals.mean_ns /= count;
  totals.mean_cycles /= count;
  totals.geomean_ns = totals.messages == 0 ? 0 : std::exp(logarithms / count);
  return totals;
}

std::string outcome_name(const System& system, const Leg& leg, Direction direction) {
  const EngineType& engine = system.engine_type();
  if (leg.outcome == Outcome::kEngine) return engine.by;
  return "software: " + engine.reason_name(direction, leg.reason);
}

const char* kRowFormat = "%-12.12s %8s | %8s %10s %7s %7s %9s %9s | %8s %10s %7s %7s %9s %9s | %s\n";

std::string row(const std::string& name, uint64_t bytes, const Leg& receive, const Leg& send, const std::string& by) {
  auto count = [](uint64_t value) { return std::to_string(value); };
  auto one = [](double value) { return print("%.1f", value); };
  auto two = [](double value) { return print("%.2f", value); };
  return print(kRowFormat, name.c_str(), count(bytes).c_str(), count(receive.cycles).c_str(),
               one(ns(receive.time)).c_str(), two(gigabytes(bytes, receive.time)).c_str(),
               count(receive.link.writes).c_str(), count(receive.link.written_bytes).c_str(),
               one(ns(receive.cpu)).c_str(), count(send.cycles).c_str(), one(ns(send.time)).c_str(),
               two(gigabytes(bytes, send.time)).c_str(), count(send.link.reads).c_str(),
               count(send.link.read_bytes).c_str(), one(ns(send.cpu)).c_str(), by.c_str());
}

std::string total_lines(const char* name, const LegTotals& t) {
  std::string text = print(
      "%s: %llu messages, %llu bytes in %.3f us: %.3f GB/s, %.0f messages/s; a message %.1f ns on average (geometric "
      "%.1f), "
      "%.1f engine cycles\n",
      name, static_cast<unsigned long long>(t.messages), static_cast<unsigned long long>(t.wire_bytes),
      ns(t.time) / 1e3, t.bytes_per_second() / 1e9,
      t.time == 0 ? 0 : static_cast<double>(t.messages) * 1e12 / static_cast<double>(t.time), t.mean_ns, t.geomean_ns,
      t.mean_cycles);
  auto transfers = [](const LinkCounters& c) {
    return print("%llu writes of %llu bytes, %llu reads of %llu bytes", static_cast<unsigned long long>(c.writes),
                 static_cast<unsigned long long>(c.written_bytes), static_cast<unsigned long long>(c.reads),
                 static_cast<unsigned long long>(c.read_bytes));
  };
  text += "    DMA: " + transfers(t.link);
  if (t.link.pushes != 0) {
    text += print(", pushed by the CPU %llu bytes", static_cast<unsigned long long>(t.link.pushed_bytes));
  }
  if (t.card.writes + t.card.reads != 0) text += "; engine memory: " + transfers(t.card);
  text += print("; host CPU %.3f us, copy engine %.3f us\n", ns(t.cpu) / 1e3, ns(t.copies) / 1e3);
  auto waits = [&t](const char* what, const LinkWaits& w) {
    std::string line = print("    %s waited: bandwidth %.3f us, transaction rate %.3f us, in flight %.3f us", what,
                             ns(w.bandwidth) / 1e3, ns(w.interval) / 1e3, ns(w.in_flight) / 1e3);
    if (t.link.tlb_misses != 0) line += print(", TLB misses %.3f us", ns(w.tlb) / 1e3);
    return line + "\n";
  };
  if (t.link.tlb_misses != 0) {
    text += print("    TLB misses: %llu\n", static_cast<unsigned long long>(t.link.tlb_misses));
  }
  if (t.link.writes != 0) text += waits("writes", t.link.write_waits);
  if (t.link.reads != 0) text += waits("reads", t.link.read_waits);
  text += print(
      "    engine stalls, cycles: input %llu, DMA port %llu, waiting for read data %llu; left to software: %llu of "
      "%llu\n",
      static_cast<unsigned long long>(t.input_stalls), static_cast<unsigned long long>(t.port_stalls),
      static_cast<unsigned long long>(t.read_waits), static_cast<unsigned long long>(t.by_software),
      static_cast<unsigned long long>(t.messages));
  return text;
}

double cpu_mean(const LegTotals& t) { return ns(t.cpu) / static_cast<double>(std::max<uint64_t>(t.messages, 1)); }

// The means of each group's messages.
std::string group_lines(const workload::Workload& workload, const RunResult& result) {
  std::string text = print("\n%-12s | %10s %10s %10s %10s | %10s %10s %10s %10s\n", "group", "receive ns", "geometric",
                           "cycles", "cpu ns", "send ns", "geometric", "cycles", "cpu ns");
  for (const GroupTotals& group : group_totals(workload, result)) {
    auto leg = [](const LegTotals& t) {
      return print(" | %10.1f %10.1f %10.1f %10.1f", t.mean_ns, t.geomean_ns, t.mean_cycles, cpu_mean(t));
    };
    text += print("%-12s", group.name.c_str()) + leg(group.totals.receive) + leg(group.totals.send) + "\n";
  }
  return text;
}

// ---- JSON
std::string link_json(const LinkCounters& c) {
  auto waits = [](const LinkWaits& w) {
    return print("{\"bandwidth_ns\": %.3f, \"transaction_rate_ns\": %.3f, \"in_flight_ns\": %.3f, \"tlb_ns\": %.3f}",
                 ns(w.bandwidth), ns(w.interval), ns(w.in_flight), ns(w.tlb));
  };
  return print("\"dma_writes\": %llu, \"dma_written_bytes\": %llu, \"dma_reads\": %llu, \"dma_read_bytes\": %llu, ",
               static_cast<unsigned long long>(c.writes), static_cast<unsigned long long>(c.written_bytes),
               static_cast<unsigned long long>(c.reads), static_cast<unsigned long long>(c.read_bytes)) +
         print("\"pushes\": %llu, \"pushed_bytes\": %llu, \"tlb_misses\": %llu, ",
               static_cast<unsigned long long>(c.pushes), static_cast<unsigned long long>(c.pushed_bytes),
               static_cast<unsigned long long>(c.tlb_misses)) +
         "\"write_waits\": " + waits(c.write_waits) + ", \"read_waits\": " + waits(c.read_waits);
}
std::string card_json(const LinkCounters& c) {
  return print(
      ", \"engine_memory\": {\"writes\": %llu, \"written_bytes\": %llu, \"reads\": %llu, \"read_bytes\": %llu}",
      static_cast<unsigned long long>(c.writes), static_cast<unsigned long long>(c.written_bytes),
      static_cast<unsigned long long>(c.reads), static_cast<unsigned long long>(c.read_bytes));
}
std::string leg_json(const System& system, const Leg& leg, Direction direction) {
  return print("{\"time_ns\": %.3f, \"cycles\": %llu, \"host_cpu_ns\": %.3f, \"copy_engine_ns\": %.3f, ", ns(leg.time),
               static_cast<unsigned long long>(leg.cycles), ns(leg.cpu), ns(leg.copies)) +
         link_json(leg.link) + card_json(leg.card) +
         print(", \"stalls\": {\"input\": %llu, \"dma_port\": %llu, \"read_data\": %llu}, \"by\": ",
               static_cast<unsigned long long>(leg.input_stalls), static_cast<unsigned long long>(leg.port_stalls),
               static_cast<unsigned long long>(leg.read_waits)) +
         quoted(outcome_name(system, leg, direction)) + "}";
}
std::string work_json(const MessageWork& work) {
  return print("\"objects\": %llu, \"scalars\": %llu, \"strings\": %llu, \"string_bytes\": %llu",
               static_cast<unsigned long long>(work.objects), static_cast<unsigned long long>(work.scalars),
               static_cast<unsigned long long>(work.strings), static_cast<unsigned long long>(work.string_bytes));
}
std::string totals_json(const LegTotals& t) {
  std::string text = print("{\"messages\": %llu, \"wire_bytes\": %llu, ", static_cast<unsigned long long>(t.messages),
                           static_cast<unsigned long long>(t.wire_bytes));
  if (t.time != 0) text += print("\"time_ns\": %.3f, \"bytes_per_second\": %.0f, ", ns(t.time), t.bytes_per_second());
  return text +
         print(
             "\"mean_ns\": %.3f, \"geomean_ns\": %.3f, \"mean_cycles\": %.3f, \"host_cpu_ns\": %.3f, "
             "\"copy_engine_ns\": %.3f, \"left_to_software\": %llu, ",
             t.mean_ns, t.geomean_ns, t.mean_cycles, ns(t.cpu), ns(t.copies),
             static_cast<unsigned long long>(t.by_software)) +
         link_json(t.link) + card_json(t.card) + "}";
}

}  // namespace

RunTotals total(const workload::Workload& workload, const RunResult& result) {
  return {total_leg(workload, result, &MessageResult::receive, result.receive_time),
          total_leg(workload, result, &MessageResult::send, result.send_time)};
}

std::vector<GroupTotals> group_totals(const workload::Workload& workload, const RunResult& result) {
  std::vector<GroupTotals> groups;
  for (uint32_t group = 0; group < workload.groups.size(); ++group) {
    RunTotals totals{total_leg(workload, result, &MessageResult::receive, 0, group),
                     total_leg(workload, result, &MessageResult::send, 0, group)};
    if (totals.receive.messages != 0) groups.push_back({workload.groups[group].name, totals});
  }
  return groups;
}

std::string cpu_costs_from(const System& system) {
  std::string of = " (" + get_key(system, "cpu.codec") + ", caches " + get_key(system, "cpu.caches") + ")";
  return (system.platform.cpu.model == CpuModel::kStated ? "stated" : "measured on this machine") + of;
}

std::string table(const System& system, const workload::Workload& workload, const RunResult& result) {
  std::string text = system.name + ": " + system.description + "\nworkload " + workload.name + ", " +
                     std::to_string(system.run.in_flight) + " in flight; CPU costs " + cpu_costs_from(system) +
                     "; link " + get_key(system, "link.latency") + ", " + get_key(system, "link.bandwidth");
  text += system.engine_options().summary();
  text += "\n\n" + print("%-21s | %-55s | %-55s |\n", "", "receive", "send");
  text += print(kRowFormat, "message", "bytes", "cycles", "ns", "GB/s", "writes", "written", "cpu ns", "cycles", "ns",
                "GB/s", "reads", "read", "cpu ns", "by");
  for (const MessageResult& m : result.messages) {
    std::string by = outcome_name(system, m.receive, Direction::kReceive),
                by_send = outcome_name(system, m.send, Direction::kSend);
    if (by != by_send) by += ", " + by_send;
    const workload::WorkloadMessage& message = workload.messages[m.message];
    text += row(message.name, message.wire.size(), m.receive, m.send, by);
  }
  text += group_lines(workload, result);
  RunTotals totals = total(workload, result);
  return text + "\n" + total_lines("receive", totals.receive) + total_lines("send", totals.send);
}

std::string json(const System& system, const workload::Workload& workload, const RunResult& result) {
  std::string text = "{\"system\": " + quoted(system.name) + ", \"workload\": " + quoted(workload.name) +
                     ", \"cpu_costs\": " + quoted(cpu_costs_from(system)) + ",\n " + keys_json(system);
  RunTotals totals = total(workload, result);
  text += ",\n \"receive\": " + totals_json(totals.receive) + ",\n \"send\": " + totals_json(totals.send) +
          ",\n \"groups\": [";
  for (const GroupTotals& group : group_totals(workload, result)) {
    text += std::string(text.ends_with('[') ? "" : ",") + "\n  {\"name\": " + quoted(group.name) +
            ", \"receive\": " + totals_json(group.totals.receive) + ", \"send\": " + totals_json(group.totals.send) +
            "}";
  }
  text += "\n ],\n \"messages\": [";
  for (const MessageResult& m : result.messages) {
    const workload::WorkloadMessage& message = workload.messages[m.message];
    text += std::string(text.ends_with('[') ? "" : ",") + "\n  {\"name\": " + quoted(message.name) +
            ", \"wire_bytes\": " + std::to_string(message.wire.size()) + ", " + work_json(count_work(message)) +
            ",\n   \"receive\": " + leg_json(system, m.receive, Direction::kReceive) +
            ",\n   \"send\": " + leg_json(system, m.send, Direction::kSend) + "}";
  }
  return text + "\n ]}\n";
}

std::string sweep_heading(const std::string& key) {
  return print("%-21s | %11s %11s %8s %9s %9s | %11s %11s %8s %9s %9s\n", key.c_str(), "receive ns", "geometric",
               "GB/s", "writes", "CPU ns", "send ns", "geometric", "GB/s", "reads", "CPU ns");
}
std::string sweep_line(const std::string& value, const RunTotals& t) {
  auto leg = [](const LegTotals& l, uint64_t transactions) {
    auto count = static_cast<double>(std::max<uint64_t>(l.messages, 1));
    return print(" | %11.1f %11.1f %8.3f %9.1f %9.1f", l.mean_ns, l.geomean_ns, l.bytes_per_second() / 1e9,
                 static_cast<double>(transactions) / count, ns(l.cpu) / count);
  };
  return print("%-21s", value.c_str()) + leg(t.receive, t.receive.link.writes) + leg(t.send, t.send.link.reads) + "\n";
}

std::string group_table(const std::vector<std::string>& labels, const workload::Workload& workload,
                        const std::vector<RunResult>& results) {
  std::string text = print("\n%-12s %-21s | %11s %11s | %11s %11s %9s\n", "group", "", "receive ns", "geometric",
                           "send ns", "geometric", "CPU ns");
  std::vector<std::vector<GroupTotals>> totals;
  for (const RunResult& result : results) totals.push_back(group_totals(workload, result));
  for (size_t group = 0; !totals.empty() && group < totals[0].size(); ++group) {
    for (size_t i = 0; i < totals.size(); ++i) {
      const RunTotals& t = totals[i][group].totals;
      text += print("%-12s %-21s | %11.1f %11.1f | %11.1f %11.1f %9.1f\n", i == 0 ? totals[0][group].name.c_str() : "",
                    labels[i].c_str(), t.receive.mean_ns, t.receive.geomean_ns, t.send.mean_ns, t.send.geomean_ns,
                    cpu_mean(t.receive) + cpu_mean(t.send));
    }
  }
  return text;
}

}  // namespace drover::sim
