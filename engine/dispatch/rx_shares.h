// RxShares: how much of one host's rx the requests of each client hold, from the start of their parsing until the host
// is done with them.
//
//   of rx            connection   address
//   large requests   1/2          5/8        larger than kSmallBytes
//   small ones       5/8          3/4
//
// An account that holds as much starts no further call, and no further message of a stream, at that host until it holds
// less; so requests of one client for a slow handler leave room to the others. A message waits without a time-out while
// the host has others of its stream to consume. The last request that was started may exceed the share: a client alone
// may use all of rx for one request. A request whose parsing is under way counts as its wire bytes, or as what its
// object has taken so far, if that is more. One that has arrived in rx and waits there counts as kArriving (account.h),
// until it is started.
//
// Small requests are counted only if they begin where rx is scarce: more than an eighth of it is in use. Those that are
// not counted take no more than that eighth, and the fast path has nothing to do with shares.
// Thread-safety: none; one engine thread. An account is here only while a call of it holds something.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "engine/base/account.h"

namespace drover::engine {

class RxShares {
 public:
  static constexpr size_t kSmallBytes = 32 << 10;

  bool empty() const { return held_.empty(); }
  // `payer`, a connection's account, holds so many bytes more, and so does its address. Throws std::bad_alloc; then
  // nothing has changed.
  void add(Account& payer, size_t bytes);
  void remove(Account& payer, size_t bytes);
  // The payer or its address, if it holds too much of `whole` bytes for a further request of so many bytes; else null.
  Account* at_share(Account& payer, size_t whole, size_t bytes) const;

 private:
  size_t held(Account& account) const {
    const auto at = held_.find(&account);
    return at == held_.end() ? 0 : at->second;
  }
  void remove_one(Account& account, size_t bytes);

  std::unordered_map<Account*, size_t> held_;
};

}  // namespace drover::engine
