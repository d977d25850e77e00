// codec_bench: decode and encode of Drover beside protobuf C++ and upb, message by message, in one run.
//
// It checks that all of them read a message alike, then times all operations on it interleaved. Prints tables with
// geometric means; --json writes every measurement, from which bench/run_codec.py makes rows and a chart.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <regex>

#include "bench/codec/bench_message.h"
#include "bench/codec/instruction_counts.h"
#include "bench/codec/kinds.h"
#include "bench/codec/measure.h"
#include "bench/codec/report.h"
#include "bench/codec/subject.h"
#include "bench/codec/utf8_cases.h"

namespace drover::bench {
namespace {

struct Options {
  std::string hyperprotobench;
  std::vector<std::string> sets = {"hyperprotobench", "builtin", "packed"};
  std::string filter;
  std::string json;
  double seconds = 0.5;
  bool instructions = false;

  bool wants(const std::string& set) const { return std::find(sets.begin(), sets.end(), set) != sets.end(); }
};

// The messages to measure: of the requested sets, with names that match the filter.
BenchMessages selected_messages(const Options& options) {
  BenchMessages selected;
  std::regex filter(options.filter);
  auto add = [&](BenchMessages from) {
    if (selected.error.empty()) selected.error = from.error;
    for (BenchMessage& message : from.messages) {
      if (!options.wants(message.set) || !std::regex_search(message.name, filter)) continue;
      selected.messages.push_back(std::move(message));
    }
  };
  if (!options.hyperprotobench.empty()) add(hyperprotobench_messages(options.hyperprotobench));
  add(builtin_messages());
  add(kind_messages());
  return selected;
}

void print(const std::vector<Measured>& measured) {
  std::vector<Measured> kinds;
  std::vector<Measured> utf8;
  std::vector<Measured> messages;
  for (const Measured& m : measured) (m.set == "kinds" ? kinds : m.set == "utf8" ? utf8 : messages).push_back(m);
  if (!messages.empty()) print_messages(messages);
  if (!kinds.empty()) print_kinds(kinds);
  if (!utf8.empty()) print_utf8(utf8);
}

int run(const Options& options) {
  BenchMessages selected = selected_messages(options);
  if (!selected.error.empty()) {
    std::fprintf(stderr, "codec_bench: %s\n", selected.error.c_str());
    return 1;
  }
  if (options.instructions) return count_instructions(selected.messages) ? 0 : 1;
  std::vector<Measured> measured;
  bool ok = measure_each(selected.messages, options.seconds, &measured) &&
            measure_mix(selected.messages, options.seconds, &measured) &&
            (!options.wants("utf8") || measure_utf8(options.filter, options.seconds, &measured));
  if (!ok) return 1;
  print(measured);
  if (options.hyperprotobench.empty())
    std::printf("HyperProtoBench: absent, since no --hyperprotobench DIR is given\n");
  if (upb_version().empty()) std::printf("upb: absent, since this build has no UPB_SRC\n");
  if (!options.json.empty() && !write_json(options.json, measured)) {
    std::fprintf(stderr, "codec_bench: cannot write %s\n", options.json.c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace drover::bench

int main(int argc, char** argv) {
  drover::bench::Options options;
  bool quick = false;
  CLI::App app("Decode and encode of Drover beside protobuf C++ and upb.");
  app.add_option("--hyperprotobench", options.hyperprotobench, "folder with the published HyperProtoBench");
  app.add_option("--sets", options.sets, "hyperprotobench, builtin, packed, kinds, utf8")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--filter", options.filter, "only messages whose name this regular expression finds");
  app.add_option("--seconds", options.seconds, "for each message")->capture_default_str();
  app.add_flag("--quick", quick, "a smoke test: the figures are rough");
  app.add_flag("--instructions", options.instructions, "count instructions instead; under valgrind's callgrind");
  app.add_option("--json", options.json, "write all measurements to this file");
  CLI11_PARSE(app, argc, argv);
  if (quick) options.seconds = 0.01;
  return drover::bench::run(options);
}
