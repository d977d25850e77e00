// One direction of a NIC's flows, joined from two sources: lines that pass as they are, and whole messages that were
// made beside them. A message never comes between the lines of another that passes.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "rtl/model/nic.h"

namespace drover::sim {

class LineMerger {
 public:
  explicit LineMerger(std::function<void(const rtl::NicLine&)> out) : out_(std::move(out)) {}

  void pass(const rtl::NicLine& line) {
    Flow& flow = flows_[line.flow];
    flow.within = (line.line.flags & kLineLast) == 0;
    out_(line);
    if (!flow.within) let_go(&flow);
  }
  // All of one flow.
  void add(std::vector<rtl::NicLine> message) {
    Flow& flow = flows_[message.front().flow];
    flow.waiting.push_back(std::move(message));
    if (!flow.within) let_go(&flow);
  }

 private:
  struct Flow {
    bool within = false;  // a message that passes
    std::deque<std::vector<rtl::NicLine>> waiting;
  };
  void let_go(Flow* flow) {
    for (; !flow->waiting.empty(); flow->waiting.pop_front()) {
      for (const rtl::NicLine& line : flow->waiting.front()) out_(line);
    }
  }

  std::function<void(const rtl::NicLine&)> out_;
  std::array<Flow, rtl::NicDevice::kFlows> flows_;
};

}  // namespace drover::sim
