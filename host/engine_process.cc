#include "host/engine_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <ctime>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "channel/socket_file.h"
#include "host/activated_sockets.h"
#include "host/log.h"

extern char** environ;

namespace drover::host {
namespace {

bool executable(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string own_directory() {
  char path[4096];
  ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) return {};
  std::string text(path, static_cast<size_t>(size));
  return text.substr(0, text.rfind('/'));
}

std::string search_path(const std::string& name) {
  const char* variable = std::getenv("PATH");
  std::string path = variable == nullptr ? "" : variable;
  for (size_t at = 0; at <= path.size();) {
    size_t end = path.find(':', at);
    if (end == std::string::npos) end = path.size();
    std::string candidate = path.substr(at, end - at) + "/" + name;
    if (end > at && executable(candidate)) return candidate;
    at = end + 1;
  }
  return {};
}

// Properties of our process that the child must not inherit.
struct SpawnSettings {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;

  explicit SpawnSettings(const ActivatedSockets& activated) {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&files);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    const int behind = kFirstActivated + activated.count;
    for (int fd = kFirstActivated; fd < behind; ++fd) {
      const bool passed = std::find(activated.sockets.begin(), activated.sockets.end(), fd) != activated.sockets.end();
      if (passed) posix_spawn_file_actions_adddup2(&files, fd, fd);                         // without close-on-exec
      if (!passed) posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDONLY, 0);  // no file of its own
    }
    posix_spawn_file_actions_addclosefrom_np(&files, behind);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

constexpr time_t kSweepAgeSeconds = 60;

std::string how_it_ended(int wait_status) {
  if (WIFEXITED(wait_status)) return "exit status " + std::to_string(WEXITSTATUS(wait_status));
  if (WIFSIGNALED(wait_status)) return "signal " + std::to_string(WTERMSIG(wait_status));
  return "wait status " + std::to_string(wait_status);
}

}  // namespace

std::string find_droverd(const HostOptions& options, std::string* error) {
  if (!options.droverd.empty()) {
    if (executable(options.droverd)) return options.droverd;
    *error = "DROVER_DROVERD: " + options.droverd + " is not an executable file";
    return {};
  }
  std::string directory = own_directory();
  for (const std::string& candidate : {directory + "/droverd", directory + "/../libexec/drover/droverd",
                                       std::string(DROVER_BUILT_DROVERD), std::string(DROVER_INSTALLED_DROVERD)}) {
    if (executable(candidate)) return candidate;
  }
  std::string found = search_path("droverd");
  if (found.empty()) {
    *error = "droverd was found neither in " + directory +
             " nor at " DROVER_BUILT_DROVERD " or " DROVER_INSTALLED_DROVERD " nor in PATH; set DROVER_DROVERD";
  }
  return found;
}

std::vector<std::string> engine_arguments(const HostOptions& options, const std::string& program,
                                          const std::string& control_path) {
  std::vector<std::string> result = {program};
  if (control_path.empty()) {  // for --fingerprint, which is the same for all hosts
    result.emplace_back("--child");
  } else {
    result.insert(result.end(),
                  {"--child=" + std::to_string(::getpid()), "--engine.control_socket=unix:" + control_path});
  }
  if (!options.config.empty()) result.insert(result.end(), {"--config", options.config});
  result.insert(result.end(), options.engine_flags.begin(), options.engine_flags.end());
  return result;
}

EngineProcess::EngineProcess(EngineProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), wait_status_(other.wait_status_) {}

EngineProcess& EngineProcess::operator=(EngineProcess&& other) noexcept {
  if (this != &other) {
    end(0);
    pid_ = std::exchange(other.pid_, 0);
    wait_status_ = other.wait_status_;
  }
  return *this;
}

EngineProcess::~EngineProcess() { end(0); }

std::optional<EngineProcess> EngineProcess::start(const HostOptions& options, const std::string& control_path,
                                                  std::string* error) {
  std::string program = find_droverd(options, error);
  if (program.empty()) return std::nullopt;
  const ActivatedSockets activated = activated_sockets();
  std::vector<std::string> texts = engine_arguments(options, program, control_path);
  if (activated.count > 0) texts.push_back("--listen-fds=" + std::to_string(activated.count));
  std::vector<char*> argv;
  argv.reserve(texts.size() + 1);
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);

  // A child inherits its CPUs from the thread that makes it.
  std::vector<int> own_cpus = usable_cpus();
  if (!pin_this_thread(options.engine_cpus)) log(LogLevel::kWarning, "DROVER_ENGINE_CPUS could not be applied");
  SpawnSettings settings(activated);
  EngineProcess process;
  int failed =
      ::posix_spawn(&process.pid_, program.c_str(), &settings.files, &settings.attributes, argv.data(), environ);
  if (!options.engine_cpus.empty()) pin_this_thread(own_cpus);
  if (failed != 0) {
    process.pid_ = 0;
    *error = "cannot start " + program + ": " + std::strerror(failed);
    return std::nullopt;
  }
  log(LogLevel::kInfo, "started %s, process %d", program.c_str(), static_cast<int>(process.pid_));
  return process;
}

bool EngineProcess::alive(std::string* how) {
  if (pid_ > 0 && !reap(false, 0)) return true;
  *how = how_it_ended(wait_status_);
  return false;
}

bool EngineProcess::reap(bool block, int timeout_ms) {
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    pid_t ended = ::waitpid(pid_, &wait_status_, block ? 0 : WNOHANG);
    if (ended == pid_ || (ended < 0 && errno != EINTR)) {  // ECHILD: another waitpid() reaped it
      pid_ = 0;
      return true;
    }
    if (!block && std::chrono::steady_clock::now() >= end) return false;
    if (!block) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

bool EngineProcess::ends_within(int patience_ms) { return pid_ <= 0 || reap(false, patience_ms); }

void EngineProcess::leave() {
  if (pid_ <= 0) return;
  std::thread([pid = std::exchange(pid_, 0)] {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }).detach();
}

void EngineProcess::end(int patience_ms) {
  if (pid_ <= 0 || reap(false, patience_ms)) return;
  ::kill(pid_, SIGTERM);
  if (reap(false, 1000)) return;
  ::kill(pid_, SIGKILL);
  reap(true, 0);
}

// ---- where it listens

std::string control_directory(std::string* error) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  std::string directory = runtime != nullptr && *runtime == '/' && ::access(runtime, W_OK) == 0
                              ? std::string(runtime) + "/drover"
                              : "/tmp/drover-" + std::to_string(::geteuid());
  struct stat info{};
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    *error = "cannot make " + directory + ": " + std::strerror(errno);
    return {};
  }
  if (::lstat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & 077) != 0) {
    *error = directory + " is not a directory of this user's alone (mode 0700)";
    return {};
  }
  return directory;
}

std::string new_control_path(const std::string& directory) {
  static std::atomic<int> number{0};
  return directory + "/" + std::to_string(::getpid()) + "-" + std::to_string(++number) + ".sock";
}

std::string address_link(const std::string& directory, const std::string& address) {
  std::string name;
  for (char c : address) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    name += plain ? std::string(1, c) : "_" + std::to_string(static_cast<unsigned char>(c));
  }
  return directory + "/at-" + name.substr(0, 200);
}

bool publish_link(const std::string& link, const std::string& control_path) {
  std::string fresh = link + "." + std::to_string(::getpid());
  ::unlink(fresh.c_str());
  return ::symlink(control_path.c_str(), fresh.c_str()) == 0 && ::rename(fresh.c_str(), link.c_str()) == 0;
}

std::string link_target(const std::string& link) {
  char target[4096];
  ssize_t size = ::readlink(link.c_str(), target, sizeof target);
  return size <= 0 ? std::string() : std::string(target, static_cast<size_t>(size));
}

void withdraw_link(const std::string& link, const std::string& control_path) {
  if (link_target(link) == control_path) ::unlink(link.c_str());
}

void sweep_control_directory(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string path = entry.path().string();
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0 || ::time(nullptr) - info.st_mtime < kSweepAgeSeconds) continue;
    if (S_ISLNK(info.st_mode) && ::access(path.c_str(), F_OK) != 0) ::unlink(path.c_str());
    if (S_ISSOCK(info.st_mode)) remove_dead_socket(path);
  }
}

}  // namespace drover::host
