// Files that the configuration names and that are read again when they change: keys, certificates.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/base/secret_text.h"

namespace drover::engine {

// What is told of a file without reading it; of a file that cannot be looked at: all zero.
struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  int64_t changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
FileStamp stamp_of(const std::string& path);

// A regular file of at most `most` bytes, whole MiB. False: `error` says why not, and `out` has nothing of
// it.
bool read_small_file(const std::string& path, size_t most, SecretText* out, std::string* error);

}  // namespace drover::engine
