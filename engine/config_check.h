// What `droverd --check` says: everything that is wrong with a configuration and the files that it names, a line each,
// and what an engine with it would listen on. Nothing is bound, written or started.
#pragma once

#include <string>
#include <vector>

#include "engine/auth/policy.h"
#include "engine/base/config.h"
#include "engine/control/control_options.h"
#include "engine/tls/identities.h"

namespace drover::engine {

struct ConfigFindings {
  std::vector<std::string> problems;  // droverd would not start
  std::vector<std::string> notes;     // it would, or will once systemd has made a directory
};

// "FILE:LINE: key: what is wrong; what was expected". The others: made of the same configuration.
ConfigFindings check_config(const ConfigResult& loaded, const ControlOptions& control,
                            const tls::IdentityOptions& identities, const auth::PolicyOptions& tokens);

// A line each.
std::string config_summary(const Config& config, const tls::IdentityOptions& identities,
                           const auth::PolicyOptions& tokens);

// What is wrong with lines.listen and lines.peers, or "".
std::string check_lines(const Config& config);

}  // namespace drover::engine
