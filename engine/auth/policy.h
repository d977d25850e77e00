// What the configuration says of tokens (auth.*): whose are taken, for which methods, and what hosts are told of them.
// One for all engine threads. Immutable but for the keys, which Issuers::reload() replaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/auth/issuers.h"
#include "engine/auth/rules.h"

namespace drover::engine::auth {

struct PolicyOptions {
  std::string issuers;  // auth.issuers
  std::string rules;    // auth.rules
  std::string claims;   // auth.claims, by commas
  int64_t leeway_s = 30;
  size_t max_token_bytes = 8 << 10;
  size_t cache_bytes = 4 << 20;  // an engine thread
  bool forward = false;          // the host gets the token, too
  bool allow_cleartext = false;  // from other machines
};

class Policy {
 public:
  // False: `error` says what is wrong, and begins with the key's name.
  bool load(const PolicyOptions& options, std::string* error);

  bool on() const { return !issuers_.empty(); }
  Issuers& issuers() { return issuers_; }
  const Issuers& issuers() const { return issuers_; }
  const Rules& rules() const { return rules_; }
  const PolicyOptions& options() const { return options_; }
  // Those that hosts are told beside iss, sub, aud, scope and exp.
  const std::vector<std::string>& claims() const { return claims_; }

 private:
  PolicyOptions options_;
  Issuers issuers_;
  Rules rules_;
  std::vector<std::string> claims_;
};

}  // namespace drover::engine::auth
