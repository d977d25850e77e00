#include "bench/codec/subject.h"

#include <algorithm>
#include <utility>

namespace drover::bench {

std::vector<std::unique_ptr<Subject>> all_subjects(const BenchMessage& message) {
  std::vector<std::unique_ptr<Subject>> subjects;
  for (auto make : {drover_subject, protobuf_subject, upb_subject}) {
    if (auto subject = make(message)) subjects.push_back(std::move(subject));
  }
  return subjects;
}

std::vector<Operation> mixed_operations(const std::vector<std::vector<Operation>>& of_messages) {
  std::vector<Operation> mixed;
  if (of_messages.empty()) return mixed;
  for (const Operation& first : of_messages.front()) {
    std::vector<Run> runs;
    for (const auto& operations : of_messages) {
      auto same = std::find_if(operations.begin(), operations.end(), [&](const Operation& operation) {
        return operation.implementation == first.implementation && operation.metric == first.metric;
      });
      if (same != operations.end()) runs.push_back(same->run);
    }
    if (runs.size() != of_messages.size()) continue;
    mixed.push_back({first.implementation, first.metric, [runs = std::move(runs)](int times) {
                       bool ok = true;
                       for (int i = 0; i < times; ++i) {
                         for (const Run& run : runs) ok &= run(1);
                       }
                       return ok;
                     }});
  }
  return mixed;
}

}  // namespace drover::bench
