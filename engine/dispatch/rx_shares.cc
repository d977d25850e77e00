#include "engine/dispatch/rx_shares.h"

namespace drover::engine {

void RxShares::add(Account& payer, size_t bytes) {
  Account& address = *payer.parent();
  size_t& by_address = held_[&address];
  try {
    held_[&payer] += bytes;  // `by_address` stays where it is
  } catch (...) {
    if (by_address == 0) held_.erase(&address);
    throw;
  }
  by_address += bytes;
}

void RxShares::remove(Account& payer, size_t bytes) {
  remove_one(payer, bytes);
  remove_one(*payer.parent(), bytes);
}

void RxShares::remove_one(Account& account, size_t bytes) {
  const auto at = held_.find(&account);
  if ((at->second -= bytes) == 0) held_.erase(at);
}

Account* RxShares::at_share(Account& payer, size_t whole, size_t bytes) const {
  const size_t eighth = whole / 8, more = bytes > kSmallBytes ? 0 : eighth;
  if (held(payer) >= 4 * eighth + more) return &payer;
  if (held(*payer.parent()) >= 5 * eighth + more) return payer.parent();
  return nullptr;
}

}  // namespace drover::engine
