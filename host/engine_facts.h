// EngineFacts: what an engine that this process attaches to runs on, told in one line of the log; and whether this
// process would have started another one: with another configuration, or another droverd.
//
// Thread-safety: as an Attachment's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "channel/control.h"
#include "host/options.h"

namespace drover::host {

struct EngineFingerprint {
  std::string build, config;  // as Description has them
};

// Of the engine that this process would start, which `droverd --fingerprint` prints. Nothing: `error` says why.
std::optional<EngineFingerprint> own_fingerprint(const HostOptions& options, std::string* error);
// "build=... config=...\n"; nothing for any other text.
std::optional<EngineFingerprint> parse_fingerprint(const std::string& text);

// The line about an engine that is there already. `own`: of the engine that this process would start, if it would start
// one. *differs: the two are not the same.
std::string describe_engine(const Description& engine, uint32_t pid, const EngineFingerprint* own, bool* differs);

}  // namespace drover::host
