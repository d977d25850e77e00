#include "engine/grpc/call_auth.h"

#include <strings.h>
#include <time.h>

#include <utility>

#include "channel/identity.h"
#include "engine/base/log.h"
#include "engine/grpc/request_head.h"

namespace drover::engine {
namespace {

log::Limit g_refused_limit;

using auth::AuthError;
using Need = auth::Rule::Need;

int64_t unix_seconds() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec;
}

// The token of "Bearer TOKEN" (RFC 6750; the scheme in any case: RFC 9110, section 11.1). False: another scheme.
bool take_bearer(std::string_view value, std::string_view* token) {
  constexpr std::string_view kScheme = "bearer ";
  if (value.size() < kScheme.size() || ::strncasecmp(value.data(), kScheme.data(), kScheme.size()) != 0) return false;
  value.remove_prefix(kScheme.size());
  while (value.starts_with(' ')) value.remove_prefix(1);
  *token = value;
  return true;
}

bool is_secure(const Peer& peer) { return !peer.identity.empty(); }

StatusCode code_of(AuthError error) {
  switch (error) {
    case AuthError::kScope:
    case AuthError::kClaim:
    case AuthError::kIssuer:
      return StatusCode::kPermissionDenied;
    case AuthError::kTooMany:
      return StatusCode::kResourceExhausted;
    default:
      return StatusCode::kUnauthenticated;
  }
}

}  // namespace

bool is_local_peer(std::string_view address) {
  for (std::string_view prefix : {"unix:", "ipv4:127.", "ipv6:%5B::1%5D:"}) {
    if (address.starts_with(prefix)) return true;
  }
  return false;
}

// Once a head, before any of its calls has begun.
HeadAuth& CallAuth::look_at(RequestHead& head, const Peer& peer) const {
  head.auth = std::make_unique<HeadAuth>();
  HeadAuth& known = *head.auth;
  head.charge_more(sizeof known);
  known.rule = &checker_.policy().rules().find(head.path);
  if (known.rule->need == Need::kOff) return known;
  const bool forward = checker_.policy().options().forward;
  for (size_t i = 0; i < head.metadata.size();) {
    std::string_view token;
    if (head.metadata[i].first != "authorization" || !take_bearer(head.metadata[i].second, &token)) {
      ++i;
      continue;
    }
    if (known.has_token) known.refused = AuthError::kMalformed;  // two tokens: it is not said which one counts
    known.has_token = true;
    known.token = token;
    if (forward) {
      ++i;
    } else {
      head.metadata.erase(head.metadata.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  const bool cleartext = !is_secure(peer) && !is_local_peer(peer.address);
  if (known.has_token && cleartext && !checker_.policy().options().allow_cleartext) {
    known.refused = AuthError::kCleartext;
  } else if (!known.has_token && known.rule->need == Need::kRequire) {
    known.refused = AuthError::kNoToken;
  }
  head.charge_more(known.token.capacity());
  return known;
}

AuthError CallAuth::check(RequestHead& head, HeadAuth& known, const Peer& peer, const Call& call, int64_t now_s) {
  auth::TokenChecker::Verdict verdict = checker_.check(known.token, *known.rule, now_s, call.account, call.start_ns);
  pace_.spend(Pace::kUnits);  // it may have taken long: the clock is looked at before the next frame
  known.version = verdict.version;
  known.expires_s = verdict.error == AuthError::kNone ? verdict.token->expires_s : 0;
  const bool final = verdict.error == AuthError::kSignature || verdict.error == AuthError::kUnknownKey;
  known.refused_by_keys = final ? verdict.error : AuthError::kNone;
  if (verdict.error != AuthError::kNone || !known.peer.address.empty()) return verdict.error;
  known.peer.identity = is_secure(peer) ? peer.identity : cleartext_identity();
  known.peer.identity += verdict.token->properties;
  known.peer.address = peer.address;
  head.charge_more(known.peer.identity.capacity() + known.peer.address.capacity());
  return AuthError::kNone;
}

Status CallAuth::admit(RequestHead& head, const Peer& peer, Call& call) {
  HeadAuth& known = head.auth != nullptr ? *head.auth : look_at(head, peer);
  if (known.rule->need == Need::kOff) return {};
  if (known.refused != AuthError::kNone) return refuse(known.refused, peer);
  if (!known.has_token) return {};  // anonymous
  const int64_t now_s = unix_seconds();
  if (known.version != checker_.version() || now_s >= known.expires_s) [[unlikely]] {
    if (known.version == checker_.version() && known.refused_by_keys != AuthError::kNone) {
      return refuse(known.refused_by_keys, peer);
    }
    if (AuthError error = check(head, known, peer, call, now_s); error != AuthError::kNone) return refuse(error, peer);
  }
  call.peer = &known.peer;
  checker_.count(AuthError::kNone);
  return {};
}

Status CallAuth::refuse(AuthError error, const Peer& peer) {
  checker_.count(error);
  log::info(g_refused_limit, "token refused", {{"peer", peer.address}, {"why", auth::auth_error_name(error)}});
  return {code_of(error),
          "token refused (" + std::string(auth::auth_error_name(error)) + "): " + auth::auth_error_text(error)};
}

}  // namespace drover::engine
