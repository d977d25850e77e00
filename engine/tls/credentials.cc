#include "engine/tls/credentials.h"

#include <openssl/evp.h>

#include <memory>

namespace drover::engine::tls {

bool split_credentials(std::string_view text, uint32_t pairs, Credentials* out) {
  if (pairs == 0 || pairs > kMaxPairs || text.size() > kMaxPems) return false;
  auto next = [&text](SecretText* part) {
    const size_t end = text.find('\0');
    if (end == std::string_view::npos) return false;
    *part = text.substr(0, end);
    text.remove_prefix(end + 1);
    return true;
  };
  out->pairs.resize(pairs);
  for (Credentials::Pair& pair : out->pairs) {
    if (!next(&pair.key) || !next(&pair.chain)) return false;
  }
  out->roots = text;
  return text.find('\0') == std::string_view::npos;
}

std::string fingerprint(const Credentials& credentials) {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!digest || EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) != 1) return {};
  auto add = [&](std::string_view text) {
    const uint64_t size = text.size();
    EVP_DigestUpdate(digest.get(), &size, sizeof size);
    EVP_DigestUpdate(digest.get(), text.data(), text.size());
  };
  for (const Credentials::Pair& pair : credentials.pairs) add(pair.key), add(pair.chain);
  add(credentials.roots);
  const char clients = static_cast<char>(credentials.clients);
  add(std::string_view(&clients, 1));
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_DigestFinal_ex(digest.get(), out, &size) != 1) return {};
  return std::string(reinterpret_cast<const char*>(out), size);
}

}  // namespace drover::engine::tls
