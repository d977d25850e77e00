#include "engine/binary_log_setup.h"

#include <ctime>

namespace drover::engine {
namespace {

// The ids of an engine's calls begin with the time at which it starts, in microseconds: a later engine's are others,
// unless this one has more than a million calls a second all its life.
uint64_t first_call_id() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

// An engine that starts again and again must not push older entries out.
FileRotation rotation_of(const Config& config) {
  return {static_cast<uint64_t>(config.binary_log_max_file_bytes), static_cast<uint32_t>(config.binary_log_old_files),
          !binary_log::can_go_on(config.binary_log_file)};
}

}  // namespace

std::string parse_binary_log(const Config& config, binary_log::Rules* rules) {
  std::string wrong = binary_log::Filter::parse(config.binary_log_filter, &rules->filter);
  if (!wrong.empty()) return "binary_log.filter: " + wrong;
  wrong = binary_log::Redaction::parse(config.binary_log_redact, &rules->redaction);
  if (!wrong.empty()) return "binary_log.redact: " + wrong;
  rules->max_payload = static_cast<size_t>(config.binary_log_max_payload_bytes);
  return "";
}

BinaryLog::BinaryLog(const Config& config, ThreadMetrics& metrics)
    : config_(config), first_id_(first_call_id()), writer_(config.binary_log_file, rotation_of(config), metrics) {
  parse_binary_log(config, &rules_);
}

std::unique_ptr<binary_log::CallLogger> BinaryLog::make_logger(uint32_t thread, ThreadMetrics& metrics) {
  const binary_log::CallIds ids{first_id_ + thread, static_cast<uint64_t>(config_.threads)};
  binary_log::EntryRing& ring = writer_.add_ring(static_cast<size_t>(config_.binary_log_memory));
  return std::make_unique<binary_log::CallLogger>(rules_, ids, ring, writer_, metrics);
}

}  // namespace drover::engine
