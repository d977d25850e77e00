#include "engine/base/config.h"

#include <toml++/toml.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace drover::engine {

namespace {

constexpr int64_t kKi = 1024;
constexpr int64_t kMi = 1024 * kKi;
constexpr int64_t kGi = 1024 * kMi;
constexpr int64_t kDayMs = 24 * 3600 * 1000;
constexpr size_t kOriginColumn = 40;  // of the comments of --print-config

ConfigKey integer(const char* name, int64_t Config::* field, int64_t min, int64_t max, const char* unit,
                  const char* doc) {
  ConfigKey key{};
  key.name = name;
  key.type = ConfigKey::Type::kInteger;
  key.number = field;
  key.min = min;
  key.max = max;
  key.unit = unit;
  key.doc = doc;
  return key;
}

ConfigKey bytes(const char* name, int64_t Config::* field, int64_t min, int64_t max, const char* doc) {
  ConfigKey key = integer(name, field, min, max, "bytes", doc);
  key.type = ConfigKey::Type::kBytes;
  return key;
}

ConfigKey power_of_two(ConfigKey key) {
  key.power_of_two = true;
  return key;
}

ConfigKey text(const char* name, std::string Config::* field, const char* environment, const char* doc) {
  ConfigKey key{};
  key.name = name;
  key.type = ConfigKey::Type::kText;
  key.text = field;
  key.environment = environment;
  key.doc = doc;
  return key;
}

ConfigKey choice(const char* name, std::string Config::* field, std::vector<std::string> choices, const char* doc,
                 const char* environment = nullptr) {
  ConfigKey key = text(name, field, environment, doc);
  key.type = ConfigKey::Type::kChoice;
  key.choices = std::move(choices);
  return key;
}

std::vector<ConfigKey> make_keys() {
  return {
      integer("engine.threads", &Config::threads, 1, 256, "threads",
              "Engine threads. Each has its own listener socket, connections and channels."),
      text("engine.cpus", &Config::cpus, "DROVER_ENGINE_CPUS",
           "CPUs that the engine threads are pinned to, in turn: \"0\", \"0-1\", \"0,2-3\". Empty: not pinned."),
      integer(
          "engine.spin_us", &Config::spin_us, 0, 1'000'000, "microseconds",
          "The longest time that an idle engine thread polls for work before it sleeps. The time adapts below that."),
      choice("engine.io", &Config::io, {"auto", "uring", "epoll"},
             "What moves bytes: io_uring (Linux 6.1 or later) or epoll. auto: io_uring where the kernel and its "
             "policies allow it; the log says which.",
             "DROVER_ENGINE_IO"),
      text("engine.control_socket", &Config::control_socket, nullptr,
           "Where hosts attach: \"unix:PATH\", or \"unix:@NAME\" for an abstract name. Required."),
      text("engine.pidfile", &Config::pidfile, "DROVER_ENGINE_PIDFILE",
           "File for the process id, written once the engine is ready. Empty: no file."),
      integer("engine.orphan_timeout_ms", &Config::orphan_timeout_ms, 0, kDayMs, "milliseconds",
              "With --child: how long the engine keeps running without a host."),
      integer("engine.drain_grace_ms", &Config::drain_grace_ms, 0, kDayMs, "milliseconds",
              "After SIGTERM: how long running calls may take before the engine aborts them."),
      text("engine.user", &Config::user, nullptr,
           "The user that an engine which root starts becomes, by name or number, once it has read its configuration, "
           "certificates and log. The directories of its control socket and pidfile must be this user's. Empty: it "
           "stays who it is."),
      text("engine.group", &Config::group, nullptr, "Its group, by name or number. Empty: the user's own."),
      choice(
          "engine.sandbox", &Config::sandbox, {"on", "off", "require"},
          "Before the first connection: no capability but that for ports below 1024, no new privileges, Landlock for "
          "files, a seccomp filter for system calls. on: as far as this kernel has them, and the log says what is "
          "missing; require: without one of them, or with a Landlock older than ABI 6 (Linux 6.12), the engine does "
          "not start.",
          "DROVER_ENGINE_SANDBOX"),
      choice(
          "engine.core_dumps", &Config::core_dumps, {"off", "on"},
          "Whether a crash may write the engine's memory, with the keys in it, to a core file. With off, only root can "
          "attach a debugger, too."),
      text("engine.unix_directories", &Config::unix_directories, nullptr,
           "With engine.sandbox: the directories in which hosts may listen on Unix sockets, \"/run/shop,/run/mail\", "
           "with all below them; they must exist when the engine starts. Empty: those of the control socket, "
           "hosts.allow and tls.listen; for a child of a host, any directory."),

      power_of_two(integer("channel.ring_slots", &Config::ring_slots, 16, 65536, "slots",
                           "Slots of each ring (a power of two), unless a host asks for another number.")),
      bytes("channel.rx_bytes", &Config::rx_bytes, 64 * kKi, 64 * kGi,
            "Memory of a channel for requests, unless a host asks for another size."),
      bytes("channel.tx_bytes", &Config::tx_bytes, 64 * kKi, 64 * kGi,
            "Memory of a channel for responses, unless a host asks for another size."),

      text("hosts.allow", &Config::hosts_allow, nullptr,
           "What the hosts of each user may serve: \"UID=PATTERN,PATTERN;UID=...\", methods such as /shop.Orders/* and "
           "addresses such as 0.0.0.0:50051 or unix:/run/shop/*. The control socket lets these users in, too. Empty: "
           "hosts of the engine's user and of root, everything."),
      choice("hosts.sharing", &Config::hosts_sharing, {"shared", "first-come"},
             "Several hosts that serve one method at one address: they share its calls, or it belongs to the first of "
             "them until that leaves, and others are refused."),
      bytes("hosts.max_region_bytes", &Config::max_region_bytes, kMi, 1024 * kGi,
            "Largest region of one host: address space, of which it takes the memory that it touches."),
      bytes("hosts.max_total_region_bytes", &Config::max_total_region_bytes, kMi, 64 * 1024 * kGi,
            "Regions of all hosts together; further hosts are refused."),
      integer("hosts.max_routes", &Config::max_routes, 1, 1'000'000, "routes",
              "Methods of one host, times the addresses that it serves them at. All hosts together have four times as "
              "many."),
      bytes(
          "hosts.max_total_descriptor_bytes", &Config::max_total_descriptor_bytes, 0, 64 * kGi,
          "Descriptors of all hosts for server reflection, with their indexes: engine memory. A host beyond it serves, "
          "but is not described. 0: no host is."),

      integer("lines.max_names", &Config::max_line_names, 0, 4096, "names",
              "Names that one host may serve with RPC lines. 0: no host serves any."),
      integer("lines.max_connections", &Config::max_line_connections, 1, 65'536, "connections",
              "Connections of RPC lines that one host may have open on one engine thread. A host that serves may have "
              "sixteen times as many."),
      text("lines.listen", &Config::lines_listen, nullptr,
           "Where other engines may open links to this one, by UDP: ADDRESS:PORT. They reach all names that hosts here "
           "serve with RPC lines. Empty: nowhere."),
      text(
          "lines.allow", &Config::lines_allow, nullptr,
          "From where other engines may do so: IP addresses and networks, \"10.0.0.7,10.1.0.0/16,fd00::/8\". Datagrams "
          "from elsewhere to lines.listen are counted and dropped. Empty: from everywhere."),
      text("lines.peers", &Config::lines_peers, nullptr,
           "Engines that serve names which no host here serves: \"NAME=ADDRESS:PORT,...\", a name or a beginning such "
           "as shop.*. Several engines of one name take turns."),
      integer("lines.max_peers", &Config::max_peers, 1, 65'535, "links",
              "Links to other engines on one engine thread, 64 of them at most that one address has opened."),
      integer("lines.max_peer_connections", &Config::max_peer_connections, 1, 65'536, "connections",
              "Connections of one link."),
      bytes("lines.peer_memory", &Config::peer_memory, 64 * kKi, kGi,
            "Lines that one link keeps until the other engine has them; rounded down to a power of two. Requests find "
            "no room in its second half (RESOURCE_EXHAUSTED)."),
      bytes("lines.peers_memory", &Config::peers_memory, kMi, 64 * kGi,
            "Lines that all links of one engine thread keep, both ways."),
      integer("lines.peer_timeout_ms", &Config::peer_timeout_ms, 100, kDayMs, "milliseconds",
              "A link ends, and its calls in UNAVAILABLE, when the other engine was not heard for so long."),
      integer("lines.datagram_lines", &Config::datagram_lines, 1, 22, "lines",
              "Most lines of a datagram. 22 fill an Ethernet payload of 1,500 bytes; a tunnel may need fewer."),

      choice("channelz.shows", &Config::channelz_shows, {"user", "engine", "nothing"},
             "What clients of gRPC's channelz service see, which is offered at the addresses of hosts that ask for it. "
             "user: servers and connections of the users of these hosts, wherever they listen at this engine; engine: "
             "those of all users; nothing: the service is not offered."),

      choice("dispatch.policy", &Config::policy, {"round-robin", "least-outstanding"},
             "How the worker of a call is chosen: among the workers of all hosts that serve its method, or of the host "
             "that dispatch.balance chose."),
      text("dispatch.balance", &Config::balance, nullptr,
           "How the calls of a method are spread over the hosts that serve it: \"PATTERN,PATTERN POLICY; PATTERN "
           "POLICY\", the first pattern that fits counts. POLICY: round-robin (the hosts take turns), "
           "least-outstanding (the host with the fewest calls under way), hash=metadata:KEY or hash=field:PATH (the "
           "same host for the same value of a metadata key, or of a field of the request such as customer.id), with "
           "bound=125: no host gets more than 125 % of the mean. Empty: the workers of all hosts share them "
           "(docs/balancing.md)."),
      text("dispatch.balance_seed", &Config::balance_seed, nullptr,
           "What hash= is seeded with: 32 hexadecimal digits, which clients must not know. Empty: random, so that the "
           "keys move to other hosts when the engine starts anew."),
      integer(
          "dispatch.wait_ms", &Config::wait_ms, 0, kDayMs, "milliseconds",
          "How long a call waits for room in the region (then RESOURCE_EXHAUSTED), or for a host after the last one "
          "left (then UNAVAILABLE)."),
      integer("dispatch.max_waiting", &Config::max_waiting, 0, 10'000'000, "calls",
              "Calls that may wait on one engine thread."),
      bytes("dispatch.max_waiting_bytes", &Config::max_waiting_bytes, 0, 64 * kGi,
            "Request bytes that one engine thread may hold outside the region, for calls that wait or are being "
            "received."),
      bytes("dispatch.max_reply_bytes", &Config::max_reply_bytes, kMi, 64 * kGi,
            "Encoded replies that one engine thread may hold outside the regions while their clients read them. One "
            "host may hold as much as is free beside it: half of this, if it is alone. Beyond that its replies wait "
            "for up to dispatch.wait_ms, then end in RESOURCE_EXHAUSTED."),

      bytes("limits.max_request_bytes", &Config::max_request_bytes, 0, 0x7fffffff,
            "Largest request message, unless the host's server sets its own."),
      bytes("limits.max_response_bytes", &Config::max_response_bytes, 0, 0x7fffffff, "Largest response message."),
      integer("limits.max_concurrent_streams", &Config::max_concurrent_streams, 1, 1'000'000, "streams",
              "Calls in progress on one connection."),
      bytes("limits.max_header_bytes", &Config::max_header_bytes, 256, 64 * kKi,
            "Headers of one request, counted as HTTP/2 does (name + value + 32 each)."),
      integer(
          "limits.max_connections", &Config::max_connections, 1, 1'000'000, "connections",
          "Client connections of the whole engine. Further ones are closed at once, and those that have idled for the "
          "longest time are asked to go."),
      integer("limits.max_connections_per_address", &Config::max_connections_per_address, 0, 1'000'000, "connections",
              "The same, of one IPv4 address, of 64 bits of IPv6 address, or of all unix sockets. 0: half of "
              "limits.max_connections."),
      bytes("limits.client_memory", &Config::client_memory, kMi, 64 * kGi,
            "Heap that all clients of one engine thread may make it hold: connections, headers, requests on their way, "
            "replies that are not taken. Beyond it calls are refused, and connections that hold the most are closed."),
      bytes("limits.address_memory", &Config::address_memory, kMi, 64 * kGi, "The same, of one address."),
      bytes("limits.connection_memory", &Config::connection_memory, 64 * kKi, 64 * kGi, "The same, of one connection."),
      integer("limits.max_calls", &Config::max_calls, 1, 10'000'000, "calls",
              "Calls in progress on one engine thread, also those that a host still runs after their client has left. "
              "Further ones end in RESOURCE_EXHAUSTED."),
      integer("limits.max_calls_per_address", &Config::max_calls_per_address, 1, 10'000'000, "calls",
              "The same, of one address. One connection may have twice limits.max_concurrent_streams."),
      bytes(
          "limits.header_rate", &Config::header_rate, 64 * kKi, 64 * kGi,
          "Header fields a second that one engine thread decodes for one address. A sixteenth of it may come at once, "
          "and 1/256 from an address that is new. Blocks that repeat are not decoded. A connection beyond it is "
          "closed."),

      choice("compression.algorithms", &Config::compression_algorithms, {"all", "gzip", "deflate", "none"},
             "How messages may be compressed, both ways. A request compressed otherwise ends in UNIMPLEMENTED, and "
             "replies are not compressed otherwise, whatever a service asks for."),
      integer("compression.level", &Config::compression_level, 1, 9, "zlib's level",
              "How hard replies are compressed: 1 costs the engine the least time, 9 gives the smallest replies. gRPC "
              "has 6."),

      bytes("http2.stream_window", &Config::stream_window, 65535, 0x7fffffff,
            "Flow control window of one request stream."),
      bytes("http2.connection_window", &Config::connection_window, 65535, 0x7fffffff,
            "Flow control window of a connection: bounds the bytes of its requests that are being received or wait for "
            "room."),
      integer("http2.reset_burst", &Config::reset_burst, 1, 100'000'000, "streams",
              "Streams that a peer may cancel in one burst."),
      integer("http2.reset_rate", &Config::reset_rate, 1, 100'000'000, "streams a second",
              "Streams that a peer may cancel in the long run; the connection of a faster peer is closed."),
      integer("http2.control_frame_rate", &Config::control_frame_rate, 10, 100'000'000, "frames a second",
              "Frames without a request (PING, SETTINGS, RST_STREAM, empty DATA) that a peer may send, with "
              "bursts of twice as many."),
      integer(
          "http2.min_ping_interval_ms", &Config::min_ping_interval_ms, 0, kDayMs, "milliseconds",
          "How far apart a client's PINGs must be while the engine sends it nothing else. PINGs that come sooner are "
          "strikes."),
      integer("http2.ping_without_calls", &Config::ping_without_calls, 0, 1, "0 or 1",
              "1: a client without a call may ping as often. 0: every two hours."),
      integer("http2.max_ping_strikes", &Config::max_ping_strikes, 0, 1000, "strikes",
              "A connection with more strikes in a row is closed (ENHANCE_YOUR_CALM, \"too_many_pings\"). 0: PINGs are "
              "not counted."),
      integer("http2.handshake_timeout_ms", &Config::handshake_timeout_ms, 100, kDayMs, "milliseconds",
              "Time for a new connection's preface and SETTINGS."),
      integer("http2.idle_timeout_ms", &Config::idle_timeout_ms, 0, kDayMs, "milliseconds",
              "A connection without a call for this long is closed with GOAWAY. 0: never."),
      integer("http2.stall_timeout_ms", &Config::stall_timeout_ms, 0, kDayMs, "milliseconds",
              "A request, a reply or a connection that moves more slowly than http2.least_rate for this long is ended. "
              "0: never."),
      integer("http2.least_rate", &Config::least_rate, 1, 1'000'000'000, "bytes a second",
              "How fast a client must send a request that it has begun, and take a reply."),
      integer(
          "http2.keepalive_ms", &Config::keepalive_ms, 0, kDayMs, "milliseconds",
          "A client that has sent nothing for this long is asked by a PING whether it is there, also while its calls "
          "are silent streams. 0: never."),
      integer("http2.keepalive_timeout_ms", &Config::keepalive_timeout_ms, 1, kDayMs, "milliseconds",
              "A client that sends nothing for this long after that PING is gone."),
      integer("http2.max_connection_age_ms", &Config::max_connection_age_ms, 0, 365 * kDayMs, "milliseconds",
              "A connection of this age, and a tenth more or less, is closed with GOAWAY when its calls have ended, so "
              "that clients spread anew. 0: never."),
      integer("http2.max_connection_age_grace_ms", &Config::max_connection_age_grace_ms, 0, 365 * kDayMs,
              "milliseconds", "How long the calls of such a connection may go on. 0: until they end."),

      text("tls.certificate", &Config::tls_certificate, nullptr,
           "File of the certificate chain, in PEM, of the identity \"default\". Several, separated by commas: the "
           "client's name (SNI) chooses."),
      text("tls.key", &Config::tls_key, nullptr, "Files of the private keys, in PEM, in the same order."),
      text("tls.client_ca", &Config::tls_client_ca, nullptr,
           "File of the root certificates that clients' certificates must lead to."),
      choice("tls.clients", &Config::tls_clients, {"none", "request", "require"},
             "Whether clients are asked for a certificate. request: one that comes must be good; require: one must "
             "come."),
      text("tls.identities", &Config::tls_identities, nullptr,
           "Further identities: \"NAME certificate=FILE key=FILE client_ca=FILE clients=require; NAME ...\"."),
      text("tls.listen", &Config::tls_listen, nullptr,
           "The addresses that are served by TLS, whatever hosts ask for: \"ADDRESS,ADDRESS; NAME=ADDRESS,...\". NAME "
           "is an identity; without it, \"default\". A \"*\" at the end of an address stands for any rest."),
      choice("tls.min_version", &Config::tls_min_version, {"1.2", "1.3"}, "The oldest version of TLS that is spoken."),
      integer("tls.handshake_timeout_ms", &Config::tls_handshake_timeout_ms, 100, kDayMs, "milliseconds",
              "Time for a new connection's TLS handshake."),
      integer("tls.reload_s", &Config::tls_reload_s, 0, 86'400, "seconds",
              "How often the identities' files are looked at, and read again if they have changed. 0: on SIGHUP only."),

      text("auth.issuers", &Config::auth_issuers, nullptr,
           "Whose tokens (JWT) are taken: \"NAME iss=ISSUER keys=FILE audiences=A,B algorithms=RS256,ES256 typ=TYPE "
           "claims=exp,sub; NAME ...\". keys: a JWKS, or PEM. audiences=*: any. algorithms: all with public keys, "
           "without it; HS256, HS384 and HS512 must be named. claims: those that each token must have (exp, without "
           "it). Empty: the engine looks at no tokens."),
      text("auth.rules", &Config::auth_rules, nullptr,
           "Which methods need a token: \"PATTERN=require scopes=A,B claims=NAME:VALUE issuers=NAME; "
           "PATTERN=optional; PATTERN=off\". A pattern is /package.Service/Method, /package.Service/* or *; the "
           "longest that fits counts. A method that none fits needs a token."),
      text("auth.claims", &Config::auth_claims, nullptr,
           "Claims that services find in their auth_context() as jwt_NAME, beside jwt_iss, jwt_sub, jwt_aud, jwt_scope "
           "and jwt_exp: \"email,tenant\"."),
      integer("auth.leeway_s", &Config::auth_leeway_s, 0, 3600, "seconds",
              "How far the clocks of issuers may be off: a token is good for so much longer, and earlier."),
      choice("auth.forward_token", &Config::auth_forward_token, {"no", "yes"},
             "Whether services see the token that was checked in their metadata (authorization)."),
      choice("auth.cleartext", &Config::auth_cleartext, {"refuse", "allow"},
             "What becomes of tokens that other machines send over connections without TLS."),
      bytes("auth.max_token_bytes", &Config::auth_max_token_bytes, 256, 64 * kKi,
            "Largest token. limits.max_header_bytes bounds it, too."),
      bytes("auth.cache_bytes", &Config::auth_cache_bytes, 0, kGi,
            "Memory of one engine thread for tokens that it has verified, so that it need not do so again."),
      integer("auth.wrong_token_rate", &Config::auth_wrong_token_rate, 1, 10'000'000, "tokens a second",
              "Tokens with a wrong signature that one engine thread verifies for one address, half of them for one "
              "connection. Beyond it, tokens of the connection, or of the address, that are not known end in "
              "RESOURCE_EXHAUSTED. All clients behind a proxy have one address: raise it there."),
      integer("auth.reload_s", &Config::auth_reload_s, 0, 86'400, "seconds",
              "How often the files of keys are looked at, and read again if they have changed. 0: on SIGHUP only."),

      choice("log.level", &Config::log_level, {"trace", "debug", "info", "warn", "error", "off"},
             "The least serious events that are logged."),
      choice("log.format", &Config::log_format, {"text", "json"}, "Each event is one line of text or one JSON object."),
      text("log.file", &Config::log_file, nullptr,
           "File that the log is appended to; its directory must exist. Empty: stderr."),

      text("metrics.address", &Config::metrics_address, "DROVER_METRICS",
           "Address that serves Prometheus metrics (HTTP, /metrics), such as \"127.0.0.1:9464\"; of a name, all its "
           "addresses. IPv6 needs a civetweb that was built with it. Empty: not served."),

      text("trace.file", &Config::trace_file, nullptr,
           "File that spans of calls are appended to, as lines of OTLP/JSON. With engine.sandbox its directory must be "
           "its own: no home directory, and not one directly below /. Empty: the engine makes no spans, and passes "
           "traces on as they came."),
      text("trace.service", &Config::trace_service, nullptr, "The spans' service.name."),
      integer("trace.sample_per_million", &Config::trace_sample_per_million, 0, 1'000'000, "of a million calls",
              "How many of the calls that come without a trace begin one. Those that come with one follow its sampled "
              "flag."),
      integer("trace.max_spans", &Config::trace_max_spans, 1, 1'000'000, "spans a second",
              "Spans of one engine thread. Calls beyond it pass without one."),

      text(
          "binary_log.file", &Config::binary_log_file, "DROVER_BINARY_LOG",
          "File of gRPC's binary log. It holds what clients and services say to each other: give it a directory of its "
          "own, which others may not read. Empty: there is no binary log."),
      text("binary_log.filter", &Config::binary_log_filter, "GRPC_BINARY_LOG_FILTER",
           "Which calls are logged, and how much of each metadata block (h) and message (m), in gRPC's words: "
           "\"*{h;m:256},shop.Orders/*,-shop.Orders/Pay\". Empty: none."),
      text("binary_log.redact", &Config::binary_log_redact, nullptr,
           "Metadata whose values are not logged, but their names are: \"authorization,x-api-key,*token*\", with a * "
           "at an end for any characters. It takes the default's place. Empty: all values are logged."),
      bytes("binary_log.max_payload_bytes", &Config::binary_log_max_payload_bytes, 0, 16 * kMi,
            "Most bytes of one message or metadata block that are logged, whatever the filter says. Copying them takes "
            "an engine thread's time."),
      bytes("binary_log.memory", &Config::binary_log_memory, 64 * kKi, kGi,
            "Entries of one engine thread that wait for the file. Those that find no room are dropped and counted."),
      bytes("binary_log.max_file_bytes", &Config::binary_log_max_file_bytes, kMi, 1024 * kGi,
            "A file that would become larger gets the name FILE.1, and a new one begins."),
      integer("binary_log.old_files", &Config::binary_log_old_files, 0, 1000, "files",
              "FILE.1, FILE.2, ... that are kept, FILE.1 the youngest. 0: none, a full file is removed."),
  };
}

const ConfigKey* find_key(std::string_view name) {
  for (const ConfigKey& key : config_keys()) {
    if (name == key.name) return &key;
  }
  return nullptr;
}

std::string range_text(const ConfigKey& key) {
  switch (key.type) {
    case ConfigKey::Type::kInteger:
    case ConfigKey::Type::kBytes:
      return std::to_string(key.min) + " to " + std::to_string(key.max);
    case ConfigKey::Type::kChoice: {
      std::string all;
      for (const std::string& one : key.choices) all += (all.empty() ? "" : ", ") + one;
      return all;
    }
    case ConfigKey::Type::kText:
      return "text";
  }
  return "";
}

// The factor of "", and for byte counts of "KiB", "MiB" and "GiB"; 0 for any other unit.
int64_t unit_factor(std::string_view unit, bool is_bytes) {
  if (unit.empty()) return 1;
  if (!is_bytes) return 0;
  return unit == "KiB" ? kKi : unit == "MiB" ? kMi : unit == "GiB" ? kGi : 0;
}

// What is wrong with `unit` of the byte count `value`: names the binary unit that "MB", "m" or "mib" may have meant.
std::string wrong_unit(std::string_view value, std::string_view digits, std::string_view unit) {
  std::string wrong =
      "'" + std::string(value) + "': '" + std::string(unit) + "' is not a unit of bytes; expected KiB, ";
  wrong += "MiB, GiB or none";
  std::string_view rest = unit.substr(1);
  bool known =
      rest.empty() || rest == "b" || rest == "B" || rest == "i" || rest == "ib" || rest == "iB" || rest == "IB";
  size_t prefix = std::string_view("kKmMgG").find(unit.front());
  if (!known || prefix == std::string_view::npos) return wrong;
  const char* meant[] = {"KiB", "MiB", "GiB"};
  return wrong + " (did you mean " + std::string(digits) + meant[prefix / 2] + "?)";
}

// "4194304", and for bytes also "4096KiB", "4MiB", "1GiB". Returns what is wrong with the value, or "".
std::string parse_integer(const ConfigKey& key, std::string_view value, int64_t* out) {
  bool is_bytes = key.type == ConfigKey::Type::kBytes;
  std::string expected = "; expected " + range_text(key) + " (" + key.unit + ")";
  int64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc::invalid_argument) return "'" + std::string(value) + "' is not a number" + expected;
  auto digits = static_cast<size_t>(end - value.data());
  int64_t factor = unit_factor(value.substr(digits), is_bytes);
  if (factor == 0 && is_bytes) return wrong_unit(value, value.substr(0, digits), value.substr(digits));
  if (factor == 0) return "'" + std::string(value) + "' is not a whole number" + expected;
  if (error == std::errc() && !__builtin_mul_overflow(number, factor, out)) return "";
  return "'" + std::string(value) + "' is out of range" + expected;
}

std::string check_number(const ConfigKey& key, int64_t value) {
  if (value < key.min || value > key.max) {
    return std::to_string(value) + " is out of range; expected " + range_text(key) + " (" + key.unit + ")";
  }
  if (key.power_of_two && (value & (value - 1)) != 0) return std::to_string(value) + " is not a power of two";
  return "";
}

// Sets one key from text. Returns what is wrong with the value, or "".
std::string set_value(const ConfigKey& key, std::string_view value, Config* config) {
  if (key.number) {
    int64_t number = 0;
    if (std::string wrong = parse_integer(key, value, &number); !wrong.empty()) return wrong;
    if (std::string wrong = check_number(key, number); !wrong.empty()) return wrong;
    config->*key.number = number;
    return "";
  }
  if (key.type == ConfigKey::Type::kChoice &&
      std::find(key.choices.begin(), key.choices.end(), value) == key.choices.end()) {
    return "'" + std::string(value) + "' is not one of: " + range_text(key);
  }
  if (key.text == &Config::cpus) {
    std::vector<int> cpus;
    if (!parse_cpus(value, &cpus)) return "'" + std::string(value) + "' is not a list of CPUs such as 0, 0-1 or 0,2-3";
  }
  if (key.text == &Config::control_socket && !value.empty() && !value.starts_with("unix:")) {
    return "'" + std::string(value) + "' is not the address of a control socket; expected unix:PATH or unix:@NAME";
  }
  config->*key.text = std::string(value);
  return "";
}

// Values by key, and where each came from.
struct Loading {
  Config* config;
  std::vector<std::string>* origins;
  std::vector<std::string>* problems = nullptr;  // where all that is wrong is collected; null: the first ends it

  // Returns "" if the loading goes on.
  std::string wrong(std::string what) {
    if (problems == nullptr) return what;
    problems->push_back(std::move(what));
    return "";
  }
  std::string& origin(const ConfigKey& key) { return (*origins)[static_cast<size_t>(&key - config_keys().data())]; }
};

// The keys or sections that exist, for an error text: "; [engine] has threads, cpus, ..." or "; the sections are
// engine, channel, ...".
std::string known_keys(std::string_view name) {
  const std::string_view section = name.substr(0, name.find('.'));
  std::string keys, sections, last;
  for (const ConfigKey& key : config_keys()) {
    const std::string_view full = key.name, in = full.substr(0, full.find('.'));
    if (in == section) keys += (keys.empty() ? "" : ", ") + std::string(full.substr(in.size() + 1));
    if (in != last) sections += (sections.empty() ? "" : ", ") + std::string(in);
    last = in;
  }
  return keys.empty() ? "; the sections are " + sections : "; [" + std::string(section) + "] has " + keys;
}

std::string read_node(const std::string& name, const toml::node& node, const std::string& file, Loading& loading) {
  if (const toml::table* table = node.as_table()) {
    for (auto&& [key, value] : *table) {
      std::string full = name.empty() ? std::string(key.str()) : name + "." + std::string(key.str());
      if (std::string wrong = read_node(full, value, file, loading); !wrong.empty()) return wrong;
    }
    return "";
  }
  std::string at = file + ":" + std::to_string(node.source().begin.line);
  const ConfigKey* key = find_key(name);
  if (!key) return loading.wrong(at + ": " + name + ": unknown key" + known_keys(name));
  std::string wrong;
  if (auto number = node.value_exact<int64_t>()) {
    wrong = key->number ? check_number(*key, *number) : "expected text, not a number";
    if (wrong.empty()) loading.config->*(key->number) = *number;
  } else if (auto string = node.value_exact<std::string>()) {
    bool takes_text = !key->number || key->type == ConfigKey::Type::kBytes;
    wrong = takes_text ? set_value(*key, *string, loading.config) : "expected a number, not text";
  } else {
    wrong = key->number ? "expected a number" : "expected text";
  }
  if (!wrong.empty()) return loading.wrong(at + ": " + name + ": " + wrong);
  loading.origin(*key) = at;
  return "";
}

std::string read_file(const std::string& path, Loading& loading) {
  std::ifstream file(path);
  if (!file) return "--config: cannot read '" + path + "': " + std::strerror(errno);
  std::stringstream content;
  content << file.rdbuf();
  try {
    toml::table table = toml::parse(content.str(), path);
    return read_node("", table, path, loading);
  } catch (const toml::parse_error& e) {
    return path + ":" + std::to_string(e.source().begin.line) + ": " + std::string(e.description());
  }
}

// A value as TOML has it; byte counts with the largest unit that divides them.
std::string toml_text(const ConfigKey& key, const Config& config) {
  if (!key.number) {
    const std::string& text = config.*key.text;
    bool plain =
        std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
    if (plain) return '"' + text + '"';
    std::ostringstream quoted;
    quoted << toml::value<std::string>(text);
    return quoted.str();
  }
  int64_t number = config.*key.number;
  if (key.type == ConfigKey::Type::kBytes && number != 0) {
    for (const auto& [factor, unit] : {std::pair{kGi, "GiB"}, std::pair{kMi, "MiB"}, std::pair{kKi, "KiB"}}) {
      if (number % factor == 0) return "\"" + std::to_string(number / factor) + unit + "\"";
    }
  }
  return std::to_string(number);
}

std::string default_text(const ConfigKey& key) {
  static const Config defaults;
  return key.number ? std::to_string(defaults.*key.number) : defaults.*key.text;
}

std::string help_text(const ConfigKey& key) {
  std::string help = key.doc;
  help += " [" + range_text(key) + (*key.unit ? std::string("; ") + key.unit : "") + "]";
  if (std::string value = default_text(key); !value.empty()) help += " default " + value;
  if (key.environment) help += std::string(" (") + key.environment + ")";
  return help;
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = make_keys();
  return keys;
}

ConfigResult load_config(const std::vector<std::string>& arguments, const Environment& environment) {
  ConfigResult result;
  CLI::App app("droverd: the engine that does a service's RPC work", "droverd");
  std::string file;
  bool dump_docs = false;
  bool print = false;
  bool version = false;
  int64_t child = 0;
  bool check = false;
  app.add_option("--config", file, "TOML file with the keys below, as [section] key = value.");
  app.add_flag(
      "--child", child,
      "Started by a host: end when no host is left (engine.orphan_timeout_ms). --child=PID: by that process; end "
      "with it, too, until a host is served.");
  app.add_option("--listen-fds", result.config.listen_fds,
                 "With --child: so many listening sockets, from descriptor 3 on, were passed to the host by systemd.")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--print-config", print, "Print every key with its value and where the value came from, as TOML; exit.");
  app.add_flag("--check", check,
               "Check the configuration and the files that it names, print everything that is wrong, a line each, and "
               "what would be listened on; exit.");
  app.add_flag("--fingerprint", result.fingerprint,
               "Print digests of this program and of the configuration in effect, as hosts compare them; exit.");
  app.add_flag("--dump-config-docs", dump_docs, "Print docs/configuration.md and exit.");
  app.add_flag("--version", version, "Print the version and exit.");
  std::vector<std::string> values(config_keys().size());
  std::vector<CLI::Option*> options;
  for (size_t i = 0; i < config_keys().size(); ++i) {
    const ConfigKey& key = config_keys()[i];
    options.push_back(app.add_option("--" + std::string(key.name), values[i], help_text(key))->option_text("VALUE"));
  }
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    result.status = ConfigResult::Status::kExit;
    result.output = app.help();
    return result;
  } catch (const CLI::ParseError& e) {
    result.status = ConfigResult::Status::kError;
    result.output = e.what();
    return result;
  }
  if (dump_docs || version) {
    result.status = ConfigResult::Status::kExit;
    result.output = dump_docs ? config_docs() : "droverd " DROVER_VERSION "\n";
    return result;
  }
  auto fail = [&](std::string what) {
    result.status = ConfigResult::Status::kError;
    result.output = std::move(what);
    return result;
  };
  result.config.child = child != 0;
  result.config.parent_pid = child > 1 ? child : 0;  // 1: the flag without a value
  result.origins.assign(config_keys().size(), "default");
  result.file = file;
  Loading loading{&result.config, &result.origins, check ? &result.problems : nullptr};
  if (!file.empty()) {
    std::string wrong = read_file(file, loading);
    if (!wrong.empty()) wrong = loading.wrong(wrong);
    if (!wrong.empty()) return fail(wrong);
  }
  for (const ConfigKey& key : config_keys()) {
    const char* value = key.environment ? environment(key.environment) : nullptr;
    if (!value) continue;
    std::string wrong = set_value(key, value, &result.config);
    if (!wrong.empty()) {
      wrong = loading.wrong(std::string(key.environment) + ": " + key.name + ": " + wrong);
      if (!wrong.empty()) return fail(wrong);
      continue;
    }
    loading.origin(key) = key.environment;
  }
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i]->count() == 0) continue;
    const ConfigKey& key = config_keys()[i];
    std::string wrong = set_value(key, values[i], &result.config);
    if (!wrong.empty()) {
      wrong = loading.wrong("--" + std::string(key.name) + ": " + wrong);
      if (!wrong.empty()) return fail(wrong);
      continue;
    }
    loading.origin(key) = "--" + std::string(key.name);
  }
  if (check) result.status = ConfigResult::Status::kCheck;
  if (print) {
    if (!check) result.status = ConfigResult::Status::kExit;  // problems are told behind the values
    result.output = print_config(result.config, result.origins);
  }
  return result;
}

const std::string& origin_of(const ConfigResult& loaded, std::string_view key) {
  return loaded.origins[static_cast<size_t>(find_key(key) - config_keys().data())];
}

std::string print_config(const Config& config, const std::vector<std::string>& origins) {
  std::string out, section;
  for (size_t i = 0; i < origins.size(); ++i) {
    const ConfigKey& key = config_keys()[i];
    std::string_view name = key.name;
    std::string_view in = name.substr(0, name.find('.'));
    if (in != section) out += (section.empty() ? "[" : "\n[") + std::string(in) + "]\n";
    section = in;
    std::string line = std::string(name.substr(in.size() + 1)) + " = " + toml_text(key, config);
    line.resize(std::max(line.size() + 2, kOriginColumn), ' ');
    out += line + "# " + origins[i] + "\n";
  }
  return out;
}

std::string config_docs() {
  std::string out =
      "# Configuration of droverd\n\n"
      "<!-- Made by `droverd --dump-config-docs` from the table in engine/base/config.cc; do not edit. -->\n\n"
      "Every key is a flag (`--engine.threads=2`) and a key of the TOML file that `--config FILE` names:\n\n"
      "```toml\n[engine]\nthreads = 2\ncpus = \"0-1\"\n\n[limits]\nmax_request_bytes = \"8MiB\"\n```\n\n"
      "A flag wins over the environment, the environment over the file, the file over the default. "
      "`droverd --print-config` prints every key with its value and where the value came from (`default`, `FILE:LINE`, "
      "the environment variable or the flag), as a TOML file that `--config` takes.\n\n"
      "An unknown key or a value out of range ends droverd with exit status 2. The message names the key and where the "
      "value came from. Byte counts take the units KiB, MiB and GiB.\n\n"
      "| key | values | unit | default | environment | meaning |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const ConfigKey& key : config_keys()) {
    std::string value = default_text(key);
    out += "| `" + std::string(key.name) + "` | " + range_text(key) + " | " + key.unit + " | " +
           (value.empty() ? "" : "`" + value + "`") + " | " +
           (key.environment ? "`" + std::string(key.environment) + "`" : "") + " | " + key.doc + " |\n";
  }
  out +=
      "\nFlags without a key: `--config FILE`; `--child` (a host started this engine: it ends when no host is left); "
      "`--listen-fds N` (sockets that systemd passed to that host); "
      "`--print-config`; `--check` (`drover check` runs it); `--fingerprint` (two engines with the same output do the "
      "same); `--dump-config-docs`; `--version`; `--help`.\n\n"
      "On SIGTERM or SIGINT the listeners close, clients get GOAWAY, and running calls have `engine.drain_grace_ms` to "
      "finish; then droverd ends with exit status 0. A second signal ends it at once, with exit status 1. On SIGHUP "
      "the certificates of `tls.*` and the keys of `auth.issuers` are read again.\n";
  return out;
}

bool parse_cpus(std::string_view text, std::vector<int>* cpus) {
  cpus->clear();
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (text.empty() && part.data() + part.size() < text.data()) return false;  // ends in a comma
    int first = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), first);
    if (error != std::errc() || first < 0) return false;
    int last = first;
    std::string_view rest = part.substr(static_cast<size_t>(end - part.data()));
    if (!rest.empty()) {
      if (rest.front() != '-') return false;
      auto [last_end, last_error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), last);
      if (last_error != std::errc() || last_end != rest.data() + rest.size()) return false;
    }
    if (last < first || last >= 1024) return false;
    for (int cpu = first; cpu <= last; ++cpu) cpus->push_back(cpu);
  }
  return true;
}

}  // namespace drover::engine
