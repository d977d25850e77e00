// droverd's configuration: one table of keys (config.cc) defines the flags, --help, the check of the TOML file, the
// environment variables and docs/configuration.md.
//
// Precedence, from the strongest: flag (--engine.threads=2), environment (DROVER_...), TOML file (--config FILE),
// default. Every error names the key and where the value came from; --print-config shows both for every key.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace drover::engine {

struct Config {
  int64_t threads = 1;
  std::string cpus;
  int64_t spin_us = 100;
  std::string io = "auto";
  std::string control_socket;
  std::string pidfile;
  int64_t orphan_timeout_ms = 5000;
  int64_t drain_grace_ms = 10'000;
  std::string user;
  std::string group;
  std::string sandbox = "on";
  std::string core_dumps = "off";
  std::string unix_directories;
  bool child = false;      // --child: started by a host
  int64_t parent_pid = 0;  // --child=PID: by that one; 0: not said
  int listen_fds = 0;      // --listen-fds: systemd's sockets, from descriptor 3, that the host passes on

  int64_t ring_slots = 128;
  int64_t rx_bytes = 64 << 20;
  int64_t tx_bytes = 64 << 20;

  std::string hosts_allow;
  std::string hosts_sharing = "shared";
  int64_t max_region_bytes = int64_t{16} << 30;
  int64_t max_total_region_bytes = int64_t{64} << 30;
  int64_t max_routes = 16'384;
  int64_t max_total_descriptor_bytes = 256 << 20;

  int64_t max_line_names = 64;
  int64_t max_line_connections = 1024;
  std::string lines_listen;
  std::string lines_allow;
  std::string lines_peers;
  int64_t max_peers = 256;
  int64_t max_peer_connections = 4096;
  int64_t peer_memory = 4 << 20;
  int64_t peers_memory = 64 << 20;
  int64_t peer_timeout_ms = 3000;
  int64_t datagram_lines = 22;

  std::string channelz_shows = "user";

  std::string policy = "round-robin";
  std::string balance;
  std::string balance_seed;
  int64_t wait_ms = 5000;
  int64_t max_waiting = 10'000;
  int64_t max_waiting_bytes = 256 << 20;
  int64_t max_reply_bytes = 128 << 20;

  int64_t max_request_bytes = 4 << 20;
  int64_t max_response_bytes = 0x7fffffff;
  int64_t max_concurrent_streams = 1000;
  int64_t max_header_bytes = 16 << 10;
  int64_t max_connections = 10'000;
  int64_t max_connections_per_address = 0;
  int64_t client_memory = 320 << 20;
  int64_t address_memory = 160 << 20;
  int64_t connection_memory = 64 << 20;
  int64_t max_calls = 65'536;
  int64_t max_calls_per_address = 32'768;
  int64_t header_rate = 256 << 20;

  std::string compression_algorithms = "all";
  int64_t compression_level = 6;

  int64_t stream_window = 4 << 20;
  int64_t connection_window = 16 << 20;
  int64_t reset_burst = 10'000;
  int64_t reset_rate = 2000;
  int64_t control_frame_rate = 10'000;
  int64_t min_ping_interval_ms = 300'000;
  int64_t ping_without_calls = 0;
  int64_t max_ping_strikes = 2;
  int64_t handshake_timeout_ms = 20'000;
  int64_t idle_timeout_ms = 3'600'000;
  int64_t stall_timeout_ms = 60'000;
  int64_t least_rate = 256;
  int64_t keepalive_ms = 7'200'000;
  int64_t keepalive_timeout_ms = 20'000;
  int64_t max_connection_age_ms = 0;
  int64_t max_connection_age_grace_ms = 0;

  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;
  std::string tls_clients = "none";
  std::string tls_identities;
  std::string tls_listen;
  std::string tls_min_version = "1.2";
  int64_t tls_handshake_timeout_ms = 10'000;
  int64_t tls_reload_s = 10;

  std::string auth_issuers;
  std::string auth_rules;
  std::string auth_claims;
  int64_t auth_leeway_s = 30;
  std::string auth_forward_token = "no";
  std::string auth_cleartext = "refuse";
  int64_t auth_max_token_bytes = 8 << 10;
  int64_t auth_cache_bytes = 4 << 20;
  int64_t auth_wrong_token_rate = 500;
  int64_t auth_reload_s = 10;

  std::string log_level = "info";
  std::string log_format = "text";
  std::string log_file;

  std::string metrics_address;

  std::string trace_file;
  std::string trace_service = "droverd";
  int64_t trace_sample_per_million = 0;
  int64_t trace_max_spans = 1000;

  std::string binary_log_file;
  std::string binary_log_filter;
  std::string binary_log_redact =
      "*auth*,*cookie*,*api-key*,*apikey*,*access-key*,*token*,*jwt*,*oidc*,*assertion*,*secret*,*passw*,*credential*,"
      "*session*,*signature*";
  int64_t binary_log_max_payload_bytes = 64 << 10;
  int64_t binary_log_memory = 8 << 20;
  int64_t binary_log_max_file_bytes = 64 << 20;
  int64_t binary_log_old_files = 4;
};

// One row of the table.
struct ConfigKey {
  enum class Type { kInteger, kBytes, kText, kChoice };
  const char* name;
  Type type;
  int64_t Config::* number = nullptr;
  std::string Config::* text = nullptr;
  int64_t min = 0;
  int64_t max = 0;
  std::vector<std::string> choices;
  const char* unit = "";
  const char* environment = nullptr;
  const char* doc = "";
  bool power_of_two = false;
};
const std::vector<ConfigKey>& config_keys();

struct ConfigResult {
  enum class Status { kRun, kExit, kError, kCheck };
  Status status = Status::kRun;
  Config config;
  std::vector<std::string> origins;  // where each key's value came from, in the order of config_keys()
  // kExit: to print on stdout (help, version, docs); kCheck: the same (--print-config); kError: what is wrong.
  std::string output;
  std::string file;          // that --config names
  bool fingerprint = false;  // kRun: --fingerprint; nothing is to be started
  // kCheck (--check): everything that is wrong with the values, a line each; nothing is to be started.
  std::vector<std::string> problems;
};

using Environment = std::function<const char*(const char*)>;

// Reads the arguments (without the program's name), the environment and the file that --config names.
ConfigResult load_config(const std::vector<std::string>& arguments, const Environment& environment);
// Where the value of that key came from: "default", "FILE:LINE", the environment variable or the flag.
const std::string& origin_of(const ConfigResult& loaded, std::string_view key);
// Every key and its value as TOML, with its origin as a comment: "default", "FILE:LINE", the environment variable or
// the flag. `origins` is parallel to config_keys().
std::string print_config(const Config& config, const std::vector<std::string>& origins);

// docs/configuration.md.
std::string config_docs();

// "0", "0-1", "0,2-3": the CPUs in order. Returns false for any other text.
bool parse_cpus(std::string_view text, std::vector<int>* cpus);

}  // namespace drover::engine
