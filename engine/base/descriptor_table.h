// The process's table of descriptors, which the kernel doubles as they grow in number. In a process of several threads
// each doubling waits for an RCU grace period (10 to 20 ms were measured), within the accept that needs it: an engine
// thread stands still for all its clients. A table never shrinks, so it is made as large as it will be needed at once.
#pragma once

#include <cstddef>

namespace drover::engine {

// Makes room for descriptors below `count`, as far as RLIMIT_NOFILE allows: 8 bytes of kernel memory each. Best before
// the process has other threads. False: errno says why; descriptors are opened all the same, some of them slowly.
bool reserve_descriptors(size_t count);

}  // namespace drover::engine
