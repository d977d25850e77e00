// The calls that handlers of this process began: a line for each, the metadata "x-call", appended to a file that
// several servers may share. A line is one write(2), so it is whole, and it stays if the process is killed right after.
// tests/soak looks for calls that were handled twice, or answered by no handler.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "asked_for.h"

namespace drover::testing {

inline int journal = -1;  // file descriptor; -1: none is kept

// False: errno says why not.
inline bool open_journal(const char* file) {
  journal = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  return journal >= 0;
}

// At the start of a handler. A call without "x-call" is not noted.
template <class Context>
void note(const Context& context) {
  if (journal < 0) return;
  const std::string call = asked_for(context, "x-call");
  if (call.empty()) return;
  const std::string line = call + "\n";
  if (write(journal, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    std::perror("test_server: --journal");
    std::abort();
  }
}

}  // namespace drover::testing
