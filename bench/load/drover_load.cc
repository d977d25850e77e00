// drover-load: a closed-loop gRPC load client, light enough that even a fast server limits the rate. It checks every
// reply: HTTP status, grpc-status, and the message against what was sent. Prints its results as JSON.
//
// Ends with 0 if all went well, 1 if any call or connection failed (with --tolerate-errors: only if none succeeded or
// a call hung), 2 for wrong flags.

#include <netdb.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include "bench/load/load_run.h"

namespace drover::bench {
namespace {

struct Flags {
  std::string address;
  std::string path;
  std::string body_file;
  std::string expect = "echo";
  std::string hpack = "indexed";
  std::string json_file;
  bool unique = false;
  bool tls = false;
  uint32_t streams = 1;
  uint32_t messages = 0;
  size_t max_frame_size = kDefaultFrameSize;
  int cpu = -1;
  LoadSchedule schedule;
};

void declare_flags(CLI::App* app, Flags* flags) {
  LoadSchedule& schedule = flags->schedule;
  app->add_option("--address", flags->address, "HOST:PORT of the server")->required();
  app->add_option("--path", flags->path, "/package.Service/Method")->required();
  app->add_option("--body-file", flags->body_file, "request message, encoded, without gRPC's prefix")->required();
  app->add_option("--expect", flags->expect, "echo: the reply equals the request; any: any one message")
      ->check(CLI::IsMember({"echo", "any"}));
  app->add_flag("--unique", flags->unique,
                "the body's last 8 bytes become the call's number (the body must end in a bytes field)");
  app->add_flag("--tls", flags->tls, "TLS 1.3, AES-128-GCM; the certificate is not checked");
  app->add_option("--connections", schedule.connections)->check(CLI::Range(1, 10000));
  app->add_option("--streams", flags->streams, "calls in flight on each connection")->check(CLI::Range(1, 100000));
  app->add_option("--messages", flags->messages,
                  "calls stream both ways, each with so many messages in flight; messages are counted instead of calls")
      ->check(CLI::Range(1, 100000));
  app->add_option("--duration", schedule.duration_s, "measured seconds")->check(CLI::PositiveNumber);
  app->add_option("--warmup", schedule.warmup_s, "seconds before")->check(CLI::NonNegativeNumber);
  app->add_option("--requests", schedule.requests, "exactly so many calls, no warm-up, instead of --duration")
      ->check(CLI::PositiveNumber);
  app->add_option("--call-timeout", schedule.call_timeout_s, "seconds after which a call counts as hung")
      ->check(CLI::PositiveNumber);
  app->add_option("--max-frame-size", flags->max_frame_size, "SETTINGS_MAX_FRAME_SIZE for the server")
      ->check(CLI::Range(size_t{16384}, size_t{(1 << 24) - 1}));
  app->add_option("--hpack", flags->hpack, "request headers through the dynamic table, or spelled out each time")
      ->check(CLI::IsMember({"indexed", "literal"}));
  app->add_option("--cpu", flags->cpu, "CPU to run on")->check(CLI::NonNegativeNumber);
  app->add_option("--json", flags->json_file, "file for the results instead of stdout");
  app->add_flag("--announce", schedule.announce, "print \"begin\" and \"end\" when the measurement does");
  app->add_flag("--tolerate-errors", schedule.tolerate_errors, "count errors, connect again, and go on");
}

// An empty string, or an error.
std::string resolve(const std::string& address, LoadPlan* plan) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return "--address " + address + ": expected HOST:PORT";
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) return "--address " + address + ": " + gai_strerror(error);
  std::memcpy(&plan->address, found->ai_addr, found->ai_addrlen);
  plan->address_size = found->ai_addrlen;
  freeaddrinfo(found);
  return "";
}

std::string read_body(const Flags& flags, LoadPlan* plan) {
  std::ifstream file(flags.body_file, std::ios::binary);
  const std::vector<char> body((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.fail() && !file.eof()) return "--body-file " + flags.body_file + ": cannot be read";
  if (flags.unique && body.size() < sizeof(uint64_t)) return "--unique needs a body of at least 8 bytes";
  plan->message.assign(kGrpcPrefixSize, 0);
  store_u32(&plan->message[1], static_cast<uint32_t>(body.size()));
  plan->message.insert(plan->message.end(), body.begin(), body.end());
  return "";
}

std::string pin(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<size_t>(cpu), &cpus);
  if (sched_setaffinity(0, sizeof(cpus), &cpus) == 0) return "";
  return "--cpu " + std::to_string(cpu) + ": " + std::strerror(errno);
}

std::string quote(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned char>(c));
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

template <class Map, class KeyText>
std::string object_of(const Map& counts, KeyText key_text) {
  std::string text = "{";
  for (const auto& [key, count] : counts) {
    if (text.size() > 1) text += ", ";
    text += quote(key_text(key)) + ": " + std::to_string(count);
  }
  return text + "}";
}

std::string results_as_json(const Flags& flags, const LoadRun& run) {
  const LoadTally& tally = run.tally();
  const Histogram& latency = tally.latency_ns;
  const double seconds = run.measured_seconds();
  const auto microseconds = [](uint64_t ns) { return static_cast<double>(ns) / 1000; };
  std::ostringstream out;
  out.precision(9);
  out << "{\n";
  out << "  \"path\": " << quote(flags.path) << ",\n";
  out << "  \"connections\": " << flags.schedule.connections << ", \"streams\": " << flags.streams
      << ", \"messages\": " << flags.messages << ",\n";
  out << "  \"requests\": " << tally.measured << ",\n";
  out << "  \"seconds\": " << seconds << ",\n";
  out << "  \"rps\": " << (seconds > 0 ? static_cast<double>(tally.measured) / seconds : 0) << ",\n";
  out << "  \"latency_us\": {\"mean\": " << latency.mean() / 1000;
  for (const auto& [name, fraction] : {std::pair("p50", 0.5), {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}}) {
    out << ", \"" << name << "\": " << microseconds(latency.percentile(fraction));
  }
  out << ", \"max\": " << microseconds(latency.max()) << "},\n";
  out << "  \"bytes_sent\": " << tally.bytes_sent << ", \"bytes_received\": " << tally.bytes_received << ",\n";
  out << "  \"client_cpu_seconds\": " << run.client_cpu_seconds() << ",\n";
  out << "  \"whole_run\": {\"issued\": " << tally.issued << ", \"succeeded\": " << tally.succeeded << "},\n";
  out << "  \"errors\": " << object_of(tally.grpc_errors, [](int code) { return std::to_string(code); }) << ",\n";
  out << "  \"failures\": " << object_of(tally.failures, [](const std::string& reason) { return reason; }) << "\n";
  out << "}\n";
  return out.str();
}

bool has_hung(const LoadTally& tally) { return tally.failures.contains("connection: a call hung"); }

int run_load(const Flags& flags) {
  LoadPlan plan;
  std::string wrong = resolve(flags.address, &plan);
  if (wrong.empty()) wrong = read_body(flags, &plan);
  if (wrong.empty() && flags.cpu >= 0) wrong = pin(flags.cpu);
  if (!wrong.empty()) {
    std::cerr << "drover-load: " << wrong << "\n";
    return 2;
  }
  std::optional<TlsSettings> tls;
  if (flags.tls) plan.tls = &tls.emplace();
  plan.headers = encode_request_headers(flags.path, flags.address, flags.hpack == "indexed");
  plan.expect_echo = flags.expect == "echo";
  plan.unique = flags.unique;
  plan.streams = flags.streams;
  plan.messages = flags.messages;
  plan.max_frame_size = flags.max_frame_size;

  LoadRun run(&plan, flags.schedule);
  run.run();

  const std::string json = results_as_json(flags, run);
  if (flags.json_file.empty()) {
    std::cout << json;
  } else if (!(std::ofstream(flags.json_file) << json)) {
    std::cerr << "drover-load: " << flags.json_file << " cannot be written\n";
    return 1;
  }
  const LoadTally& tally = run.tally();
  for (const auto& [code, count] : tally.grpc_errors) {
    std::cerr << "drover-load: " << count << " calls ended in grpc-status " << code << "\n";
  }
  for (const auto& [reason, count] : tally.failures) {
    std::cerr << "drover-load: " << count << " x " << reason << "\n";
  }
  if (flags.schedule.tolerate_errors) return tally.succeeded > 0 && !has_hung(tally) ? 0 : 1;
  return tally.clean() && tally.succeeded > 0 ? 0 : 1;
}

}  // namespace
}  // namespace drover::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to a connection that the server has closed
  drover::bench::Flags flags;
  CLI::App app("A closed-loop gRPC load client that checks every reply");
  drover::bench::declare_flags(&app, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  return drover::bench::run_load(flags);
}
