// Fingerprint: what an engine runs on, so that a host can tell whether an engine that is there already is the one that
// it would start (docs/deploy.md). `droverd --fingerprint` prints it.
//
// Thread-safety: none; reads its own program file.
#pragma once

#include <string>

#include "engine/base/config.h"

namespace drover::engine {

struct Fingerprint {
  std::string build;   // SHA-256 of the program file that runs, 64 hexadecimal digits; empty: it cannot be read
  std::string config;  // SHA-256 of the values in effect of all keys but the control socket's and the pidfile's
};

Fingerprint fingerprint(const Config& config);
// "build=... config=...\n"
std::string fingerprint_line(const Fingerprint& fingerprint);

}  // namespace drover::engine
