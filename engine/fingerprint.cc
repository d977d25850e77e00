#include "engine/fingerprint.h"

#include <openssl/evp.h>

#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

namespace drover::engine {
namespace {

constexpr size_t kPiece = 256 << 10;

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    ok_ = context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
  }
  void add(std::string_view bytes) { ok_ = ok_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1; }
  std::string hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (!ok_ || EVP_DigestFinal_ex(context_.get(), digest, &size) != 1) return "";
    std::string text;
    for (unsigned i = 0; i < size; ++i) {
      text += "0123456789abcdef"[digest[i] >> 4];
      text += "0123456789abcdef"[digest[i] & 15];
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
  bool ok_ = false;
};

// Also once another file has taken the place of the one that runs.
std::string build_digest() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  if (!file) return "";
  Sha256 hash;
  std::vector<char> piece(kPiece);
  while (file.read(piece.data(), kPiece), file.gcount() != 0) {
    hash.add({piece.data(), static_cast<size_t>(file.gcount())});
  }
  return file.eof() ? hash.hex() : "";
}

}  // namespace

Fingerprint fingerprint(const Config& config) {
  Config same = config;  // but for what differs from engine to engine
  same.control_socket.clear();
  same.pidfile.clear();
  Sha256 hash;
  hash.add(print_config(same, std::vector<std::string>(config_keys().size())));
  hash.add(config.child ? "child" : "service");
  return {build_digest(), hash.hex()};
}

std::string fingerprint_line(const Fingerprint& fingerprint) {
  return "build=" + fingerprint.build + " config=" + fingerprint.config + "\n";
}

}  // namespace drover::engine
