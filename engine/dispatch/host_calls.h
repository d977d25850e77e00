// HostCalls: the calls that refer to one host's memory, so that what is done to them all costs what they are, not what
// the table holds. A list through the calls themselves.
// Thread-safety: none; one engine thread.
#pragma once

#include <utility>

#include "engine/dispatch/call_table.h"

namespace drover::engine {

class HostCalls {
 public:
  HostCalls() = default;
  HostCalls(const HostCalls&) = delete;
  HostCalls& operator=(const HostCalls&) = delete;

  bool empty() const { return first_ == nullptr; }
  // Only of a list that is not empty: the one that came last.
  CallState& front() const { return *first_; }
  // Only of a call that is in no list.
  void push(CallState& state) {
    state.next_of_host = first_;
    if (first_ != nullptr) first_->link_of_host = &state.next_of_host;
    state.link_of_host = &first_;
    first_ = &state;
  }
  // From the list that it is in.
  static void remove(CallState& state) {
    *state.link_of_host = state.next_of_host;
    if (state.next_of_host != nullptr) state.next_of_host->link_of_host = state.link_of_host;
  }
  // All calls of `other`, which is empty then. Only of a list that is empty.
  void take(HostCalls& other) {
    first_ = std::exchange(other.first_, nullptr);
    if (first_ != nullptr) first_->link_of_host = &first_;
  }

 private:
  CallState* first_ = nullptr;
};

}  // namespace drover::engine
