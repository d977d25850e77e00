// Shared by the subcommands of `drover`: declaration, errors and exit codes.
//
// A command adds its options to the CLI::App and registers the function to run once they are parsed. It prints its
// result on stdout and everything else on stderr. An error is one line that begins with "drover NAME: " and says what
// to do if that is known.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace drover::cli {

// Exit codes; docs/cli.md lists them.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;      // a file, schema or message is wrong
inline constexpr int kUsage = 2;       // the command line is not
inline constexpr int kCallFailed = 3;  // drover call: the call ended in a status other than OK

// Runs the chosen command and returns its exit code.
using Run = std::function<int()>;

void add_gen(CLI::App* app, Run* run);
void add_convert(CLI::App* app, Run* run);
void add_image(CLI::App* app, Run* run);
void add_call(CLI::App* app, Run* run);
void add_check(CLI::App* app, Run* run);
void add_log(CLI::App* app, Run* run);
void add_stat(CLI::App* app, Run* run);
void add_sim(CLI::App* app, Run* run);

// Prints "drover NAME: what" on stderr, by printable() since servers' words may be in it, and returns `code`.
int fail(const char* command, const std::string& what, int code = kFailed);

}  // namespace drover::cli
