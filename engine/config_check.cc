#include "engine/config_check.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "engine/auth/policy.h"
#include "engine/balance/balance_rules.h"
#include "engine/base/metrics_address.h"
#include "engine/binary_log_setup.h"
#include "engine/confinement.h"
#include "engine/control/host_policy.h"
#include "engine/control/line_peers.h"
#include "engine/datagram/allowed_peers.h"
#include "engine/net/socket_address.h"
#include "engine/sandbox/privileges.h"

namespace drover::engine {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostHead = 64 << 10;  // of a binary log's entry, beside its payload

// The directory of the file, whole and without links; empty: the system does not say.
fs::path directory_of(const std::string& file) {
  std::error_code failed;
  const fs::path path = fs::absolute(file, failed);
  return failed ? fs::path() : fs::weakly_canonical(path.parent_path(), failed);
}

class Check {
 public:
  Check(const ConfigResult& loaded, const ControlOptions& control, const tls::IdentityOptions& identities,
        const auth::PolicyOptions& tokens)
      : loaded_(loaded), config_(loaded.config), control_(control), identities_(identities), tokens_(tokens) {
    out_.problems = loaded.problems;
  }

  ConfigFindings run() {
    check_control_socket();
    check_cpus();
    check_metrics_address();
    if (std::string wrong = check_lines(config_); !wrong.empty()) {
      const char* key = wrong.starts_with("lines.listen")  ? "lines.listen"
                        : wrong.starts_with("lines.allow") ? "lines.allow"
                                                           : "lines.peers";
      say(key, wrong);
    }
    HostPolicy policy;
    if (std::string wrong = HostPolicy::parse(config_.hosts_allow, &policy); !wrong.empty()) say("hosts.allow", wrong);
    BalanceRules balance;
    if (std::string wrong = BalanceRules::parse(config_.balance, config_.balance_seed, &balance); !wrong.empty()) {
      say(wrong.starts_with("dispatch.balance_seed") ? "dispatch.balance_seed" : "dispatch.balance", wrong);
    }
    if (std::string wrong = check_channel_options(control_, static_cast<uint32_t>(config_.threads)); !wrong.empty()) {
      say("channel.rx_bytes", wrong);
    }
    check_writable("engine.pidfile", config_.pidfile);
    check_writable("log.file", config_.log_file);
    check_writable("trace.file", config_.trace_file);
    for (const auto& [key, file] : written_files(config_)) {
      if (std::string wrong = wrong_directory(config_, key, file); !wrong.empty()) say(key, wrong);
    }
    check_binary_log();
    check_beside_binary_log();
    check_tls();
    check_user();
    check_auth();
    return std::move(out_);
  }

 private:
  // `wrong` may begin with the key's name.
  std::string line(const char* key, const std::string& wrong) const {
    std::string at = origin_of(loaded_, key);
    if (at == "default") at = loaded_.file.empty() ? "droverd" : loaded_.file;
    return at + ": " + (wrong.starts_with(key) ? "" : std::string(key) + ": ") + wrong;
  }
  void say(const char* key, const std::string& wrong) { out_.problems.push_back(line(key, wrong)); }
  void note(const char* key, const std::string& what) { out_.notes.push_back(line(key, what)); }

  void check_control_socket() {
    const char* key = "engine.control_socket";
    const std::string& address = config_.control_socket;
    if (address.empty()) return say(key, "it is missing; expected unix:PATH or unix:@NAME, here or as a flag");
    const std::string path = address.substr(std::min<size_t>(5, address.size()));
    if (path.empty()) return say(key, "'" + address + "' has no path; expected unix:PATH or unix:@NAME");
    if (path.size() >= sizeof(sockaddr_un::sun_path)) {
      return say(key, "a path of " + std::to_string(path.size()) + " bytes; expected at most " +
                          std::to_string(sizeof(sockaddr_un::sun_path) - 1));
    }
    if (path[0] != '@') check_directory(key, path, W_OK | X_OK);
  }

  // Of the file `path`; `access`: what its user must be allowed there.
  void check_directory(const char* key, const std::string& path, int access) {
    const size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    struct stat status;
    if (::stat(directory.c_str(), &status) != 0) {
      // A unit's RuntimeDirectory exists while the unit runs.
      if (errno == ENOENT && (directory.starts_with("/run/") || directory.starts_with("/var/run/"))) {
        return note(key, "the directory " + directory + " does not exist now; expected it once droverd starts, as by " +
                             "systemd's RuntimeDirectory=");
      }
      return say(key, "the directory " + directory + ": " + std::strerror(errno) + "; expected it to exist");
    }
    if (!S_ISDIR(status.st_mode)) return say(key, directory + " is no directory");
    if (::access(directory.c_str(), access) == 0) return;
    say(key, "the directory " + directory + ": " + std::strerror(errno) + "; expected one that this user may " +
                 ((access & W_OK) != 0 ? "write" : "enter"));
  }

  void check_writable(const char* key, const std::string& path) {
    if (path.empty()) return;
    struct stat status;
    const bool exists = ::stat(path.c_str(), &status) == 0;
    check_directory(key, path, exists ? X_OK : W_OK | X_OK);
    if (exists && (S_ISDIR(status.st_mode) || ::access(path.c_str(), W_OK) != 0)) {
      say(key, path + " cannot be written; expected a file that this user may write");
    }
  }

  void check_cpus() {
    std::vector<int> cpus;
    if (!parse_cpus(config_.cpus, &cpus)) return;  // told by the loading
    const long last = ::sysconf(_SC_NPROCESSORS_CONF) - 1;
    for (int cpu : cpus) {
      if (cpu <= last) continue;
      return note("engine.cpus", "CPU " + std::to_string(cpu) + "; expected CPUs of this machine, 0 to " +
                                     std::to_string(last) + ": droverd warns, and its thread is not pinned");
    }
  }

  void check_address(const char* key, const std::string& address) {
    if (address.empty()) return;
    if (std::string wrong = parse_listen_address(address).error; !wrong.empty()) say(key, wrong);
  }

  // As the exporter reads it; the host may be a name.
  void check_metrics_address() {
    const std::string& address = config_.metrics_address;
    if (address.empty()) return;
    std::string host, port;
    if (!split_address(address, &host, &port)) {
      return say("metrics.address", "'" + address + "' is not an address; expected HOST:PORT, such as 127.0.0.1:9464");
    }
    addrinfo* found = nullptr;
    const int code = ::getaddrinfo(host.c_str(), nullptr, nullptr, &found);
    if (code != 0) return say("metrics.address", "'" + address + "': " + ::gai_strerror(code));
    ::freeaddrinfo(found);
  }

  // False: it was told.
  bool check_readable(const char* key, const std::string& path) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) return say(key, path + ": " + std::strerror(errno)), false;
    if (!S_ISREG(status.st_mode)) return say(key, path + ": expected a file"), false;
    if (::access(path.c_str(), R_OK) == 0) return true;
    return say(key, path + ": " + std::strerror(errno) + "; expected a file that this user may read"), false;
  }

  void check_key(const char* key, const std::string& path) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0 || (status.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) == 0) return;
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(status.st_mode) & 07777);
    say(key, path + ": a private key that others may read or change (mode " + mode + "); expected 0600 or 0640");
  }

  // Who can put another certificate or key there says who is trusted.
  void check_apart(const char* key, const std::string& path) {
    if (beside_binary_log(path)) say(key, path + of_its_directory());
  }

  void check_tls() {
    tls::Identities identities;
    std::string error;
    const bool loaded = identities.load(identities_, &error);
    bool told = loaded;
    for (const tls::IdentityFiles& files : identities.files()) {
      const bool own = files.name == "default" && !config_.tls_certificate.empty();
      for (const std::string& path : files.certificates) {
        told |= !check_readable(own ? "tls.certificate" : "tls.identities", path);
        check_apart(own ? "tls.certificate" : "tls.identities", path);
      }
      for (const std::string& path : files.keys) {
        told |= !check_readable(own ? "tls.key" : "tls.identities", path);
        check_key(own ? "tls.key" : "tls.identities", path);
        check_apart(own ? "tls.key" : "tls.identities", path);
      }
      if (files.client_ca.empty()) continue;
      told |= !check_readable(own ? "tls.client_ca" : "tls.identities", files.client_ca);
      check_apart(own ? "tls.client_ca" : "tls.identities", files.client_ca);
    }
    if (!told) say(tls_key_of(error), error);
    for (const auto& [pattern, identity] : identities.listens()) {
      if (!pattern.ends_with('*')) check_address("tls.listen", pattern);
    }
  }

  void check_binary_log() {
    binary_log::Rules rules;
    if (std::string wrong = parse_binary_log(config_, &rules); !wrong.empty()) {
      const char* key = wrong.starts_with("binary_log.filter") ? "binary_log.filter" : "binary_log.redact";
      if (config_.binary_log_file.empty()) {
        note(key, wrong);  // droverd warns
      } else {
        say(key, wrong);
      }
    }
    const std::string& file = config_.binary_log_file;
    check_writable("binary_log.file", file);
    struct stat status;
    if (::stat(file.c_str(), &status) == 0) check_directory("binary_log.file", file, W_OK | X_OK);  // to move it away
    if (file.empty() != config_.binary_log_filter.empty()) {
      note(file.empty() ? "binary_log.filter" : "binary_log.file",
           std::string("no call is logged without ") + (file.empty() ? "binary_log.file" : "binary_log.filter"));
    }
    if (has_binary_log(config_) && config_.binary_log_max_payload_bytes + kMostHead > config_.binary_log_memory) {
      note("binary_log.memory", std::to_string(config_.binary_log_memory) +
                                    " bytes; expected at least binary_log.max_payload_bytes and 64 KiB: entries that "
                                    "are larger than it are dropped");
    }
  }

  // Whether the file, or the one that it leads to, lies where the sandbox lets the engine move and remove files.
  bool beside_binary_log(const std::string& file) const {
    if (file.empty() || config_.sandbox == "off" || !has_binary_log(config_)) return false;
    const fs::path log = directory_of(config_.binary_log_file);
    std::error_code failed;
    const fs::path led_to = fs::canonical(file, failed);
    for (const fs::path& one : {directory_of(file), led_to.parent_path()}) {
      if (!log.empty() && std::mismatch(log.begin(), log.end(), one.begin(), one.end()).first == log.end()) return true;
    }
    return false;
  }
  std::string of_its_directory() const {
    return " lies in the directory of binary_log.file, where the sandbox lets the engine move and remove files; "
           "expected one of its own for the binary log";
  }

  void check_beside_binary_log() {
    const std::pair<const char*, const std::string&> files[] = {
        {"engine.pidfile", config_.pidfile}, {"log.file", config_.log_file}, {"trace.file", config_.trace_file}};
    for (const auto& [key, file] : files) {
      if (beside_binary_log(file)) note(key, file + of_its_directory());
    }
  }

  void check_user() {
    if (config_.sandbox == "require") {
      for (const std::string& missing : sandbox::missing_here()) say("engine.sandbox", missing);
    }
    if (config_.user.empty() && !config_.group.empty()) say("engine.group", "it needs engine.user");
    sandbox::User user;
    std::string error;
    if (config_.user.empty() || sandbox::find_user(config_.user, config_.group, &user, &error)) return;
    say(error.starts_with("engine.group") ? "engine.group" : "engine.user", error);
  }

  void check_auth() {
    auth::Policy policy;
    std::string error;
    const bool loaded = policy.load(tokens_, &error);
    bool told = loaded;
    const std::shared_ptr<const auth::Trust> trust = policy.issuers().trust();
    const std::vector<auth::IssuerOptions>& issuers = policy.issuers().options();
    for (size_t i = 0; i < issuers.size(); ++i) {
      told |= !check_readable("auth.issuers", issuers[i].keys);
      check_apart("auth.issuers", issuers[i].keys);
      if (trust == nullptr) continue;
      const auth::KeySet& keys = *trust->issuers[i].keys;
      if (keys.has_secret()) check_key("auth.issuers", issuers[i].keys);
      if (keys.left_out() == 0) continue;
      note("auth.issuers", issuers[i].keys + ": " + std::to_string(keys.left_out()) +
                               " keys that fit none of the issuer's algorithms are left out");
    }
    if (!told) say(error.starts_with("auth.rules") ? "auth.rules" : "auth.issuers", error);
    if (policy.on() && tokens_.allow_cleartext) {
      note("auth.cleartext",
           "tokens are taken from other machines over connections without TLS: who sees the network "
           "can use them");
    }
  }

  static const char* tls_key_of(const std::string& error) {
    for (const char* key : {"tls.listen", "tls.identities", "tls.client_ca"}) {
      if (error.starts_with(key)) return key;
    }
    return error.starts_with("identity default:") ? "tls.certificate" : "tls.identities";
  }

  const ConfigResult& loaded_;
  const Config& config_;
  const ControlOptions& control_;
  const tls::IdentityOptions& identities_;
  const auth::PolicyOptions& tokens_;
  ConfigFindings out_;
};

}  // namespace

ConfigFindings check_config(const ConfigResult& loaded, const ControlOptions& control,
                            const tls::IdentityOptions& identities, const auth::PolicyOptions& tokens) {
  return Check(loaded, control, identities, tokens).run();
}

std::string check_lines(const Config& c) {
  if (!c.lines_listen.empty()) {
    const ParsedAddress parsed = parse_listen_address(c.lines_listen);
    if (!parsed.error.empty()) return "lines.listen: " + parsed.error;
    if (!parsed.candidates.front().unix_path.empty() || parsed.candidates.front().storage.ss_family == AF_UNIX) {
      return "lines.listen: expected an IP address and a port";
    }
  }
  AllowedPeers allowed;
  if (std::string wrong = AllowedPeers::parse(c.lines_allow, &allowed); !wrong.empty()) return wrong;
  LinePeers peers;
  return LinePeers::parse(c.lines_peers, &peers);
}

std::string config_summary(const Config& config, const tls::IdentityOptions& identity_options,
                           const auth::PolicyOptions& token_options) {
  std::string text = "hosts attach at " + config.control_socket + "\n";
  text += "calls arrive at the addresses that hosts name" +
          (config.hosts_allow.empty() ? "" : ", as hosts.allow permits: " + config.hosts_allow) + "\n";
  tls::Identities identities;
  std::string error;
  identities.load(identity_options, &error);
  for (const auto& [pattern, identity] : identities.listens()) {
    text += "TLS at " + pattern + ", by the identity " + identity + "\n";
  }
  auth::Policy policy;
  policy.load(token_options, &error);
  for (const auth::IssuerOptions& issuer : policy.issuers().options()) {
    text += "tokens of " + issuer.issuer + ", by the keys of " + issuer.keys + "\n";
  }
  if (has_binary_log(config))
    text += "calls are logged in " + config.binary_log_file + ": " + config.binary_log_filter + "\n";
  if (!config.lines_listen.empty()) text += "other engines link to UDP " + config.lines_listen + "\n";
  text += config.metrics_address.empty() ? "metrics are not served (metrics.address)\n"
                                         : "metrics at http://" + config.metrics_address + "/metrics\n";
  text += std::to_string(config.threads) + " engine thread" + (config.threads == 1 ? "" : "s") +
          (config.cpus.empty() ? "" : ", on CPUs " + config.cpus) + "\n";
  return text + confinement_summary(config);
}

}  // namespace drover::engine
