// How the configuration confines droverd: its user, the sandbox's policy, and what the log, the metrics and --check say
// of it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/auth/policy.h"
#include "engine/base/config.h"
#include "engine/base/metrics.h"
#include "engine/sandbox/sandbox.h"
#include "engine/sandbox/socket_directories.h"
#include "engine/tls/identities.h"

namespace drover::engine {

// The directories of engine.unix_directories, or those that follow from the other keys; {"/"}: any.
std::vector<std::string> unix_directories(const Config& config, const tls::Identities& identities);

sandbox::Policy sandbox_policy(const Config& config, const tls::Identities& identities, const auth::Policy& tokens);

// The files that the engine makes anew while it runs, each with its key; a path may be empty.
std::vector<std::pair<const char*, std::string>> written_files(const Config& config);
// Why such a file cannot be where it is: the engine may append to every file below its directory, and Landlock has no
// rule for a file that is not there. Empty: it can, or there is no such file, or no sandbox.
std::string wrong_directory(const Config& config, const char* key, const std::string& file);

// From root to engine.user, if one is given. After the certificates are read and the log is open, before the first
// thread. False: `error`.
bool become_configured_user(const Config& config, std::string* error);

class Confinement {
 public:
  // Enters the sandbox and says in the log and the metrics what is in force. Before the first other thread. False:
  // `error`, and the engine must not start. `metrics` outlives this; its series are written by this thread.
  bool enter(const Config& config, const tls::Identities& identities, const auth::Policy& tokens,
             ThreadMetrics& metrics, std::string* error);
  // Logs and counts what the filter refused since. One thread.
  void report_refusals();
  // For the error of a Unix path that a host must not make (SocketDirectories::why_refused). It holds what it needs.
  std::function<std::string(const std::string& path)> why_refused() const;

 private:
  Counter* refused_ = nullptr;
  sandbox::SocketDirectories sockets_;
};

// A line of --check.
std::string confinement_summary(const Config& config);

}  // namespace drover::engine
