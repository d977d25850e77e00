// `drover sim`: a workload through a simulated system, message by message, or calls between two simulated hosts
// (cli/sim_calls.h); or one key of the system swept over a range.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>

#include "cli/command.h"
#include "cli/sim_calls.h"
#include "sim/runs/report.h"
#include "sim/runs/run.h"
#include "workload/cut_strings.h"

namespace drover::cli {
namespace {

using sim::CostsResult;
using sim::RunResult;
using sim::System;
using workload::Workload;

struct Sweep {
  std::string key;
  std::vector<std::string> values;
};

class Command {
 public:
  void add_options(CLI::App* app) {
    app->add_option("system", names_, "one of --list, or a file that ends in .toml; several are put side by side")
        ->type_name("SYSTEM...");
    app->add_flag("--list", list_, "the systems that there are, and every key with its meaning and default");
    app->add_option(
           "--workload", workload_,
           "builtin (like0, 1, 3, 4), builtin-all (like2 and like5 too), or hyperprotobench:DIR (the published one)")
        ->type_name("NAME")
        ->capture_default_str();
    app->add_option("--messages", messages_,
                    "only the one of that name, or those whose names begin so (\"bench3.M1\", \"like1\")")
        ->type_name("NAME");
    app->add_option("--max-size", max_size_, "only messages of at most so many wire bytes")->type_name("BYTES");
    app->add_option("--cut", cut_, "cuts strings and bytes values to so many bytes")->type_name("BYTES");
    app->add_option("--seed", seed_, "of the built-in workload")->capture_default_str();
    app->add_option("--set", sets_, "a key of the system, once or more often")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app->add_option("--sweep", sweep_, "runs for several values of a key: 70ns..1250ns (--points of them), or a,b,c")
        ->type_name("KEY=RANGE");
    app->add_flag("--curve", curve_, "of a system of calls: latency against load, with the load at which it saturates");
    app->add_option("--points", points_, "of a range or a curve")->check(CLI::Range(2, 100))->capture_default_str();
    app->add_option("-j,--jobs", jobs_, "runs of a sweep at once")->check(CLI::Range(1, 256))->capture_default_str();
    app->add_option("--trace", trace_, "writes the engines' handshakes as a waveform")->type_name("FILE.vcd");
    app->add_option("--json", json_, "writes all figures; - is stdout instead of the table")->type_name("FILE");
  }

  int run() {
    if (list_) return list();
    if (names_.empty()) return fail("sim", "name a system, or ask for --list", kUsage);
    std::vector<System> systems;
    for (const std::string& name : names_) {
      sim::SystemResult loaded = sim::load_system(name);
      std::string error = loaded.error;
      if (error.empty()) error = set_keys(&loaded.system);
      if (!error.empty()) return fail("sim", error, kUsage);
      systems.push_back(std::move(loaded.system));
    }
    if (systems.size() > 1 && (!sweep_.empty() || !trace_.empty() || curve_)) {
      return fail("sim", "--sweep, --curve and --trace go with one system", kUsage);
    }
    if (systems[0].for_calls()) return run_calls(systems);
    if (curve_) return fail("sim", "--curve is for systems of calls, such as dagger", kUsage);
    Workload workload;
    if (std::string error = load_workload(&workload); !error.empty()) return fail("sim", error);
    if (systems.size() > 1) return run_several("system", names_, systems, workload);
    return sweep_.empty() ? run_once(systems[0], workload) : run_sweep(systems[0], workload);
  }

 private:
  std::string set_keys(System* system) const {
    for (const std::string& set : sets_) {
      size_t equals = set.find('=');
      if (equals == std::string::npos) return "--set " + set + ": KEY=VALUE is expected";
      std::string error = sim::set_key(system, set.substr(0, equals), set.substr(equals + 1));
      if (!error.empty()) return "--set: " + error;
    }
    return "";
  }

  static int list() {
    std::printf("systems\n");
    for (const sim::BuiltInSystem& built_in : sim::built_in_systems()) {
      sim::SystemResult loaded = sim::load_system(std::string(built_in.name));
      std::printf("  %-18s %s\n", std::string(built_in.name).c_str(), loaded.system.description.c_str());
    }
    std::printf("\nkeys, and what they are where a system does not say\n");
    for (const sim::SystemKey& key : sim::system_keys()) {
      std::printf("  %-30s %-16s %s\n", key.name.c_str(), key.value.empty() ? "-" : key.value.c_str(),
                  key.meaning.c_str());
    }
    return kDone;
  }

  std::string load_workload(Workload* out) const {
    constexpr std::string_view kPublished = "hyperprotobench:";
    workload::WorkloadResult loaded;
    if (workload_ == "builtin") {
      loaded = workload::hyperproto_like(seed_, workload::WorkloadPart::kPublished);
    } else if (workload_ == "builtin-all") {
      loaded = workload::hyperproto_like(seed_, workload::WorkloadPart::kAll);
    } else if (workload_.starts_with(kPublished)) {
      loaded = workload::load_hyperprotobench(workload_.substr(kPublished.size()));
    } else {
      return "there is no workload " + workload_ + "; there are builtin, builtin-all and hyperprotobench:DIR";
    }
    if (!loaded.ok()) return loaded.error;
    auto& all = loaded.workload.messages;
    bool whole = std::any_of(all.begin(), all.end(), [this](const auto& message) { return message.name == messages_; });
    std::erase_if(all, [&](const workload::WorkloadMessage& message) {
      bool named = whole ? message.name == messages_ : message.name.starts_with(messages_);
      return !named || message.wire.size() > max_size_;
    });
    if (loaded.workload.messages.empty()) return "no message of the workload is left by --messages and --max-size";
    *out = std::move(loaded.workload);
    if (cut_ == SIZE_MAX) return "";
    for (workload::WorkloadMessage& message : out->messages) {
      message.wire = workload::cut_strings(message.type, message.wire, cut_);
    }
    out->name += ", strings cut to " + std::to_string(cut_);
    return "";
  }

  int run_once(const System& system, const Workload& workload) const {
    CostsResult costs = sim::workload_costs(system, workload);
    if (!costs.error.empty()) return fail("sim", costs.error);
    RunResult result = sim::run(system, workload, costs, trace_);
    if (!result.ok()) return fail("sim", system.name + ": " + result.error);
    if (json_ != "-") std::fputs(sim::table(system, workload, result).c_str(), stdout);
    return json_.empty() ? kDone : write_json(json_, sim::json(system, workload, result));
  }
  int run_calls(const std::vector<System>& systems) const {
    if (!trace_.empty()) return fail("sim", "--trace is for systems of messages", kUsage);
    CallCommand command{jobs_, json_};
    if (systems.size() > 1) return run_each("system", names_, systems, command);
    if (curve_) return run_curve(systems[0], points_, command);
    if (sweep_.empty()) return run_one(systems[0], command);
    Sweep sweep;
    std::vector<System> swept;
    if (std::string error = sweep_systems(systems[0], &sweep, &swept); !error.empty()) {
      return fail("sim", "--sweep: " + error, kUsage);
    }
    return run_each(sweep.key, sweep.values, swept, command);
  }

  // The system with each value of the swept key.
  std::string sweep_systems(const System& base, Sweep* sweep, std::vector<System>* out) const {
    if (std::string error = parse_sweep(sweep); !error.empty()) return error;
    for (const std::string& value : sweep->values) {
      out->push_back(base);
      std::string error = sim::set_key(&out->back(), sweep->key, value);
      if (!error.empty()) return error;
    }
    return "";
  }

  int run_sweep(const System& base, const Workload& workload) const {
    Sweep sweep;
    std::vector<System> systems;
    if (std::string error = sweep_systems(base, &sweep, &systems); !error.empty()) {
      return fail("sim", "--sweep: " + error, kUsage);
    }
    if (json_ != "-") std::printf("%s: %s\n", base.name.c_str(), base.description.c_str());
    return run_several(sweep.key, sweep.values, systems, workload);
  }

  // Side by side, one line per bench.
  int run_several(const std::string& heading, const std::vector<std::string>& labels,
                  const std::vector<System>& systems, const Workload& workload) const {
    std::vector<CostsResult> costs;  // before anything runs, so that what is measured is not disturbed
    for (const System& system : systems) {
      costs.push_back(sim::workload_costs(system, workload));
      if (!costs.back().error.empty()) return fail("sim", costs.back().error);
    }
    std::vector<RunResult> results =
        sim::run_all(systems, workload, costs, jobs_, [&](size_t ended) { show_progress(ended, systems.size()); });
    std::string text = sim::sweep_heading(heading), all = "[";
    for (size_t i = 0; i < systems.size(); ++i) {
      if (!results[i].ok()) return fail("sim", heading + " " + labels[i] + ": " + results[i].error);
      text += sim::sweep_line(labels[i], sim::total(workload, results[i]));
      all += (i == 0 ? "" : ",\n") + sim::json(systems[i], workload, results[i]);
    }
    if (json_ != "-") {
      text += sim::group_table(labels, workload, results);
      std::printf("workload %s, %zu messages; CPU costs: %s; mean and geometric mean of the messages' times\n\n%s",
                  workload.name.c_str(), workload.messages.size(), costs_from(labels, systems).c_str(), text.c_str());
    }
    return json_.empty() ? kDone : write_json(json_, all + "]\n");
  }

  // The origin of the costs, printed once if all systems have the same.
  static std::string costs_from(const std::vector<std::string>& labels, const std::vector<System>& systems) {
    std::string text, last;
    for (size_t i = 0; i < systems.size(); ++i) {
      std::string from = sim::cpu_costs_from(systems[i]);
      text += from == last ? ", " : (text.empty() ? "" : "; ") + from + " for ";
      text += labels[i];
      last = from;
    }
    bool same = std::all_of(systems.begin(), systems.end(),
                            [&](const System& system) { return sim::cpu_costs_from(system) == last; });
    return same ? last : text;
  }

  // "link.latency=70ns..1250ns" or "link.latency=70ns,400ns".
  std::string parse_sweep(Sweep* out) const {
    size_t equals = sweep_.find('=');
    if (equals == std::string::npos) return sweep_ + ": KEY=FROM..TO or KEY=A,B,C is expected";
    out->key = sweep_.substr(0, equals);
    std::string range = sweep_.substr(equals + 1);
    size_t dots = range.find("..");
    if (dots == std::string::npos) {
      for (size_t at = 0; at <= range.size();) {
        size_t comma = std::min(range.find(',', at), range.size());
        out->values.push_back(range.substr(at, comma - at));
        at = comma + 1;
      }
      return "";
    }
    auto split = [](const std::string& text, double* value, std::string* unit) {
      char* end = nullptr;
      *value = std::strtod(text.c_str(), &end);
      *unit = end;
      return end != text.c_str();
    };
    double from = 0, to = 0;
    std::string from_unit, to_unit;
    if (!split(range.substr(0, dots), &from, &from_unit) || !split(range.substr(dots + 2), &to, &to_unit)) {
      return range + " is no range of figures";
    }
    if (from_unit != to_unit) return range + ": both ends need the same unit";
    for (unsigned i = 0; i < points_; ++i) {
      double value = from + (to - from) * i / (points_ - 1);
      char text[64];
      std::snprintf(text, sizeof(text), "%.10g%s", std::round(value * 1000) / 1000, from_unit.c_str());
      out->values.emplace_back(text);
    }
    return "";
  }

  std::string workload_ = "builtin", messages_, sweep_, trace_, json_;
  std::vector<std::string> names_, sets_;
  uint64_t seed_ = workload::kDefaultSeed;
  size_t max_size_ = SIZE_MAX, cut_ = SIZE_MAX;
  unsigned points_ = 9, jobs_ = std::max(1u, std::thread::hardware_concurrency());
  bool list_ = false, curve_ = false;
};

}  // namespace

void add_sim(CLI::App* app, Run* run) {
  auto command = std::make_shared<Command>();
  CLI::App* sub = app->add_subcommand("sim", "Run a workload through a simulated SmartNIC or CPU (docs/sim.md)");
  command->add_options(sub);
  sub->callback([command, run] { *run = [command] { return command->run(); }; });
}

}  // namespace drover::cli
