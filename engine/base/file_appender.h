// FileAppender: writes at the end of a file that is opened anew for each write, so that others may move it away. With a
// limit it moves the file away itself and keeps some of the old ones:
//
//   FILE   FILE.1 (the youngest old one)   FILE.2   ...   FILE.N, which the next rotation replaces
//
// The first rotation removes FILE.N+1 and those that follow it, of a time when more were kept. If a file cannot be
// moved away, it grows beyond the limit, and the log says so once.
//
// What it needs of the sandbox: FileRules::appended, and with a limit FileRules::rotated, of the file's directory.
// Blocks as files do, and up to a second at a full FIFO without a reader: for a WriterThread. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace drover::engine {

struct FileRotation {
  uint64_t max_bytes = 0;    // of a file, unless one write is larger; 0: it grows without end
  uint32_t old_files = 0;    // that are kept; 0: a full file is removed
  bool starts_anew = false;  // the first write begins a file, too
};

class FileAppender {
 public:
  // `mode`: of a file that is made.
  FileAppender(std::string path, mode_t mode, FileRotation rotation = {});

  // All of `bytes` in one file. Empty, or why not. A write that is cut short is the end of its file if there is a
  // limit: the next one begins another, or fails if the file cannot be moved away.
  std::string append(std::string_view bytes);
  const std::string& path() const { return path_; }

 private:
  bool must_rotate(int fd, size_t bytes) const;
  std::string rotate();
  void remove_further() const;
  bool wait_for_room(int fd);
  std::string old_name(uint32_t number) const { return path_ + "." + std::to_string(number); }

  const std::string path_;
  const mode_t mode_;
  const FileRotation rotation_;
  bool begin_anew_;
  bool removed_further_ = false, told_of_rotation_ = false;
  bool is_read_ = true;  // false: the FIFO's reader let the last write wait too long
};

}  // namespace drover::engine
