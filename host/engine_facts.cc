#include "host/engine_facts.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <ctime>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "host/engine_process.h"

extern char** environ;

namespace drover::host {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);
constexpr size_t kDigits = 64, kShownDigits = 12;
constexpr size_t kMostOutput = 4096;

bool is_digest(const std::string& text) {
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// What comes out of `fd` until it ends; false: it does not end in time, or is too much.
bool read_all(int fd, std::string* out) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd ready{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) return false;
    char piece[512];
    const ssize_t size = ::read(fd, piece, sizeof piece);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    if (size == 0) return true;
    out->append(piece, static_cast<size_t>(size));
    if (out->size() > kMostOutput) return false;
  }
}

std::string time_text(uint64_t unix_seconds) {
  const auto seconds = static_cast<time_t>(unix_seconds);
  tm parts{};
  char text[32] = "?";
  if (::gmtime_r(&seconds, &parts) != nullptr) ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// The engine's text, for a terminal.
std::string printable(std::string text) {
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

std::string shown(const std::string& digest) {
  return digest.empty() ? "unknown" : printable(digest.substr(0, kShownDigits));
}

}  // namespace

std::optional<EngineFingerprint> parse_fingerprint(const std::string& text) {
  const std::string first = "build=", second = " config=";
  const size_t at = text.find(second);
  if (!text.starts_with(first) || at == std::string::npos || !text.ends_with("\n")) return std::nullopt;
  EngineFingerprint read{text.substr(first.size(), at - first.size()),
                         text.substr(at + second.size(), text.size() - 1 - at - second.size())};
  if (!is_digest(read.build) || !is_digest(read.config)) return std::nullopt;
  return read;
}

std::optional<EngineFingerprint> own_fingerprint(const HostOptions& options, std::string* error) {
  const std::string program = find_droverd(options, error);
  if (program.empty()) return std::nullopt;
  std::vector<std::string> texts = engine_arguments(options, program, "");
  texts.emplace_back("--fingerprint");
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return *error = std::string("pipe: ") + std::strerror(errno), std::nullopt;
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, writer.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, program.c_str(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return *error = program + ": " + std::strerror(failed), std::nullopt;
  writer = UniqueFd();
  std::string output;
  const bool read = read_all(reader.get(), &output);
  if (!read) ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  auto fingerprint = read ? parse_fingerprint(output) : std::nullopt;
  if (!fingerprint) *error = program + " --fingerprint does not say what it would run on";
  return fingerprint;
}

std::string describe_engine(const Description& engine, uint32_t pid, const EngineFingerprint* own, bool* differs) {
  const bool build = own != nullptr && engine.build != own->build;
  const bool config = own != nullptr && engine.config != own->config;
  *differs = build || config;
  std::string line =
      "engine process " + std::to_string(pid) + " runs droverd " + printable(engine.version) + " (build " +
      shown(engine.build) + ") since " + time_text(engine.started) + " on " +
      (engine.config_file.empty() ? "no configuration file" : "configuration file " + printable(engine.config_file)) +
      " (digest " + shown(engine.config) + ")";
  if (*differs) {
    line += "; this process would start one with";
    if (build) line += " build " + shown(own->build);
    if (config) line += std::string(build ? " and" : "") + " configuration digest " + shown(own->config);
    line += "; that takes effect once all hosts of the engine have ended and it with them";
  }
  line += "; its log goes to ";
  line += !engine.log_file.empty()                ? printable(engine.log_file)
          : (engine.flags & kEngineTakesLog) != 0 ? "the stderr of this process"
                                                  : "its own stderr";
  return line;
}

}  // namespace drover::host
