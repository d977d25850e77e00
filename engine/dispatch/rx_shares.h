// RxShares: how much of one host's rx the large requests of each client hold, from the start of their parsing until the
// host is done with them.
//
// An account that holds its share (account.h: half of rx a connection, three quarters an address) starts no further call
// at that host until it holds less; so a slow handler with large requests of one client leaves room to the others. The
// last request that was started may exceed the share: a client alone may use all of rx for one request.
//
// Requests of up to kSmallBytes are not counted: the number of a client's calls bounds them.
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
  // Of a connection's account: counts there and at its address. Throws std::bad_alloc; then nothing has changed.
  void add(Account& payer, size_t bytes);
  void remove(Account& payer, size_t bytes);
  // The payer or its address, where it holds its share of `whole` bytes; null: neither does.
  Account* at_share(Account& payer, size_t whole) const;

 private:
  size_t held(Account& account) const {
    const auto at = held_.find(&account);
    return at == held_.end() ? 0 : at->second;
  }
  void remove_one(Account& account, size_t bytes);

  std::unordered_map<Account*, size_t> held_;
};

}  // namespace drover::engine
