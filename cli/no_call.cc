// `drover call` in a build without gRPC C++.
#include "cli/command.h"

namespace drover::cli {

void add_call(CLI::App* app, Run* run) {
  CLI::App* sub = app->add_subcommand("call", "(not in this build: it needs gRPC C++, Debian's libgrpc++-dev)");
  sub->allow_extras();
  sub->callback([run] {
    *run = [] { return fail("call", "this drover was built without gRPC C++; install libgrpc++-dev and build again"); };
  });
}

}  // namespace drover::cli
