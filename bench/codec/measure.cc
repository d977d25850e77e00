#include "bench/codec/measure.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "bench/codec/check.h"

namespace drover::bench {
namespace {

// The operations on one message, with what keeps them alive.
struct Prepared {
  std::vector<std::unique_ptr<Subject>> subjects;
  std::vector<Operation> operations;
};

bool prepare(const BenchMessage& message, Prepared* prepared) {
  prepared->subjects = all_subjects(message);
  std::string error = check(message, prepared->subjects);
  if (!error.empty()) {
    std::fprintf(stderr, "\ncodec_bench: %s\n", error.c_str());
    return false;
  }
  for (const auto& subject : prepared->subjects) {
    for (Operation& operation : subject->operations()) prepared->operations.push_back(std::move(operation));
  }
  return true;
}

// The timed operations of one case.
struct Timed {
  std::string case_name;
  std::string set;
  size_t bytes;
  const std::vector<Operation>* operations;
};

// All operations of all these cases interleaved.
bool time_together(const std::vector<Timed>& cases, double seconds, std::vector<Measured>* results) {
  std::vector<Run> runs;
  for (const Timed& one : cases) {
    for (const Operation& operation : *one.operations) runs.push_back(operation.run);
  }
  std::vector<Timing> timings = time_interleaved(runs, seconds);
  auto timing = timings.begin();
  for (const Timed& one : cases) {
    for (const Operation& operation : *one.operations) {
      results->push_back({one.case_name, one.set, one.bytes, operation.implementation, operation.metric, *timing});
      if ((timing++)->ok) continue;
      std::fprintf(stderr, "\ncodec_bench: %s: %s %s failed\n", one.case_name.c_str(), operation.implementation.c_str(),
                   operation.metric.c_str());
      return false;
    }
  }
  return true;
}

void show_progress(size_t at, size_t of, const std::string& name) {
  static const bool to_terminal = isatty(fileno(stderr)) != 0;
  if (to_terminal) std::fprintf(stderr, "\r%zu/%zu %-40s%s", at, of, name.c_str(), at == of ? "\r\033[K" : "");
}

std::string kind_of(const BenchMessage& message) { return message.name.substr(0, message.name.rfind('.')); }

}  // namespace

bool time_operations(const std::string& case_name, const std::string& set, size_t bytes,
                     const std::vector<Operation>& operations, double seconds, std::vector<Measured>* results) {
  return time_together({{case_name, set, bytes, &operations}}, seconds, results);
}

bool measure_each(const std::vector<BenchMessage>& messages, double seconds, std::vector<Measured>* results) {
  for (size_t i = 0; i < messages.size();) {
    // The two messages of a kind, whose times are subtracted from each other, are timed together.
    bool pair =
        messages[i].set == "kinds" && i + 1 < messages.size() && kind_of(messages[i]) == kind_of(messages[i + 1]);
    std::vector<Prepared> prepared(pair ? 2 : 1);
    std::vector<Timed> cases;
    for (Prepared& one : prepared) {
      const BenchMessage& message = messages[i++];
      if (!prepare(message, &one)) return false;
      cases.push_back({message.name, message.set, message.wire.size(), &one.operations});
    }
    show_progress(i, messages.size(), cases.back().case_name);
    if (!time_together(cases, seconds * static_cast<double>(cases.size()), results)) return false;
  }
  return true;
}

bool measure_mix(const std::vector<BenchMessage>& messages, double seconds, std::vector<Measured>* results) {
  for (auto [set, name] :
       {std::pair("hyperprotobench", "mix-under-4k"), std::pair("builtin", "mix-builtin-under-4k")}) {
    std::vector<Prepared> parts;
    std::vector<std::vector<Operation>> operations;
    size_t bytes = 0;
    for (const BenchMessage& message : messages) {
      if (message.set != set || message.wire.size() >= kSmallMessage) continue;
      if (!prepare(message, &parts.emplace_back())) return false;
      operations.push_back(parts.back().operations);
      bytes += message.wire.size();
    }
    if (parts.size() < 2) continue;
    if (!time_operations(name, "mix", bytes, mixed_operations(operations), seconds, results)) return false;
  }
  return true;
}

}  // namespace drover::bench
