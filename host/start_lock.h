// StartLock: processes of one user that look for an engine and start one if none is there do so one after another, so
// that two that begin at the same time share an engine instead of each starting its own.
//
// A file lock in the control directory. The kernel gives it back when its holder ends, however that happens; the engine
// does not inherit it. A process that does not get it in time goes on without it: it may then start an engine too many,
// but it is never kept from starting.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "object/unique_fd.h"

namespace drover::host {

class StartLock {
 public:
  // Waits for it, at most that long and until `give_up` says so. `directory`: control_directory().
  StartLock(const std::string& directory, int64_t wait_ns, const std::function<bool()>& give_up = [] { return false; });
  bool held() const { return static_cast<bool>(file_); }

 private:
  UniqueFd file_;
};

}  // namespace drover::host
