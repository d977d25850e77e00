#include "engine/binary_log/log_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "binlog/log_reader.h"
#include "engine/base/log.h"
#include "object/unique_fd.h"

namespace drover::engine::binary_log {
namespace {

log::Limit g_write_limit;

constexpr std::chrono::milliseconds kPeriod{200};
constexpr mode_t kMode = 0600;  // it has what clients and the service say to each other

}  // namespace

// No more is read than was there at first: another engine may still write to it.
bool can_go_on(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size > kMostReadBytes) return false;
  uint64_t done = 0;
  bool of_another_form = false;  // grpc-go's begins with a 0
  binlog::LogReader reader([&](char* to, size_t most) -> long {
    ssize_t n;
    do {
      n = ::read(fd.get(), to, std::min<uint64_t>(most, size - done));
    } while (n < 0 && errno == EINTR);
    if (n < 0) return -errno;
    if (done == 0 && n > 0) of_another_form = *to == 0;
    done += static_cast<uint64_t>(n);
    return n;
  });
  for (std::string_view entry; reader.next(&entry);) {
  }
  return reader.error() == binlog::ReadError::kOk && done == size && !of_another_form;
}

LogWriter::LogWriter(std::string path, FileRotation rotation, ThreadMetrics& metrics)
    : file_(std::move(path), kMode, rotation),
      metrics_(metrics),
      written_bytes_(metrics.counter("drover_binary_log_bytes_total", "Bytes written to the binary log")),
      not_written_(metrics.counter(kDroppedName, kDroppedHelp, {{"why", "file"}})),
      thread_("binary-log", kPeriod, [this] {
        while (write_some()) {
        }
      }) {}

LogWriter::~LogWriter() {
  thread_.stop();
  metrics_.remove(written_bytes_);
  metrics_.remove(not_written_);
}

EntryRing& LogWriter::add_ring(size_t bytes) {
  rings_.push_back(std::make_unique<EntryRing>(bytes));
  return *rings_.back();
}

// Whole entries, in one write. False: there were none.
bool LogWriter::write_some() {
  bool any = false;
  for (const std::unique_ptr<EntryRing>& ring : rings_) {
    bytes_.clear();
    const size_t entries = ring->pop(kAtOnce, &bytes_);
    if (entries == 0) continue;
    any = true;
    std::string wrong = file_.append(bytes_);
    if (wrong.empty()) {
      written_bytes_->add(bytes_.size());
    } else {
      not_written_->add(entries);
      log::error(g_write_limit, "binary log not written", {{"why", wrong}});
    }
  }
  return any;
}

}  // namespace drover::engine::binary_log
