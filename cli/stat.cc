// `drover stat`: what an engine does now, from its metrics, again and again: in a terminal as a table that is redrawn,
// elsewhere as tables one behind the other, or as lines of JSON.
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "cli/command.h"
#include "cli/file_io.h"
#include "cli/http_get.h"
#include "cli/metrics_sample.h"

namespace drover::cli {
namespace {

using Clock = std::chrono::steady_clock;

class Command {
 public:
  void add_options(CLI::App* app) {
    app->add_option("address", address_, "where the engine serves metrics (its metrics.address)")
        ->type_name("HOST:PORT")
        ->capture_default_str();
    app->add_option("-i,--interval", seconds_, "seconds between two looks")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    app->add_option("-n,--count", count_, "how many tables or lines, then end; 0: until it is interrupted")
        ->capture_default_str();
    app->add_flag("--json", json_, "a line of JSON for each interval");
  }

  int run() {
    MetricsSample before;
    if (std::string error = look(&before); !error.empty()) return failed(error);
    Clock::time_point looked = Clock::now(), next = looked;
    for (uint64_t made = 0; count_ == 0 || made < count_; ++made) {
      next += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_));
      std::this_thread::sleep_until(next);
      MetricsSample now;
      if (std::string error = look(&now); !error.empty()) return failed(error);
      const Clock::time_point then = Clock::now();
      const auto change = MetricsChange::between(before, now, std::chrono::duration<double>(then - looked).count());
      if (std::string error = show(change, made == 0); !error.empty()) return fail("stat", error);
      looked = then;
      before = std::move(now);
    }
    return kDone;
  }

 private:
  std::string look(MetricsSample* sample) {
    std::string text;
    std::string error = http_get(address_, "/metrics", &text);
    if (error.empty()) *sample = MetricsSample::parse(text);
    return error;
  }

  static int failed(const std::string& error) {
    return fail("stat", error + "; does the engine serve metrics there? (metrics.address, DROVER_METRICS)");
  }

  std::string show(const MetricsChange& change, bool first) const {
    if (json_) {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      return write_file("-", to_json(change, std::chrono::duration<double>(now).count()));
    }
    winsize size{};
    const bool terminal = ::isatty(STDOUT_FILENO) == 1;
    if (terminal) ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    const size_t lines = terminal && size.ws_row > 1 ? size.ws_row - 1u : SIZE_MAX;
    const char* between = terminal ? "\x1b[H\x1b[J" : first ? "" : "\n";
    return write_file("-", between + to_table(change, lines));
  }

  std::string address_ = "127.0.0.1:9464";
  double seconds_ = 1;
  uint64_t count_ = 0;
  bool json_ = false;
};

}  // namespace

void add_stat(CLI::App* app, Run* run) {
  auto command = std::make_shared<Command>();
  CLI::App* sub = app->add_subcommand("stat", "Show what an engine does now: calls, latency, CPU, rings, regions");
  command->add_options(sub);
  sub->callback([command, run] { *run = [command] { return command->run(); }; });
}

}  // namespace drover::cli
