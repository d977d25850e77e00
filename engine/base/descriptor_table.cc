#include "engine/base/descriptor_table.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>

#include "object/unique_fd.h"

namespace drover::engine {

bool reserve_descriptors(size_t count) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return false;
  count = std::min<size_t>(count, files.rlim_cur);
  if (count == 0) return true;
  const UniqueFd any(::eventfd(0, EFD_CLOEXEC));
  // A descriptor of that number makes the table reach it.
  const UniqueFd highest(any ? ::fcntl(any.get(), F_DUPFD_CLOEXEC, static_cast<int>(count - 1)) : -1);
  return highest.get() >= 0;
}

}  // namespace drover::engine
