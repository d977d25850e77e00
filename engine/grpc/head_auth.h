// What the engine knows of the token of a request's head; kept with the head, by CallAuth.
#pragma once

#include <cstdint>
#include <string>

#include "engine/auth/auth_error.h"
#include "engine/auth/rules.h"
#include "engine/call/call.h"

namespace drover::engine {

struct HeadAuth {
  const auth::Rule* rule = nullptr;
  bool has_token = false;
  std::string token;                                         // without "Bearer "
  auth::AuthError refused = auth::AuthError::kNone;          // whatever the time and the keys are
  auth::AuthError refused_by_keys = auth::AuthError::kNone;  // of `version`
  uint64_t version = 0;   // of the keys that the following was found with; 0: nothing was
  int64_t expires_s = 0;  // the call may pass until then, seconds since 1970
  Peer peer;              // with what the token says; made once
};

}  // namespace drover::engine
