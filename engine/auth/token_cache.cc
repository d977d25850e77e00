#include "engine/auth/token_cache.h"

#include <openssl/sha.h>

namespace drover::engine::auth {
namespace {

constexpr size_t kBytesAnEntry = 256;  // of the list and the table, about

}  // namespace

TokenCache::Hash TokenCache::hash_of(std::string_view token) {
  Hash hash;
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return hash;
}

std::shared_ptr<const VerifiedToken> TokenCache::find(const Hash& hash) {
  const auto found = places_.find(hash);
  if (found == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->token;
}

void TokenCache::insert(const Hash& hash, std::shared_ptr<const VerifiedToken> token) {
  const size_t bytes = kBytesAnEntry + token->memory();
  if (bytes > most_) return;
  erase(hash);
  while (bytes_ > most_ - bytes) remove(std::prev(entries_.end()));
  entries_.push_front({hash, std::move(token), bytes});
  places_.emplace(hash, entries_.begin());
  bytes_ += bytes;
}

void TokenCache::erase(const Hash& hash) {
  if (const auto found = places_.find(hash); found != places_.end()) remove(found->second);
}

void TokenCache::remove(Place place) {
  bytes_ -= place->bytes;
  places_.erase(place->hash);
  entries_.erase(place);
}

void TokenCache::clear() {
  entries_.clear();
  places_.clear();
  bytes_ = 0;
}

}  // namespace drover::engine::auth
