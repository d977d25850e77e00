// `drover`: messages and schemas at the command line. Each subcommand is a file of its own; docs/cli.md shows them.
#include "cli/command.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Drover's messages, schemas and simulated systems at the command line.\n"
      "Exit codes: 0 done, 1 a file, schema or message is wrong, 2 the command line is, 3 a call failed.",
      "drover");
  app.require_subcommand(1);
  app.set_version_flag("--version", "drover " DROVER_VERSION);
  drover::cli::Run run;
  drover::cli::add_gen(&app, &run);
  drover::cli::add_convert(&app, &run);
  drover::cli::add_image(&app, &run);
  drover::cli::add_call(&app, &run);
  drover::cli::add_check(&app, &run);
  drover::cli::add_stat(&app, &run);
  drover::cli::add_log(&app, &run);
  drover::cli::add_sim(&app, &run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? drover::cli::kDone : drover::cli::kUsage;
  }
  return run();
}
