#include "engine/base/log.h"

#include <fcntl.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <memory>
#include <mutex>

namespace drover::engine::log {

namespace {

struct State {
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> logger;
  std::atomic<Level> level{Level::kInfo};
  std::atomic<bool> json{false};
};

State& state() {
  static State* state = [] {
    auto* made = new State();  // never destroyed: threads may log while the process ends
    made->logger = std::make_shared<spdlog::logger>("drover", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->logger->set_pattern("%v");
    made->logger->set_level(spdlog::level::trace);
    return made;
  }();
  return *state;
}

constexpr const char* kLevelNames[] = {"trace", "debug", "info", "warn", "error", "off"};

spdlog::level::level_enum to_spdlog(Level level) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::trace, spdlog::level::debug, spdlog::level::info,
                                                   spdlog::level::warn,  spdlog::level::err,   spdlog::level::off};
  return kLevels[static_cast<int>(level)];
}

// Quoted with JSON's escapes, which the text format uses as well.
void append_quoted(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (byte < 0x20 || byte >= 0x7f) {  // bytes of any encoding, kept apart from JSON's own
      out.append("\\u00");
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

bool is_plain(std::string_view text) {
  if (text.empty()) return false;
  for (char c : text) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f) return false;
  }
  return true;
}

void append_value(std::string& out, const Field& field, bool json) {
  switch (field.kind) {
    case Field::kNumber:
      out.append(std::to_string(field.number));
      break;
    case Field::kBool:
      out.append(field.number ? "true" : "false");
      break;
    case Field::kText:
      if (!json && is_plain(field.text)) {
        out.append(field.text);
      } else {
        append_quoted(out, field.text);
      }
      break;
  }
}

std::string timestamp() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts;
  gmtime_r(&now.tv_sec, &parts);
  char text[40];
  size_t size = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(text + size, sizeof(text) - size, ".%06ldZ", now.tv_nsec / 1000);
  return text;
}

std::string as_json(Level level, std::string_view event, Fields fields) {
  std::string line =
      "{\"time\":\"" + timestamp() + "\",\"level\":\"" + kLevelNames[static_cast<int>(level)] + "\",\"event\":";
  append_quoted(line, event);
  for (const Field& field : fields) {
    line.push_back(',');
    append_quoted(line, field.key);
    line.push_back(':');
    append_value(line, field, true);
  }
  line.push_back('}');
  return line;
}

std::string as_text(Level level, std::string_view event, Fields fields) {
  std::string line = timestamp() + " " + kLevelNames[static_cast<int>(level)] + " " + std::string(event);
  for (const Field& field : fields) {
    line.push_back(' ');
    line.append(field.key);
    line.push_back('=');
    append_value(line, field, false);
  }
  return line;
}

// Why the log cannot be appended to `path`, or "". spdlog by itself makes missing directories, so that a misspelled
// path would send the log to an unexpected place.
std::string check_file(const std::string& path) {
  if (path.empty()) return "";
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return "log.file: cannot append to '" + path + "': " + std::strerror(errno);
  ::close(fd);
  return "";
}

int64_t monotonic_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

std::string open(const Options& options) {
  State& s = state();
  int level = -1;
  for (int i = 0; i < 6; ++i) {
    if (options.level == kLevelNames[i]) level = i;
  }
  if (level < 0) return "log.level: '" + options.level + "' is not one of trace, debug, info, warn, error, off";
  if (options.format != "text" && options.format != "json") {
    return "log.format: '" + options.format + "' is not one of text, json";
  }
  if (std::string wrong = check_file(options.file); !wrong.empty()) return wrong;
  std::shared_ptr<spdlog::logger> logger;
  try {
    spdlog::sink_ptr sink;
    if (options.file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
    }
    logger = std::make_shared<spdlog::logger>("drover", sink);
  } catch (const spdlog::spdlog_ex& e) {
    return "log.file: " + std::string(e.what());
  }
  logger->set_pattern("%v");
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::info);
  std::lock_guard<std::mutex> lock(s.mutex);
  s.logger = std::move(logger);
  s.level.store(static_cast<Level>(level), std::memory_order_relaxed);
  s.json.store(options.format == "json", std::memory_order_relaxed);
  return "";
}

void flush() {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().logger->flush();
}

bool enabled(Level level) { return level >= state().level.load(std::memory_order_relaxed); }

void write(Level level, std::string_view event, Fields fields) {
  if (!enabled(level)) return;
  State& s = state();
  bool json = s.json.load(std::memory_order_relaxed);
  std::string line = json ? as_json(level, event, fields) : as_text(level, event, fields);
  std::lock_guard<std::mutex> lock(s.mutex);
  s.logger->log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

bool Limit::allow(uint64_t* suppressed) {
  constexpr int64_t kWindowNs = 10'000'000'000;
  int64_t now = monotonic_now();
  int64_t start = window_start_ns_.load(std::memory_order_relaxed);
  if ((start == 0 || now - start > kWindowNs) && window_start_ns_.compare_exchange_strong(start, now)) {
    used_.store(0, std::memory_order_relaxed);
  }
  if (used_.fetch_add(1, std::memory_order_relaxed) < burst_) {
    *suppressed = suppressed_.exchange(0, std::memory_order_relaxed);
    return true;
  }
  suppressed_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void write(Limit& limit, Level level, std::string_view event, Fields fields) {
  uint64_t suppressed = 0;
  if (!enabled(level) || !limit.allow(&suppressed)) return;
  write(level, event, fields);
  if (suppressed > 0) write(level, "lines like this were left out", {{"event", event}, {"suppressed", suppressed}});
}

}  // namespace drover::engine::log
