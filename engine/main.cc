// droverd: reads the configuration, starts the engine threads and the control server, and ends in order.
//
//   main thread     signals: first SIGTERM or SIGINT drains, a second one ends the process at once
//   control thread  ControlServer: hosts come and go
//   engine threads  EventLoop + Transport + Dispatcher each; they share nothing but the listeners' addresses
//
// Exit status: 0 in order, 1 something failed or a second signal, 2 the configuration is wrong (also with --check,
// which starts nothing).
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>
#include <csignal>
#include <ctime>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/auth/policy.h"
#include "engine/auth/token_checker.h"
#include "engine/base/config.h"
#include "engine/base/descriptor_table.h"
#include "engine/base/heap.h"
#include "engine/base/heap_trim.h"
#include "engine/base/log.h"
#include "engine/base/metrics.h"
#include "engine/base/pidfile.h"
#include "engine/binary_log_setup.h"
#include "engine/config_check.h"
#include "engine/confinement.h"
#include "engine/control/control_server.h"
#include "engine/control/dispatch_threads.h"
#include "engine/dispatch/dispatcher.h"
#include "engine/dispatch/remote_lines.h"
#include "engine/fingerprint.h"
#include "engine/grpc/transport.h"
#include "engine/net/activated_sockets.h"
#include "engine/net/event_loop.h"
#include "engine/net/io.h"
#include "engine/net/listeners.h"
#include "engine/net/socket_address.h"
#include "engine/tls/identities.h"
#include "engine/trace/span_writer.h"
#include "engine/trace/tracer.h"

namespace drover::engine {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kUs = 1'000;
constexpr int64_t kTrimPeriodNs = 1'000 * kMs;
constexpr int64_t kPredecessorNs = 2'000 * kMs;
constexpr int64_t kReservedDescriptors = 1024;  // for hosts, listeners and the engine itself

// The dispatchers are made before the control server, which needs them; this stands between.
class HostEventsRelay final : public HostEvents {
 public:
  void host_attached(uint64_t host, uint32_t thread) override { server->host_attached(host, thread); }
  void host_failed(uint64_t host, uint32_t thread, std::string why) override {
    server->host_failed(host, thread, std::move(why));
  }
  void host_drained(uint64_t host, uint32_t thread, uint64_t calls_ended) override {
    server->host_drained(host, thread, calls_ended);
  }
  void host_let_go(uint64_t host, uint32_t thread) override { server->host_let_go(host, thread); }
  void connection_opened(uint64_t host, uint32_t thread, const Opened& opened) override {
    server->connection_opened(host, thread, opened);
  }
  ControlServer* server = nullptr;
};

TransportOptions transport_options(const Config& c) {
  TransportOptions o;
  o.max_connections = static_cast<uint32_t>(c.max_connections);
  o.max_concurrent_streams = static_cast<uint32_t>(c.max_concurrent_streams);
  o.max_header_bytes = static_cast<uint32_t>(c.max_header_bytes);
  o.stream_window = static_cast<uint32_t>(c.stream_window);
  o.connection_window = static_cast<uint32_t>(c.connection_window);
  o.reset_burst = static_cast<uint32_t>(c.reset_burst);
  o.reset_rate = static_cast<uint32_t>(c.reset_rate);
  o.control_frame_rate = static_cast<uint32_t>(c.control_frame_rate);
  o.pings = {.min_interval_ns = c.min_ping_interval_ms * kMs,
             .without_calls = c.ping_without_calls != 0,
             .max_strikes = static_cast<uint32_t>(c.max_ping_strikes)};
  o.handshake_timeout_ns = c.handshake_timeout_ms * kMs;
  o.tls_handshake_timeout_ns = c.tls_handshake_timeout_ms * kMs;
  o.idle_timeout_ns = c.idle_timeout_ms * kMs;
  o.stall_timeout_ns = c.stall_timeout_ms * kMs;
  o.least_rate = static_cast<uint32_t>(c.least_rate);
  o.keepalive_ns = c.keepalive_ms * kMs;
  o.keepalive_timeout_ns = c.keepalive_timeout_ms * kMs;
  o.max_age_ns = c.max_connection_age_ms * kMs;
  o.max_age_grace_ns = c.max_connection_age_grace_ms * kMs;
  const int64_t share = c.max_connections_per_address != 0 ? c.max_connections_per_address : c.max_connections / 2;
  o.max_connections_per_address = static_cast<uint32_t>(std::max<int64_t>(share, 1));
  const bool all = c.compression_algorithms == "all";
  o.compressions =
      Compressions(all || c.compression_algorithms == "deflate", all || c.compression_algorithms == "gzip");
  o.compression_level = static_cast<int>(c.compression_level);
  auto limits = [](int64_t memory, int64_t calls) {
    return AccountLimits{static_cast<size_t>(memory), static_cast<size_t>(calls)};
  };
  o.ledger[Level::kThread] = limits(c.client_memory, c.max_calls);
  o.ledger[Level::kAddress] = limits(c.address_memory, c.max_calls_per_address);
  o.ledger[Level::kConnection] = limits(c.connection_memory, 2 * c.max_concurrent_streams);
  o.ledger.decoding_rate = static_cast<double>(c.header_rate);
  o.ledger.wrong_token_rate = static_cast<double>(c.auth_wrong_token_rate);
  return o;
}

DispatchOptions dispatch_options(const Config& c, std::shared_ptr<const BalanceRules> balance) {
  DispatchOptions o;
  o.balance = std::move(balance);
  o.policy =
      c.policy == "least-outstanding" ? WorkerChoice::Policy::kLeastOutstanding : WorkerChoice::Policy::kRoundRobin;
  o.wait_ns = c.wait_ms * kMs;
  o.max_waiting = static_cast<uint32_t>(c.max_waiting);
  o.max_waiting_bytes = static_cast<size_t>(c.max_waiting_bytes);
  o.max_request_bytes = static_cast<uint32_t>(c.max_request_bytes);
  o.responses.max_response_bytes = static_cast<size_t>(c.max_response_bytes);
  o.max_reply_bytes = static_cast<size_t>(c.max_reply_bytes);
  o.engine_threads = static_cast<uint32_t>(c.threads);
  o.max_line_connections = static_cast<uint32_t>(c.max_line_connections);
  return o;
}

tls::IdentityOptions identity_options(const Config& c) {
  tls::IdentityOptions o;
  o.identities = c.tls_identities;
  o.listen = c.tls_listen;
  o.certificate = c.tls_certificate;
  o.key = c.tls_key;
  o.client_ca = c.tls_client_ca;
  o.clients = c.tls_clients;
  o.canonical = canonical_addresses;
  o.least = c.tls_min_version == "1.3" ? tls::Version::k13 : tls::Version::k12;
  return o;
}

auth::PolicyOptions policy_options(const Config& c) {
  auth::PolicyOptions o;
  o.issuers = c.auth_issuers;
  o.rules = c.auth_rules;
  o.claims = c.auth_claims;
  o.leeway_s = c.auth_leeway_s;
  o.max_token_bytes = static_cast<size_t>(c.auth_max_token_bytes);
  o.cache_bytes = static_cast<size_t>(c.auth_cache_bytes);
  o.forward = c.auth_forward_token == "yes";
  o.allow_cleartext = c.auth_cleartext == "allow";
  return o;
}

trace::TraceOptions trace_options(const Config& c) {
  return {static_cast<uint32_t>(c.trace_sample_per_million), static_cast<uint32_t>(c.trace_max_spans)};
}

ControlOptions control_options(const Config& c) {
  ControlOptions o;
  o.name = "droverd " DROVER_VERSION;
  o.ring_slots = static_cast<uint32_t>(c.ring_slots);
  o.rx_bytes = static_cast<uint64_t>(c.rx_bytes);
  o.tx_bytes = static_cast<uint64_t>(c.tx_bytes);
  HostPolicy::parse(c.hosts_allow, &o.policy);  // run_main has told what is wrong with it
  o.sharing = c.hosts_sharing == "first-come" ? Sharing::kFirstCome : Sharing::kShared;
  o.max_region_bytes = static_cast<uint64_t>(c.max_region_bytes);
  o.max_total_region_bytes = static_cast<uint64_t>(c.max_total_region_bytes);
  o.max_routes = static_cast<uint32_t>(c.max_routes);
  o.max_total_routes = 4 * o.max_routes;
  o.max_total_descriptor_bytes = static_cast<uint64_t>(c.max_total_descriptor_bytes);
  o.max_line_names = static_cast<uint32_t>(c.max_line_names);
  LinePeers::parse(c.lines_peers, &o.line_peers);  // run_main has told what is wrong with it
  o.child = c.child;
  o.orphan_timeout_ns = c.orphan_timeout_ms * kMs;
  return o;
}

// One set of random numbers an engine thread.
RemoteOptions remote_options(const Config& c) {
  RemoteOptions o;
  if (!c.lines_listen.empty()) o.listen = parse_listen_address(c.lines_listen).candidates.front();
  AllowedPeers::parse(c.lines_allow, &o.peers.allowed);  // run_main has told what is wrong with it
  o.shared = c.threads > 1;
  o.max_connections = static_cast<uint32_t>(c.max_peer_connections);
  o.peers.max_peers = static_cast<uint32_t>(c.max_peers);
  o.peers.peer_memory = static_cast<size_t>(c.peer_memory);
  o.peers.memory = static_cast<size_t>(c.peers_memory);
  o.peers.timeout_ns = c.peer_timeout_ms * kMs;
  o.peers.max_lines = static_cast<uint32_t>(c.datagram_lines);
  uint64_t random[3];
  if (::getrandom(random, sizeof random, 0) != sizeof random) std::abort();  // without it, keys could be guessed
  o.peers.cookie_key = {random[0], random[1]};
  o.peers.seed = random[2];
  return o;
}

struct EngineThread {
  EngineThread(uint32_t index, int cpu_number, const Config& config, std::shared_ptr<const BalanceRules> balance,
               const auth::Policy& tokens, TransportShared& shared, HostEvents& events)
      : cpu(cpu_number),
        metrics(index),
        loop({config.spin_us * kUs, cpu_number, "engine-" + std::to_string(index), *parse_io_kind(config.io)}),
        transport(loop, metrics, transport_options(config), shared),
        dispatcher(index, transport, metrics, dispatch_options(config, std::move(balance)), &events) {
    transport.set_sink(&dispatcher);
    if (tokens.on()) {
      checker = std::make_unique<auth::TokenChecker>(tokens, metrics);
      transport.check_tokens(*checker);
    }
    if (!config.trace_file.empty()) {
      tracer = std::make_unique<trace::Tracer>(trace_options(config), metrics);
      transport.make_spans(*tracer);
    }
  }
  const int cpu;
  ThreadMetrics metrics;
  EventLoop loop;
  std::unique_ptr<trace::Tracer> tracer;        // null: no spans
  std::unique_ptr<auth::TokenChecker> checker;  // null: no tokens are looked at
  std::unique_ptr<binary_log::CallLogger> log;  // null: there is no binary log
  Transport transport;
  Dispatcher dispatcher;
  std::atomic<bool> drained{false};
  std::thread thread;
};

class Engine {
 public:
  Engine(const Config& config, tls::Identities& identities, auth::Policy& tokens, Description description,
         ActivatedSockets activated)
      : config_(config),
        identities_(identities),
        tokens_(tokens),
        description_(std::move(description)),
        activated_(std::move(activated)) {}
  int run();

 private:
  bool start(std::string* error);
  bool make_threads(std::string* error);
  bool confine(std::string* error);
  bool prepare_metrics(std::string* error);
  void offer_channelz();
  void log_calls();
  void drain();
  bool all_drained();
  void stop();
  uint64_t abandoned_calls() const;

  const Config& config_;
  tls::Identities& identities_;
  auth::Policy& tokens_;
  const Description description_;
  ActivatedSockets activated_;
  HeapTrim heap_trim_;  // opens its file before the sandbox
  Confinement confinement_;
  Pidfile pidfile_;
  TransportShared shared_;
  HostEventsRelay events_;
  std::shared_ptr<const BalanceRules> balance_;
  std::vector<std::unique_ptr<EngineThread>> threads_;
  std::unique_ptr<Listeners> listeners_;
  std::unique_ptr<LoopThreads> loop_threads_;
  std::unique_ptr<ControlServer> control_;
  std::unique_ptr<MetricsExporter> exporter_;
  std::unique_ptr<trace::SpanWriter> spans_;
  std::unique_ptr<BinaryLog> binary_log_;  // null: no binary log is configured
  std::thread control_thread_;
  std::optional<ControlListener> control_socket_;  // until the control server has it
  std::string_view io_name_;
  uint64_t abandoned_at_end_ = 0;
};

// SIGHUP: certificates and the keys of tokens are read again.
sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

// Waits for a signal, at most so long; 0 if none came.
int wait_for_signal(int64_t timeout_ns) {
  sigset_t set = awaited_signals();
  timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  int signal = sigtimedwait(&set, nullptr, &timeout);
  return signal > 0 ? signal : 0;
}

// Files that are looked at every so many seconds; 0: never.
class Look {
 public:
  explicit Look(int64_t every_s) : every_ns_(every_s * 1'000 * kMs), last_ns_(monotonic_ns()) {}
  bool due() {
    const int64_t now_ns = monotonic_ns();
    if (every_ns_ == 0 || now_ns - last_ns_ < every_ns_) return false;
    last_ns_ = now_ns;
    return true;
  }

 private:
  const int64_t every_ns_;
  int64_t last_ns_;
};

void Engine::offer_channelz() {
  if (config_.channelz_shows == "nothing") return;
  const ChannelzScope scope = config_.channelz_shows == "engine" ? ChannelzScope::kEngine : ChannelzScope::kUsers;
  for (auto& thread : threads_) {
    thread->dispatcher.offer_channelz(scope, thread->transport.sockets(), loop_threads_.get());
  }
}

void Engine::log_calls() {
  if (!has_binary_log(config_)) return;
  binary_log_ = std::make_unique<BinaryLog>(config_, threads_.front()->metrics);
  for (auto& thread : threads_) {
    thread->log = binary_log_->make_logger(thread->metrics.thread(), thread->metrics);
    thread->transport.log_calls(*thread->log);
  }
}

bool Engine::make_threads(std::string* error) {
  std::string why_not;
  std::unique_ptr<Io> io = make_io(*parse_io_kind(config_.io), &why_not);  // a trial; each thread makes its own
  if (!io) {
    *error = "engine.io: " + why_not + "; engine.io=auto uses epoll then";
    return false;
  }
  io_name_ = io->name();
  if (!why_not.empty()) log::info("no io_uring", {{"why", why_not}});
  io.reset();
  std::vector<int> cpus;
  parse_cpus(config_.cpus, &cpus);
  std::vector<Listeners::Thread> acceptors;
  std::vector<LoopThreads::Thread> loops;
  auto rules = std::make_shared<BalanceRules>();
  BalanceRules::parse(config_.balance, config_.balance_seed, rules.get());  // run_main has told what is wrong with it
  balance_ = rules;
  for (int64_t i = 0; i < config_.threads; ++i) {
    int cpu = cpus.empty() ? -1 : cpus[static_cast<size_t>(i) % cpus.size()];
    threads_.push_back(
        std::make_unique<EngineThread>(static_cast<uint32_t>(i), cpu, config_, balance_, tokens_, shared_, events_));
    EngineThread& thread = *threads_.back();
    if (!config_.lines_listen.empty() || !config_.lines_peers.empty()) {
      if (!thread.dispatcher.open_network(remote_options(config_), thread.loop.io(), error)) {
        *error = "lines.listen: " + *error;
        return false;
      }
    }
    acceptors.push_back({&thread.loop, &thread.transport.acceptor()});
    loops.push_back({&thread.loop, &thread.dispatcher, cpu});
  }
  listeners_ = std::make_unique<Listeners>(acceptors);
  listeners_->use(std::move(activated_));
  loop_threads_ = std::make_unique<LoopThreads>(loops, *listeners_);
  offer_channelz();
  log_calls();
  return true;
}

// The engine of a host that was killed may hold the address until it has noticed.
bool Engine::prepare_metrics(std::string* error) {
  const int64_t end_ns = monotonic_ns() + (config_.child ? kPredecessorNs : 0);
  for (;;) {
    *error = exporter_->prepare(config_.metrics_address);
    if (error->empty()) return true;
    if (monotonic_ns() >= end_ns || error->find(std::strerror(EADDRINUSE)) == std::string::npos) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// What needs more than the sandbox allows comes before it: files for writing, names, rings. No thread runs yet.
bool Engine::confine(std::string* error) {
  if (!config_.metrics_address.empty()) {
    exporter_ = std::make_unique<MetricsExporter>();
    for (auto& thread : threads_) exporter_->add(&thread->metrics);
    if (!prepare_metrics(error)) return false;
  }
  ControlError control_error;
  control_socket_ = ControlListener::listen(config_.control_socket, &control_error);
  if (!control_socket_) {
    *error = "engine.control_socket: " + control_error.message;
    return false;
  }
  control_socket_->admit(control_options(config_).policy.users());
  if (!config_.pidfile.empty() && !pidfile_.take(config_.pidfile, error)) {
    *error = "engine.pidfile: " + *error;
    return false;
  }
  if (!confinement_.enter(config_, identities_, tokens_, threads_.front()->metrics, error)) return false;
  listeners_->explain_refused_paths(confinement_.why_refused());
  return true;
}

bool Engine::start(std::string* error) {
  if (!make_threads(error) || !confine(error)) return false;
  ControlOptions options = control_options(config_);
  options.balance = balance_;
  options.identities = &identities_;
  options.description = description_;
  control_ = std::make_unique<ControlServer>(options, *loop_threads_);
  events_.server = control_.get();
  control_->take(std::move(*control_socket_));
  control_socket_.reset();
  if (exporter_ != nullptr) *error = exporter_->start();
  if (!error->empty()) return false;
  if (!config_.trace_file.empty()) {
    std::vector<trace::SpanRing*> rings;
    for (auto& thread : threads_) rings.push_back(&thread->tracer->ring());
    spans_ = std::make_unique<trace::SpanWriter>(config_.trace_file, config_.trace_service, std::move(rings));
  }
  if (binary_log_ != nullptr) binary_log_->start();
  for (auto& thread : threads_) {
    thread->thread = std::thread([t = thread.get()] { t->loop.run(&t->dispatcher, &t->transport, &t->metrics); });
  }
  control_thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "control");
    control_->run();
    if (control_->orphaned()) ::kill(getpid(), SIGTERM);
  });
  if (config_.pidfile.empty() || pidfile_.fill(error)) return true;
  *error = "engine.pidfile: " + *error;
  return false;
}

// Listeners close, clients and hosts are told; calls that run have the grace to end.
void Engine::drain() {
  control_->drain(static_cast<uint64_t>(config_.drain_grace_ms));
  for (auto& thread : threads_) {
    thread->loop.post([t = thread.get()] { t->transport.drain(); });
  }
}

bool Engine::all_drained() {
  bool all = true;
  for (auto& thread : threads_) {
    thread->loop.post([t = thread.get()] { t->drained.store(t->transport.drained(), std::memory_order_release); });
    all &= thread->drained.load(std::memory_order_acquire);
  }
  return all;
}

// Calls that ended without an answer, so far.
uint64_t Engine::abandoned_calls() const {
  uint64_t sum = 0;
  for (const auto& thread : threads_) sum += thread->metrics.abandoned_calls();
  return sum;
}

void Engine::stop() {
  if (control_) control_->stop();
  if (control_thread_.joinable()) control_thread_.join();
  for (auto& thread : threads_) thread->loop.stop();
  for (auto& thread : threads_) {
    if (thread->thread.joinable()) thread->thread.join();
  }
  exporter_.reset();
  for (auto& thread : threads_) thread->transport.close_all();  // calls are abandoned while their dispatcher lives
  spans_.reset();
  binary_log_.reset();  // its counters are a thread's
  abandoned_at_end_ = abandoned_calls();
  confinement_.report_refusals();  // its counter is a thread's
  threads_.clear();
  pidfile_.remove();
}

int Engine::run() {
  std::string error;
  if (!start(&error)) {
    log::error("cannot start", {{"why", error}});
    if (!config_.log_file.empty()) std::fprintf(stderr, "droverd: cannot start: %s\n", error.c_str());
    stop();
    return 1;
  }
  if (config_.child) ::prctl(PR_SET_PDEATHSIG, 0);
  log::info("ready", {{"pid", getpid()},
                      {"version", DROVER_VERSION},
                      {"threads", config_.threads},
                      {"io", io_name_},
                      {"control_socket", config_.control_socket}});
  int signal = 0;
  Look certificates(config_.tls_reload_s), keys(config_.auth_reload_s);
  while (signal == 0 || signal == SIGHUP) {
    heap_trim_.look(monotonic_ns());
    confinement_.report_refusals();
    signal = wait_for_signal(kTrimPeriodNs);
    const bool all = signal == SIGHUP;
    if (certificates.due() || all) identities_.reload(all);
    if (keys.due() || all) tokens_.issuers().reload(all);
  }

  log::info("draining",
            {{"why", control_->orphaned() ? "no host" : strsignal(signal)}, {"grace_ms", config_.drain_grace_ms}});
  uint64_t abandoned_before = abandoned_calls();
  drain();
  int64_t end = monotonic_ns() + config_.drain_grace_ms * kMs;
  while (!all_drained() && monotonic_ns() < end) {
    if (const int again = wait_for_signal(10 * kMs); again != 0 && again != SIGHUP) {
      log::warn("second signal: ending at once");
      log::flush();
      _exit(1);
    }
  }
  stop();
  log::info("ended", {{"calls_cut_off", abandoned_at_end_ - abandoned_before}});
  return 0;
}

// Connections that the process has no descriptors for would be accepted late, and take those of hosts.
void fit_connections_to_descriptors(Config& config) {
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  if (files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  const auto all = static_cast<int64_t>(std::min<rlim_t>(files.rlim_cur, INT32_MAX));
  const int64_t most = all - std::min(kReservedDescriptors, all / 2);
  if (config.max_connections <= most) return;
  log::warn("limits.max_connections is lowered to what RLIMIT_NOFILE allows",
            {{"configured", config.max_connections}, {"now", most}, {"descriptors", all}});
  config.max_connections = most;
}

Description describe(const ConfigResult& loaded) {
  const Fingerprint own = fingerprint(loaded.config);
  Description description;
  description.version = DROVER_VERSION;
  description.build = own.build;
  description.config = own.config;
  description.config_file = loaded.file;
  description.log_file = loaded.config.log_file;
  description.started = static_cast<uint64_t>(::time(nullptr));
  return description;
}

// --check. Exit status: 0 droverd would start, 2 something is wrong.
int check(const ConfigResult& loaded) {
  const tls::IdentityOptions identities = identity_options(loaded.config);
  std::fputs(loaded.output.c_str(), stdout);  // of --print-config
  const ConfigFindings found =
      check_config(loaded, control_options(loaded.config), identities, policy_options(loaded.config));
  for (const std::string& problem : found.problems) std::fprintf(stderr, "%s\n", problem.c_str());
  for (const std::string& note : found.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  if (!found.problems.empty()) return 2;
  std::fputs(config_summary(loaded.config, identities, policy_options(loaded.config)).c_str(), stdout);
  return 0;
}

// Of systemd, or of the host that systemd started.
ActivatedSockets activated_sockets(const Config& config, std::vector<std::string>* wrong) {
  auto variable = [](const char* name) { return std::getenv(name); };
  if (config.listen_fds == 0) return ActivatedSockets::from_environment(variable, wrong);
  const char* names = std::getenv("LISTEN_FDNAMES");
  return ActivatedSockets::take(ActivatedSockets::kFirst, config.listen_fds, names == nullptr ? "" : names, wrong);
}

int run_main(int argc, char** argv) {
  heap::configure();
  std::vector<std::string> arguments(argv + 1, argv + argc);
  ConfigResult loaded = load_config(arguments, [](const char* name) { return std::getenv(name); });
  if (loaded.status == ConfigResult::Status::kExit) {
    std::fputs(loaded.output.c_str(), stdout);
    return 0;
  }
  if (loaded.status == ConfigResult::Status::kCheck) return check(loaded);
  if (loaded.status == ConfigResult::Status::kRun && loaded.fingerprint) {
    std::fputs(fingerprint_line(fingerprint(loaded.config)).c_str(), stdout);
    return 0;
  }
  if (loaded.status == ConfigResult::Status::kRun && loaded.config.control_socket.empty()) {
    loaded.status = ConfigResult::Status::kError;
    loaded.output = "engine.control_socket must be given (--engine.control_socket=unix:PATH)";
  }
  if (loaded.status == ConfigResult::Status::kError) {
    std::fprintf(stderr, "droverd: %s\n", loaded.output.c_str());
    return 2;
  }
  const Config& config = loaded.config;
  if (config.child) ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // until the control thread sees to it (end_with_parent)
  if (config.parent_pid != 0 && ::getppid() != config.parent_pid) return 0;  // it died before that
  HostPolicy policy;
  if (std::string wrong = HostPolicy::parse(config.hosts_allow, &policy); !wrong.empty()) {
    std::fprintf(stderr, "droverd: %s\n", wrong.c_str());
    return 2;
  }
  if (std::string wrong = check_channel_options(control_options(config), static_cast<uint32_t>(config.threads));
      !wrong.empty()) {
    std::fprintf(stderr, "droverd: %s\n", wrong.c_str());
    return 2;
  }
  if (std::string wrong = check_lines(config); !wrong.empty()) {
    std::fprintf(stderr, "droverd: %s\n", wrong.c_str());
    return 2;
  }
  BalanceRules balance;
  if (std::string wrong = BalanceRules::parse(config.balance, config.balance_seed, &balance); !wrong.empty()) {
    std::fprintf(stderr, "droverd: %s\n", wrong.c_str());
    return 2;
  }
  binary_log::Rules log_rules;
  const std::string no_log = parse_binary_log(config, &log_rules);
  if (!no_log.empty() && !config.binary_log_file.empty()) {
    std::fprintf(stderr, "droverd: %s\n", no_log.c_str());
    return 2;
  }
  tls::Identities identities;
  std::string error;
  if (!identities.load(identity_options(config), &error)) {
    std::fprintf(stderr, "droverd: %s\n", error.c_str());
    return 2;
  }
  auth::Policy tokens;
  if (!tokens.load(policy_options(config), &error)) {
    std::fprintf(stderr, "droverd: %s\n", error.c_str());
    return 2;
  }
  error = log::open({config.log_level, config.log_format, config.log_file});
  if (!error.empty()) {
    std::fprintf(stderr, "droverd: %s\n", error.c_str());
    return 2;
  }
  // GRPC_BINARY_LOG_FILTER may be there for other programs.
  if (!no_log.empty()) log::warn("there is no binary log", {{"why", no_log}});
  std::vector<std::string> wrong;
  ActivatedSockets activated = activated_sockets(config, &wrong);
  for (const std::string& what : wrong) log::warn("socket activation", {{"why", what}});
  if (!activated.empty()) log::info("activated sockets", {{"addresses", activated.describe()}});
  sigset_t set = awaited_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // before any thread: the main thread waits for them
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);                    // a write says EFBIG
  Description description = describe(loaded);  // before values are fitted to this machine
  fit_connections_to_descriptors(loaded.config);
  if (!reserve_descriptors(static_cast<size_t>(config.max_connections + kReservedDescriptors))) {
    log::warn("no table of descriptors for limits.max_connections yet", {{"why", std::strerror(errno)}});
  }
  if (!become_configured_user(config, &error)) {
    log::error("cannot start", {{"why", error}});
    if (!config.log_file.empty()) std::fprintf(stderr, "droverd: cannot start: %s\n", error.c_str());
    return 1;
  }
  return Engine(config, identities, tokens, std::move(description), std::move(activated)).run();
}

}  // namespace
}  // namespace drover::engine

int main(int argc, char** argv) { return drover::engine::run_main(argc, argv); }
