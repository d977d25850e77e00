// codec_bench: decode and encode of Drover beside protobuf C++ and upb, message by message, in one run.
//
// It checks that all of them understand a message alike, then times all operations on it interleaved. Prints a table
// with geometric means; --json writes every measurement, from which bench/run_codec.py makes rows and a chart.
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "bench/codec/bench_message.h"
#include "bench/codec/interleave.h"
#include "bench/codec/subject.h"

namespace drover::bench {
namespace {

constexpr size_t kSmallMessage = 4096;

struct Measured {
  const BenchMessage* message;
  std::string implementation;
  std::string metric;
  Timing timing;
};

// ---- the same meaning

// Parses and prints again by protobuf C++'s dynamic messages, with sorted maps: equal text, equal messages.
class Canonical {
 public:
  explicit Canonical(const BenchMessage& message) {
    for (const auto& file : message.schema->file()) pool_.BuildFile(file);
    prototype_ = factory_.GetPrototype(pool_.FindMessageTypeByName(message.type_name));
  }
  // Empty if the bytes do not parse.
  std::string of(const std::string& wire) const {
    std::unique_ptr<google::protobuf::Message> message(prototype_->New());
    if (!message->ParsePartialFromString(wire)) return "";
    std::string bytes;
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message->SerializePartialToCodedStream(&coded);
    coded.Trim();
    return bytes;
  }

 private:
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
  const google::protobuf::Message* prototype_;
};

bool check(const BenchMessage& message, const std::vector<std::unique_ptr<Subject>>& subjects) {
  Canonical canonical(message);
  std::string expected = canonical.of(message.wire);
  for (const auto& subject : subjects) {
    std::vector<std::string> results = subject->round_trips();
    for (size_t i = 0; i < results.size(); ++i) {
      if (!message.wire.empty() && !results[i].empty() && canonical.of(results[i]) == expected) continue;
      std::fprintf(stderr, "codec_bench: %s: %s's round trip %zu gives another message\n", message.name.c_str(),
                   subject->operations()[0].implementation.c_str(), i);
      return false;
    }
  }
  return true;
}

// ---- measuring

bool measure(const BenchMessage& message, double seconds, std::vector<Measured>* results) {
  std::vector<std::unique_ptr<Subject>> subjects;
  subjects.push_back(drover_subject(message));
  for (auto make : {protobuf_subject, upb_subject}) {
    if (auto subject = make(message)) subjects.push_back(std::move(subject));
  }
  if (!check(message, subjects)) return false;
  std::vector<Operation> operations;
  std::vector<std::function<bool(int)>> functions;
  for (const auto& subject : subjects) {
    for (Operation& operation : subject->operations()) {
      functions.push_back(operation.run);
      operations.push_back(std::move(operation));
    }
  }
  std::vector<Timing> timings = time_interleaved(functions, seconds);
  for (size_t i = 0; i < timings.size(); ++i) {
    if (!timings[i].ok) {
      std::fprintf(stderr, "codec_bench: %s: %s %s failed\n", message.name.c_str(),
                   operations[i].implementation.c_str(), operations[i].metric.c_str());
      return false;
    }
    results->push_back({&message, operations[i].implementation, operations[i].metric, timings[i]});
  }
  return true;
}

// ---- the table

// A column of figures for one comparison: Drover's metric against a peer's.
struct Comparison {
  const char* metric;
  const char* peer;
  const char* peer_metric;
};
constexpr Comparison kComparisons[] = {
    {"decode_copy", "protobuf", "decode_copy"},
    {"decode_copy", "upb", "decode_copy"},
    {"decode_alias", "protobuf", "decode_copy"},
    {"decode_alias", "upb", "decode_alias"},
    {"encode_pieces", "protobuf", "encode_contiguous"},
    {"encode_pieces", "upb", "encode_contiguous"},
    {"encode_pieces_bounded", "protobuf", "encode_contiguous"},
    {"encode_contiguous", "protobuf", "encode_contiguous"},
    {"encode_contiguous", "upb", "encode_contiguous"},
    {"decode_copy", "upb-without-fast-table", "decode_copy"},
};
constexpr const char* kColumns[][2] = {
    {"drover", "decode_copy"},       {"protobuf", "decode_copy"},       {"upb", "decode_copy"},
    {"drover", "decode_alias"},      {"upb", "decode_alias"},           {"drover", "encode_pieces"},
    {"drover", "encode_contiguous"}, {"protobuf", "encode_contiguous"}, {"upb", "encode_contiguous"},
};

class Results {
 public:
  explicit Results(const std::vector<Measured>& measured) {
    for (const Measured& m : measured) ns_[{m.message, m.implementation, m.metric}] = m.timing.low_ns;
  }
  double ns(const BenchMessage* message, const std::string& implementation, const std::string& metric) const {
    auto found = ns_.find({message, implementation, metric});
    return found == ns_.end() ? 0 : found->second;
  }

 private:
  std::map<std::tuple<const BenchMessage*, std::string, std::string>, double> ns_;
};

void print_messages(const std::vector<BenchMessage>& messages, const Results& results) {
  std::printf("%-14s %8s  %31s  %20s  %43s\n", "", "", "decode, copying", "decode, aliasing", "encode");
  std::printf("%-14s %8s  %9s %10s %10s  %9s %10s  %9s %10s %10s %10s   ns, 5th percentile\n", "message", "bytes",
              "drover", "protobuf", "upb", "drover", "upb", "pieces", "contiguous", "protobuf", "upb");
  for (const BenchMessage& message : messages) {
    std::printf("%-14s %8zu ", message.name.c_str(), message.wire.size());
    for (size_t i = 0; i < std::size(kColumns); ++i) {
      if (i == 3 || i == 5) std::printf(" ");
      double ns = results.ns(&message, kColumns[i][0], kColumns[i][1]);
      ns == 0 ? std::printf(" %9s", "-") : std::printf(" %9.1f", ns);
      if (i != 0 && i != 3 && i != 5) std::printf(" ");
    }
    std::printf("\n");
  }
}

// The geometric mean of peer time / Drover time; 0 where there is nothing to compare.
double speedup(const std::vector<BenchMessage>& messages, const Results& results, const Comparison& c,
               const std::function<bool(const BenchMessage&)>& take) {
  double logs = 0;
  int count = 0;
  for (const BenchMessage& message : messages) {
    double own = results.ns(&message, "drover", c.metric);
    double peer = results.ns(&message, c.peer, c.peer_metric);
    if (!take(message) || own == 0 || peer == 0) continue;
    logs += std::log(peer / own);
    ++count;
  }
  return count == 0 ? 0 : std::exp(logs / count);
}

void print_geomeans(const std::vector<BenchMessage>& messages, const Results& results) {
  std::printf("\nHow many times as fast as the peer (geometric mean of peer time / Drover time):\n");
  std::printf("%-24s %-24s %10s %10s\n", "metric", "peer", "under 4K", "all");
  for (const Comparison& c : kComparisons) {
    double small = speedup(messages, results, c, [](const auto& m) { return m.wire.size() < kSmallMessage; });
    double all = speedup(messages, results, c, [](const auto&) { return true; });
    if (all == 0) continue;
    std::printf("%-24s %-24s %10.2f %10.2f\n", c.metric, c.peer, small, all);
  }
}

bool write_json(const std::string& path, const std::vector<Measured>& measured) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  std::fprintf(file, "{\"upb\": \"%s\", \"protobuf\": %d, \"measurements\": [", upb_version().c_str(),
               GOOGLE_PROTOBUF_VERSION);
  const char* separator = "\n";
  for (const Measured& m : measured) {
    std::fprintf(file,
                 "%s{\"message\": \"%s\", \"set\": \"%s\", \"bytes\": %zu, \"implementation\": \"%s\", "
                 "\"metric\": \"%s\", \"ns\": %.3f, \"median_ns\": %.3f}",
                 separator, m.message->name.c_str(), m.message->set.c_str(), m.message->wire.size(),
                 m.implementation.c_str(), m.metric.c_str(), m.timing.low_ns, m.timing.median_ns);
    separator = ",\n";
  }
  std::fprintf(file, "\n]}\n");
  return std::fclose(file) == 0;
}

struct Options {
  std::string hyperprotobench;
  std::string filter;
  std::string json;
  double seconds = 0.5;
  bool quick = false;
};

int run(const Options& options) {
  std::vector<BenchMessage> all;
  std::string error;
  if (!options.hyperprotobench.empty()) {
    all = hyperprotobench_messages(options.hyperprotobench, &error);
    if (!error.empty()) {
      std::fprintf(stderr, "codec_bench: %s\n", error.c_str());
      return 1;
    }
  }
  std::vector<BenchMessage> messages;
  std::regex filter(options.filter);
  for (BenchMessage& message : all) {
    if (std::regex_search(message.name, filter)) messages.push_back(std::move(message));
  }
  std::vector<Measured> measured;
  for (size_t i = 0; i < messages.size(); ++i) {
    std::fprintf(stderr, "\r%zu/%zu %-20s", i + 1, messages.size(), messages[i].name.c_str());
    if (!measure(messages[i], options.quick ? 0.02 : options.seconds, &measured)) return 1;
  }
  std::fprintf(stderr, "\r%-30s\r", "");
  Results results(measured);
  print_messages(messages, results);
  print_geomeans(messages, results);
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
  CLI::App app("Decode and encode of Drover beside protobuf C++ and upb.");
  app.add_option("--hyperprotobench", options.hyperprotobench, "folder with the published HyperProtoBench");
  app.add_option("--filter", options.filter, "only messages whose name this regular expression finds");
  app.add_option("--seconds", options.seconds, "for each message")->capture_default_str();
  app.add_flag("--quick", options.quick, "a smoke test: the figures are rough");
  app.add_option("--json", options.json, "write all measurements to this file");
  CLI11_PARSE(app, argc, argv);
  return drover::bench::run(options);
}
