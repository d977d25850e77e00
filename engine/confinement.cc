#include "engine/confinement.h"

#include <linux/capability.h>
#include <openssl/ssl.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "engine/base/log.h"
#include "engine/binary_log_setup.h"
#include "engine/sandbox/privileges.h"
#include "engine/sandbox/refusals.h"
#include "engine/sandbox/system_calls.h"

namespace drover::engine {
namespace {

log::Limit g_refusal_limit;

std::string directory_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? "." : slash == 0 ? "/" : path.substr(0, slash));
}

void add(std::string path, std::vector<std::string>& to) {
  if (std::find(to.begin(), to.end(), path) == to.end()) to.push_back(std::move(path));
}

// Of "unix:/run/shop/*" and the like, which may end in "*"; of others, and of abstract names, nothing.
void add_directory(std::string_view address, std::vector<std::string>& to) {
  if (!address.starts_with("unix:")) return;
  address.remove_prefix(5);
  if (address.starts_with("//")) address.remove_prefix(2);
  if (!address.empty() && address.front() != '@' && address != "*") add(directory_of(address), to);
}

// The file's directory, and that of the file which it leads to: certificates are renewed by renaming, and often links.
void add_file(const std::string& path, std::vector<std::string>& to) {
  if (path.empty()) return;
  add(directory_of(path), to);
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  if (real != nullptr) add(directory_of(real.get()), to);
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find_first_of(separators));
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

sandbox::Mode mode_of(const Config& config) {
  return config.sandbox == "off"       ? sandbox::Mode::kOff
         : config.sandbox == "require" ? sandbox::Mode::kRequired
                                       : sandbox::Mode::kOn;
}

constexpr uint64_t bit(int capability) { return uint64_t{1} << capability; }

// Hosts may ask for ports below 1024 at any time. One engine of several users' hosts is root, and makes sockets in
// these users' directories.
uint64_t kept_capabilities(const Config& config) {
  uint64_t keep = bit(CAP_NET_BIND_SERVICE);
  if (::geteuid() == 0 && !config.hosts_allow.empty()) keep |= bit(CAP_DAC_OVERRIDE);
  return keep;
}

// What is read again must be readable now, and not only to root.
void warn_of_unreadable(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    if (::access(path.c_str(), R_OK) == 0) continue;
    log::warn("this file cannot be read again: what it says anew needs a restart",
              {{"file", path}, {"why", std::strerror(errno)}, {"user", ::geteuid()}});
  }
}

// Certificates and their keys, and the keys of tokens: read again when they change.
std::vector<std::string> files_read_again(const tls::Identities& identities, const auth::Policy& tokens) {
  std::vector<std::string> all;
  for (const tls::IdentityFiles& files : identities.files()) {
    all.insert(all.end(), files.certificates.begin(), files.certificates.end());
    all.insert(all.end(), files.keys.begin(), files.keys.end());
    if (!files.client_ca.empty()) all.push_back(files.client_ca);
  }
  for (const auth::IssuerOptions& issuer : tokens.issuers().options()) all.push_back(issuer.keys);
  return all;
}

// Of the engine's user, by the user database and by the environment.
std::vector<std::filesystem::path> homes(const Config& config) {
  std::vector<std::filesystem::path> out;
  sandbox::User user{::geteuid(), 0, {}};
  std::string unknown;
  if (!config.user.empty() && !sandbox::find_user(config.user, config.group, &user, &unknown)) return out;
  std::error_code failed;
  if (const passwd* entry = ::getpwuid(user.uid)) {
    out.push_back(std::filesystem::weakly_canonical(entry->pw_dir, failed));
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    out.push_back(std::filesystem::weakly_canonical(home, failed));
  }
  return out;
}

}  // namespace

std::vector<std::string> unix_directories(const Config& config, const tls::Identities& identities) {
  std::vector<std::string> out;
  for (std::string_view part : split(config.unix_directories, ", ")) add(std::string(part), out);
  if (out.empty() && config.child) return {"/"};
  if (out.empty()) {
    for (std::string_view part : split(config.hosts_allow, ";,= ")) add_directory(part, out);
    for (const auto& [pattern, identity] : identities.listens()) add_directory(pattern, out);
  }
  add_directory(config.control_socket, out);
  return out;
}

sandbox::Policy sandbox_policy(const Config& config, const tls::Identities& identities, const auth::Policy& tokens) {
  sandbox::Policy policy;
  policy.mode = mode_of(config);
  policy.files.sockets = unix_directories(config, identities);
  if (!config.pidfile.empty()) policy.files.removable = {directory_of(config.pidfile)};
  for (const std::string& path : files_read_again(identities, tokens)) add_file(path, policy.files.readable);
  if (!config.trace_file.empty()) policy.files.appended = {directory_of(config.trace_file)};
  if (has_binary_log(config)) {
    add(directory_of(config.binary_log_file), policy.files.appended);
    add(directory_of(config.binary_log_file), policy.files.rotated);
  }
  policy.datagrams = !config.lines_listen.empty() || !config.lines_peers.empty();
  policy.core_dumps = config.core_dumps == "on";
  policy.keep_capabilities = kept_capabilities(config);
  return policy;
}

std::vector<std::pair<const char*, std::string>> written_files(const Config& config) {
  return {{"trace.file", config.trace_file}, {"binary_log.file", has_binary_log(config) ? config.binary_log_file : ""}};
}

std::string wrong_directory(const Config& config, const char* key, const std::string& file) {
  if (file.empty() || config.sandbox == "off") return "";
  std::error_code failed;
  const std::filesystem::path given = std::filesystem::absolute(directory_of(file), failed);
  const std::filesystem::path directory = std::filesystem::weakly_canonical(given, failed);
  if (failed || directory.empty()) return "";  // it has no rule, and the engine's log says so
  const char* why = directory == "/var/log" ? "which other services log into" : nullptr;
  if (directory.parent_path() == directory || directory.parent_path() == directory.root_path()) {
    why = "which is not a directory of its own";
  }
  for (const std::filesystem::path& home : homes(config)) {
    if (std::mismatch(directory.begin(), directory.end(), home.begin(), home.end()).first != directory.end()) continue;
    why = "which is a home directory, or has one";
  }
  if (why == nullptr) return "";
  return std::string(key) + ": in the sandbox the engine may write to every file below " + directory.string() + ", " +
         why + ": name a file in a directory of its own, such as /var/log/drover/shop";
}

bool become_configured_user(const Config& config, std::string* error) {
  if (config.user.empty()) {
    if (config.group.empty()) return true;
    return *error = "engine.group: it needs engine.user", false;
  }
  sandbox::User user;
  return sandbox::find_user(config.user, config.group, &user, error) &&
         sandbox::become(user, bit(CAP_NET_BIND_SERVICE), error);
}

bool Confinement::enter(const Config& config, const tls::Identities& identities, const auth::Policy& tokens,
                        ThreadMetrics& metrics, std::string* error) {
  // A host may bring certificates later: OpenSSL reads its configuration now.
  OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, nullptr);
  for (const auto& [key, file] : written_files(config)) {
    if (*error = wrong_directory(config, key, file); !error->empty()) return false;
  }
  const sandbox::Policy policy = sandbox_policy(config, identities, tokens);
  const bool any = policy.files.sockets == std::vector<std::string>{"/"};
  const sandbox::SocketDirectories directories(policy.files.sockets, true);  // as the rules find them
  sandbox::Outcome outcome;
  if (!sandbox::enter(policy, &outcome, error)) return false;
  warn_of_unreadable(files_read_again(identities, tokens));  // with the rights that are left

  constexpr const char* kHelp = "1: this part of the sandbox (engine.sandbox) is in force.";
  metrics.gauge("drover_sandbox", kHelp, {{"part", "privileges"}})->set(outcome.privileges);
  metrics.gauge("drover_sandbox", kHelp, {{"part", "landlock"}})->set(outcome.files.abi > 0);
  metrics.gauge("drover_sandbox", kHelp, {{"part", "seccomp"}})->set(outcome.system_calls);
  refused_ =
      metrics.counter("drover_sandbox_refused_total", "System calls that the sandbox refused; the log names them.");

  if (policy.mode == sandbox::Mode::kOff) {
    log::warn("the sandbox is off", {{"why", "engine.sandbox=off"}});
    return true;
  }
  for (const std::string& what : outcome.missing) log::warn("a part of the sandbox is not in force", {{"why", what}});
  for (const std::string& what : outcome.files.missing) {
    log::warn("no rule of the sandbox for this path: it stays out of reach", {{"path", what}});
  }
  if (!outcome.entered) return true;
  sockets_ = outcome.files.abi > 0 ? directories : sandbox::SocketDirectories(policy.files.sockets, false);
  if (!any) {
    for (const std::string& why : sockets_.closed()) {
      log::warn("hosts cannot listen on Unix sockets in this directory", {{"why", why}});
    }
  }
  log::info("sandbox", {{"seccomp", outcome.system_calls},
                        {"landlock_abi", outcome.files.abi},
                        {"tcp_connect", outcome.files.connects_nowhere ? "refused" : "not limited"},
                        {"unix_sockets", outcome.files.abi == 0 || any ? "anywhere" : joined(policy.files.sockets)},
                        {"user", ::geteuid()},
                        {"capabilities", sandbox::capability_names(sandbox::capabilities())},
                        {"core_dumps", policy.core_dumps}});
  return true;
}

std::function<std::string(const std::string& path)> Confinement::why_refused() const {
  return [sockets = sockets_](const std::string& path) { return sockets.why_refused(path); };
}

void Confinement::report_refusals() {
  for (const auto& [number, count] : sandbox::take_refusals()) {
    if (refused_ != nullptr) refused_->add(count);
    log::error(g_refusal_limit, "the sandbox refused a system call",
               {{"call", sandbox::system_call_name(number)}, {"times", count}});
  }
}

std::string confinement_summary(const Config& config) {
  if (config.sandbox == "off") return "no sandbox (engine.sandbox=off)\n";
  const std::vector<std::string> missing = sandbox::missing_here();
  std::string out = "sandbox: ";
  if (missing.empty()) return out + "seccomp, Landlock (ABI " + std::to_string(sandbox::landlock_abi()) + ")\n";
  return out + "not all of it (" + joined(missing) + ")\n";
}

}  // namespace drover::engine
