// The tokens of a connection's calls: takes each out of the head that brings it, has it checked, and gives the call the
// peer that it proves. What came of it is kept with the head, so that calls which repeat a head cost two comparisons.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/auth/token_checker.h"
#include "engine/base/account.h"
#include "engine/base/pace.h"
#include "engine/base/status.h"
#include "engine/call/call.h"

namespace drover::engine {

struct HeadAuth;
class RequestHead;

class CallAuth {
 public:
  // All of them outlive it.
  CallAuth(auth::TokenChecker& checker, Pace& pace) : checker_(checker), pace_(pace) {}

  // Before `call`, whose head that is, is opened; `peer`: the connection's. Ok: call.peer is whom it is from, and the
  // head's metadata has the token only if hosts are to have it.
  Status admit(RequestHead& head, const Peer& peer, Call& call);

 private:
  HeadAuth& look_at(RequestHead& head, const Peer& peer) const;
  auth::AuthError check(RequestHead& head, HeadAuth& known, const Peer& peer, const Call& call, int64_t now_s);
  Status refuse(auth::AuthError error, const Peer& peer);

  auth::TokenChecker& checker_;
  Pace& pace_;
};

// Whether it comes from this machine: a loopback address or a unix socket. `address`: as Peer has it.
bool is_local_peer(std::string_view address);

}  // namespace drover::engine
