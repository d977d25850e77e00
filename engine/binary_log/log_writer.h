// LogWriter: writes the entries of all engine threads to the binary log's file, on a thread of its own, which alone
// waits for the file. Entries of one call keep their order; those of several threads are mixed as they are found.
//
// Each file begins where an entry begins (engine/base/file_appender.h). It may have entries of several engine
// processes, one after the other, or mixed if two write to it at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/file_appender.h"
#include "engine/base/metrics.h"
#include "engine/base/writer_thread.h"
#include "engine/binary_log/entry_ring.h"

namespace drover::engine::binary_log {

// Of the series that count what is lost, here and on the way here.
inline constexpr const char* kDroppedName = "drover_binary_log_dropped_total";
inline constexpr const char* kDroppedHelp =
    "Entries of the binary log that were not written, by why; after a write that was cut short, all of that write";

// Whether an engine that starts can go on with the file that is there: it ends with a whole entry. It is read, so of
// one with more than kMostReadBytes the answer is no; nor can one that is not there be gone on with. Outside the
// sandbox, in which the log cannot be read.
inline constexpr uint64_t kMostReadBytes = 64 << 20;
bool can_go_on(const std::string& path);

class LogWriter {
 public:
  // `metrics` outlives it.
  LogWriter(std::string path, FileRotation rotation, ThreadMetrics& metrics);
  // Writes what is left, if it was started.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Of one more engine thread, before start(). Lives as long as this.
  EntryRing& add_ring(size_t bytes);
  void start() { thread_.start(); }
  // Writes what is left; nothing may be pushed afterwards.
  void stop() { thread_.stop(); }
  // As WriterThread::wake().
  void wake() noexcept { thread_.wake(); }

 private:
  static constexpr size_t kAtOnce = 256 << 10;  // bytes of a write, about

  bool write_some();

  FileAppender file_;
  ThreadMetrics& metrics_;
  std::vector<std::unique_ptr<EntryRing>> rings_;
  std::string bytes_;
  Counter* const written_bytes_;
  Counter* const not_written_;
  WriterThread thread_;
};

}  // namespace drover::engine::binary_log
