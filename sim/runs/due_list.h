// What is due at which time, on SystemC's clock: the Timeline of a run. A module has one, and makes its run_due() a
// method that is sensitive to due_event().
#pragma once

#include <functional>
#include <map>
#include <systemc>

#include "sim/platform/units.h"

namespace drover::sim {

class DueList {
 public:
  static Time now() { return sc_core::sc_time_stamp().value(); }
  void at(Time when, std::function<void()> what) {
    due_.emplace(when, std::move(what));
    call_next();
  }
  const sc_core::sc_event& due_event() const { return event_; }
  void run_due() {
    while (!due_.empty() && due_.begin()->first <= now()) {
      std::function<void()> what = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      what();
    }
    call_next();
  }

 private:
  void call_next() {
    if (due_.empty()) return;
    Time first = due_.begin()->first;
    event_.notify(sc_core::sc_time::from_value(first > now() ? first - now() : 0));
  }

  std::multimap<Time, std::function<void()>> due_;
  sc_core::sc_event event_;
};

}  // namespace drover::sim
