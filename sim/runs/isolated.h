// Runs in processes of their own, several side by side: SystemC has one simulation a process. What a run finds comes
// back as bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace drover::sim {

struct Isolated {
  std::string bytes;
  std::string error;  // the process could not be started, or ended by itself
};

// Calls work(i) for i below `count`, each in a child process, `jobs` at once; `ended` is told how many have ended.
// names[i] is for errors.
std::vector<Isolated> run_isolated(size_t count, unsigned jobs, const std::vector<std::string>& names,
                                   const std::function<std::string(size_t)>& work,
                                   const std::function<void(size_t)>& ended);

}  // namespace drover::sim
