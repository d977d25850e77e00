#include "bench/codec/report.h"

#include <google/protobuf/stubs/common.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <tuple>

#include "bench/codec/bench_message.h"
#include "bench/codec/subject.h"
#include "bench/codec/utf8_cases.h"

namespace drover::bench {
namespace {

// Drover's metric against a peer's.
struct Comparison {
  const char* metric;
  const char* peer;
  const char* peer_metric;
};
constexpr Comparison kComparisons[] = {
    {"decode_copy", "protobuf", "decode_copy"},
    {"decode_copy", "upb", "decode_copy"},
    {"decode_copy", "upb-without-fast-table", "decode_copy"},
    {"decode_alias", "protobuf", "decode_copy"},
    {"decode_alias", "upb", "decode_alias"},
    {"encode_pieces", "protobuf", "encode_contiguous"},
    {"encode_pieces", "upb", "encode_contiguous"},
    {"encode_pieces_bounded", "protobuf", "encode_contiguous"},
    {"encode_contiguous", "protobuf", "encode_contiguous"},
    {"encode_contiguous", "upb", "encode_contiguous"},
};

struct Column {
  const char* group;
  const char* title;
  const char* implementation;
  const char* metric;
};
constexpr Column kColumns[] = {
    {"decode, copying", "drover", "drover", "decode_copy"},
    {"", "protobuf", "protobuf", "decode_copy"},
    {"", "upb", "upb", "decode_copy"},
    {"decode, aliasing", "drover", "drover", "decode_alias"},
    {"", "upb", "upb", "decode_alias"},
    {"encode", "pieces", "drover", "encode_pieces"},
    {"", "contiguous", "drover", "encode_contiguous"},
    {"", "protobuf", "protobuf", "encode_contiguous"},
    {"", "upb", "upb", "encode_contiguous"},
};

struct Case {
  std::string name;
  std::string set;
  size_t bytes;
};

class Results {
 public:
  explicit Results(const std::vector<Measured>& measured) {
    for (const Measured& m : measured) {
      if (cases_.empty() || cases_.back().name != m.case_name) cases_.push_back({m.case_name, m.set, m.bytes});
      ns_[{m.case_name, m.implementation, m.metric}] = m.timing.low_ns;
    }
  }
  // 0: not measured.
  double ns(const std::string& case_name, const std::string& implementation, const std::string& metric) const {
    auto found = ns_.find({case_name, implementation, metric});
    return found == ns_.end() ? 0 : found->second;
  }
  const std::vector<Case>& cases() const { return cases_; }

 private:
  std::vector<Case> cases_;  // in the order in which they were measured
  std::map<std::tuple<std::string, std::string, std::string>, double> ns_;
};

void print_head(const char* first, const char* second) {
  std::printf("%-28s %9s", "", "");
  for (const Column& column : kColumns) {
    std::printf(*column.group != '\0' ? " | %-10s" : " %-10s", column.group);
  }
  std::printf("\n%-28s %9s", first, second);
  for (const Column& column : kColumns) std::printf(*column.group != '\0' ? " | %10s" : " %10s", column.title);
  std::printf("\n");
}

void print_times(const std::function<double(const Column&)>& ns_of) {
  for (const Column& column : kColumns) {
    double ns = ns_of(column);
    std::printf(*column.group != '\0' ? " | " : " ");
    ns == 0 ? std::printf("%10s", "-") : std::printf("%10.1f", ns);
  }
  std::printf("\n");
}

// The geometric mean of peer time / Drover time; 0 without anything to compare.
double speedup(const Results& results, const Comparison& c, const std::function<bool(const Case&)>& take) {
  double logs = 0;
  int count = 0;
  for (const Case& one : results.cases()) {
    double own = results.ns(one.name, "drover", c.metric);
    double peer = results.ns(one.name, c.peer, c.peer_metric);
    if (!take(one) || own == 0 || peer == 0) continue;
    logs += std::log(peer / own);
    ++count;
  }
  return count == 0 ? 0 : std::exp(logs / count);
}

void print_speedups(const Results& results) {
  std::printf("\nHow many times as fast as the peer (geometric mean of peer time / Drover time)\n");
  std::printf("%-24s %-24s %10s %10s %10s\n", "metric", "peer", "under 4K", "all", "built-in");
  for (const Comparison& c : kComparisons) {
    double means[] = {
        speedup(results, c, [](const Case& m) { return m.set == "hyperprotobench" && m.bytes < kSmallMessage; }),
        speedup(results, c, [](const Case& m) { return m.set == "hyperprotobench"; }),
        speedup(results, c, [](const Case& m) { return m.set == "builtin"; }),
    };
    if (means[0] + means[1] + means[2] == 0) continue;
    std::printf("%-24s %-24s", c.metric, c.peer);
    for (double mean : means) mean == 0 ? std::printf(" %10s", "-") : std::printf(" %10.2f", mean);
    std::printf("\n");
  }
}

}  // namespace

void print_messages(const std::vector<Measured>& measured) {
  Results results(measured);
  print_head("message", "bytes");
  for (const Case& one : results.cases()) {
    std::printf("%-28s %9zu", one.name.c_str(), one.bytes);
    print_times([&](const Column& column) { return results.ns(one.name, column.implementation, column.metric); });
  }
  print_speedups(results);
}

void print_kinds(const std::vector<Measured>& measured) {
  Results results(measured);
  std::printf("\nns for one field of each kind: (time of 2N fields - time of N) / N\n");
  print_head("kind", "bytes");
  const std::vector<Case>& cases = results.cases();
  for (size_t i = 0; i + 1 < cases.size(); i += 2) {  // kind.NAME.N and kind.NAME.2N stand side by side
    const std::string& name = cases[i].name;
    size_t dot = name.rfind('.');
    double count = std::stod(name.substr(dot + 1));
    std::string kind = name.substr(5, dot - 5);
    auto cost = [&](const Column& column, double of_small, double of_large) {
      double small = results.ns(name, column.implementation, column.metric);
      double large = results.ns(cases[i + 1].name, column.implementation, column.metric);
      return of_small * small + of_large * large;
    };
    if (kind == "varint_1byte") {
      std::printf("%-28s %9s", "(message without fields)", "");
      print_times([&](const Column& column) { return cost(column, 2, -1); });
    }
    std::printf("%-28s %9.1f", kind.c_str(), static_cast<double>(cases[i + 1].bytes - cases[i].bytes) / count);
    print_times([&](const Column& column) { return cost(column, -1 / count, 1 / count); });
  }
}

void print_utf8(const std::vector<Measured>& measured) {
  Results results(measured);
  const char* implementations[] = {"drover", "memcpy", "simdutf", "utf8_range"};
  std::printf("\nUTF-8 validation, bytes a ns\n%-28s", "");
  for (const char* implementation : implementations) std::printf(" %10s", implementation);
  std::printf("\n");
  for (const Case& one : results.cases()) {
    std::printf("%-28s", one.name.c_str());
    for (const char* implementation : implementations) {
      double ns = results.ns(one.name, implementation, "validate");
      ns == 0 ? std::printf(" %10s", "-") : std::printf(" %10.2f", static_cast<double>(one.bytes) / ns);
    }
    std::printf("\n");
  }
}

bool write_json(const std::string& path, const std::vector<Measured>& measured) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  std::fprintf(file,
               "{\"upb\": \"%s\", \"protobuf\": \"%d.%d.%d %s\", \"utf8_peers\": \"%s\", \"compiler\": \"%s\", "
               "\"measurements\": [",
               upb_version().c_str(), GOOGLE_PROTOBUF_VERSION / 1000000, GOOGLE_PROTOBUF_VERSION / 1000 % 1000,
               GOOGLE_PROTOBUF_VERSION % 1000, DROVER_PROTOBUF_LINKAGE, utf8_peers().c_str(), __VERSION__);
  const char* separator = "\n";
  for (const Measured& m : measured) {
    std::fprintf(file,
                 "%s{\"case\": \"%s\", \"set\": \"%s\", \"bytes\": %zu, \"implementation\": \"%s\", "
                 "\"metric\": \"%s\", \"ns\": %.3f, \"median_ns\": %.3f}",
                 separator, m.case_name.c_str(), m.set.c_str(), m.bytes, m.implementation.c_str(), m.metric.c_str(),
                 m.timing.low_ns, m.timing.median_ns);
    separator = ",\n";
  }
  std::fprintf(file, "\n]}\n");
  return std::fclose(file) == 0;
}

}  // namespace drover::bench
