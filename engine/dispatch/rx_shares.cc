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

Account* RxShares::at_share(Account& payer, size_t whole) const {
  for (Account* one : {&payer, payer.parent()}) {
    if (held(*one) >= share_of(whole, one->level())) return one;
  }
  return nullptr;
}

}  // namespace drover::engine
