#include "host/options.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace drover::host {
namespace {

constexpr uint32_t kMostDefaultWorkers = 4;
constexpr size_t kMostNameBytes = 64;  // that the engine keeps
constexpr int64_t kDefaultSpinUs = 20;
constexpr int kMaxCpu = CPU_SETSIZE - 1;
constexpr uint64_t kMostBytes = uint64_t{64} << 30;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

template <typename T>
bool read_number(const char* name, T least, T most, T* value, std::string* error) {
  std::string text = variable(name);
  if (text.empty()) return true;
  T read{};
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (code != std::errc() || end != text.data() + text.size() || read < least || read > most) {
    *error = std::string(name) + ": \"" + text + "\" is not a number from " + std::to_string(least) + " to " +
             std::to_string(most);
    return false;
  }
  *value = read;
  return true;
}

bool read_bytes(const char* name, uint64_t* bytes, std::string* error) {
  const std::string text = variable(name);
  if (text.empty()) return true;
  uint64_t number = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  int shift = unit.empty() ? 0 : unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : -1;
  if (code != std::errc() || shift < 0 || number == 0 || number > kMostBytes >> shift) {
    *error = std::string(name) + ": \"" + text + "\" is not a number of bytes, such as 67108864 or 64MiB, up to 64GiB";
    return false;
  }
  *bytes = number << shift;
  return true;
}

bool read_cpus(const char* name, std::vector<int>* cpus, std::string* error) {
  std::string text = variable(name);
  if (text.empty() || parse_cpu_list(text, cpus)) return true;
  *error = std::string(name) + ": \"" + text + "\" is not a list of CPUs such as 0 or 0-1 or 0,2-3";
  return false;
}

}  // namespace

bool parse_cpu_list(const std::string& text, std::vector<int>* cpus) {
  std::vector<int> found;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc() || first < 0 || first > kMaxCpu) return false;
    at = read.ptr;
    int last = first;
    if (at < end && *at == '-') {
      read = std::from_chars(at + 1, end, last);
      if (read.ec != std::errc() || last < first || last > kMaxCpu) return false;
      at = read.ptr;
    }
    for (int cpu = first; cpu <= last; ++cpu) found.push_back(cpu);
    if (at == end) break;
    if (*at != ',' || at + 1 == end) return false;
    ++at;
  }
  if (found.empty()) return false;
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  *cpus = std::move(found);
  return true;
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu <= kMaxCpu; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

bool pin_this_thread(const std::vector<int>& cpus) {
  if (cpus.empty()) return true;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

std::optional<HostOptions> HostOptions::from_environment(std::string* error) {
  HostOptions options;
  options.engine = variable("DROVER_ENGINE");
  options.droverd = variable("DROVER_DROVERD");
  options.config = variable("DROVER_CONFIG");
  options.name = variable("DROVER_HOST_NAME");
  if (!options.engine.empty() && !options.engine.starts_with("unix:")) {
    *error = "DROVER_ENGINE: \"" + options.engine +
             "\" is not the address of an engine's control socket; expected unix:PATH or unix:@NAME";
    return std::nullopt;
  }
  if (options.name.size() > kMostNameBytes) {
    *error = "DROVER_HOST_NAME: " + std::to_string(options.name.size()) + " bytes; expected at most " +
             std::to_string(kMostNameBytes);
    return std::nullopt;
  }
  if (!read_cpus("DROVER_ENGINE_CPUS", &options.engine_cpus, error)) return std::nullopt;
  if (!read_cpus("DROVER_HOST_CPUS", &options.host_cpus, error)) return std::nullopt;

  auto cpus = static_cast<uint32_t>(std::max<size_t>(1, usable_cpus().size()));
  options.workers = std::clamp(cpus / 2, 1u, kMostDefaultWorkers);
  int64_t spin_us = cpus <= 2 ? 0 : kDefaultSpinUs;
  int check_requests = 0;
  if (!read_number<uint32_t>("DROVER_WORKERS", 1, 256, &options.workers, error)) return std::nullopt;
  if (!read_number<uint32_t>("DROVER_MAX_THREADS", 1, 100'000, &options.max_threads, error)) return std::nullopt;
  if (!read_number<int64_t>("DROVER_SPIN_US", 0, 1'000'000, &spin_us, error)) return std::nullopt;
  if (!read_number<int>("DROVER_HOST_CHECK_REQUESTS", 0, 1, &check_requests, error)) return std::nullopt;
  if (!read_bytes("DROVER_RX_BYTES", &options.rx_bytes, error)) return std::nullopt;
  if (!read_bytes("DROVER_TX_BYTES", &options.tx_bytes, error)) return std::nullopt;
  options.check_requests = check_requests != 0;
  options.max_threads = std::max(options.max_threads, options.workers);
  options.spin_ns = spin_us * 1000;
  return options;
}

}  // namespace drover::host
