// `drover sim` in a build without SystemC, Verilator or the folders rtl and sim.
#include "cli/command.h"

namespace drover::cli {

void add_sim(CLI::App* app, Run* run) {
  CLI::App* sub =
      app->add_subcommand("sim", "(not in this build: it needs libsystemc-dev and verilator, and no sanitizers)");
  sub->allow_extras();
  sub->callback([run] {
    *run = [] {
      return fail("sim",
                  "this drover was built without its simulator; install libsystemc-dev and verilator and build again");
    };
  });
}

}  // namespace drover::cli
