// `drover check`: an engine configuration file, looked at by droverd itself (droverd --check), so that what it takes
// and what is checked cannot differ.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/command.h"

extern char** environ;

namespace drover::cli {
namespace {

namespace fs = std::filesystem;

class Command {
 public:
  void add_options(CLI::App* app) {
    app->add_option("config", config_, "the TOML file of droverd --config")->required()->type_name("FILE");
    app->add_option("flags", flags_, "flags that droverd is started with, behind --")->type_name("FLAG");
    app->add_option("--droverd", droverd_,
                    "the engine to ask; else DROVER_DROVERD, one beside this program, or in PATH")
        ->type_name("FILE");
  }

  int run() {
    const std::string program = find();
    std::vector<std::string> words = {program, "--check", "--config", config_};
    words.insert(words.end(), flags_.begin(), flags_.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int error = ::posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ);
    if (error != 0) {
      return fail("check", program + ": " + std::strerror(error) + "; name the engine by --droverd or DROVER_DROVERD");
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (!WIFEXITED(status)) return fail("check", program + " ended by signal " + std::to_string(WTERMSIG(status)));
    return WEXITSTATUS(status) == 0 ? kDone : kFailed;
  }

 private:
  std::string find() const {
    if (!droverd_.empty()) return droverd_;
    if (const char* named = std::getenv("DROVER_DROVERD"); named != nullptr && *named != '\0') return named;
    std::error_code error;
    const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const fs::path& beside : {folder / "droverd", folder.parent_path() / "engine" / "droverd"}) {
      if (::access(beside.c_str(), X_OK) == 0) return beside.string();
    }
    return "droverd";
  }

  std::string config_, droverd_;
  std::vector<std::string> flags_;
};

}  // namespace

void add_check(CLI::App* app, Run* run) {
  auto command = std::make_shared<Command>();
  CLI::App* sub = app->add_subcommand("check", "Check an engine's configuration file, and say what it would listen on");
  command->add_options(sub);
  sub->callback([command, run] { *run = [command] { return command->run(); }; });
}

}  // namespace drover::cli
