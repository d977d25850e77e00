#include "engine/tls/session.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace drover::engine::tls {
namespace {

constexpr unsigned char kHandshakeRecord = 22;
constexpr size_t kMostOwn = 64 << 10;  // that the peer does not read
// Of records without data (KeyUpdate, warnings, empty ones) so many may come at once, and one more for each sixteen
// with data.
constexpr int kMostDataless = 64;
constexpr int kDatalessCost = 16;
// Measured by session_test: what OpenSSL 3.0 takes for a connection in its handshake, for an open one, and for an open
// one with the buffers of records. Beside it, for the message of a handshake that it gathers, half as much again as has
// come; and for a certificate, 16 times its bytes.
constexpr size_t kHandshakeMemory = 80 << 10;
constexpr size_t kOpenMemory = 20 << 10;
constexpr size_t kBuffers = 34 << 10;
constexpr size_t kCertificateFactor = 16;

// What the peer has sent and OpenSSL keeps.
size_t size_of_certificates(const SSL* ssl) {
  const X509* own = SSL_get0_peer_certificate(ssl);
  size_t bytes = own != nullptr ? static_cast<size_t>(std::max(0, i2d_X509(own, nullptr))) : 0;
  const STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl);
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    bytes += static_cast<size_t>(std::max(0, i2d_X509(sk_X509_value(chain, i), nullptr)));
  }
  return bytes;
}

}  // namespace

void CipherBatch::append(const char* bytes, size_t size) {
  std::memcpy(end(), bytes, size);
  used_ += size;
}

// ---- OpenSSL's bytes.

struct Session::Bytes {
  static int read(BIO* bio, char* to, size_t size, size_t* got) {
    auto& session = *static_cast<Session*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    *got = std::min(size, session.input_.size());
    if (*got == 0) {
      BIO_set_retry_read(bio);
      return 0;
    }
    std::memcpy(to, session.input_.data(), *got);
    session.input_.remove_prefix(*got);
    return 1;
  }
  static int write(BIO* bio, const char* from, size_t size, size_t* taken) {
    auto& session = *static_cast<Session*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (session.output_ != nullptr) {
      if (session.output_->room() < size) return 0;
      session.output_->append(from, size);
    } else {
      try {
        session.own_.append(from, size);
      } catch (const std::bad_alloc&) {  // not through OpenSSL's frames
        return 0;
      }
    }
    *taken = size;
    return 1;
  }
  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "drover");
      if (method == nullptr) return method;
      BIO_meth_set_read_ex(method, read);
      BIO_meth_set_write_ex(method, write);
      BIO_meth_set_ctrl(method, control);
      return method;
    }();
    return made;
  }
};

Session::~Session() { SSL_free(ssl_); }

// OpenSSL answers a request for renegotiation with an alert and goes on; the connection ends instead.
void Session::on_info(const SSL* ssl, int where, int value) {
  constexpr int kNoRenegotiation = SSL3_AL_WARNING << 8 | SSL_AD_NO_RENEGOTIATION;
  if (where != SSL_CB_WRITE_ALERT || value != kNoRenegotiation) return;
  static_cast<Session*>(SSL_get_app_data(ssl))->renegotiates_ = true;
}

bool Session::start() {
  BIO* bio = Bytes::method() != nullptr ? BIO_new(Bytes::method()) : nullptr;
  ssl_ = bio != nullptr ? context_->new_connection() : nullptr;
  if (ssl_ == nullptr) {
    BIO_free(bio);
    fail("no memory");
    return false;
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_app_data(ssl_, this);
  SSL_set_info_callback(ssl_, on_info);
  return true;
}

// ---- From the peer.

// How many of the bytes belong to the record at hand.
size_t Session::within_record(const char* bytes, size_t size) {
  size_t n = 0;
  while (header_size_ < header_.size() && n < size) {
    header_[header_size_++] = static_cast<unsigned char>(bytes[n++]);
    if (header_size_ == header_.size()) left_in_record_ = size_t{header_[3]} << 8 | header_[4];
  }
  if (header_size_ < header_.size()) return n;
  const size_t body = std::min(size - n, left_in_record_);
  left_in_record_ -= body;
  if (left_in_record_ == 0) header_size_ = 0;
  return n + body;
}

size_t Session::take(const char* bytes, size_t size) {
  if (size == 0 || state_ == State::kEnded || state_ == State::kFailed) return size;
  if (ssl_ == nullptr) {
    if (static_cast<unsigned char>(bytes[0]) != kHandshakeRecord) {
      fail("the client does not speak TLS");
      return size;
    }
    if (!start()) return size;
  }
  const size_t taken = within_record(bytes, size);
  input_ = std::string_view(bytes, taken);
  shrunk_ = false;
  const bool whole = header_size_ == 0;
  if (state_ == State::kHandshake) {
    handshake_bytes_ += taken;
    shake_hands();
    dataless_ = kMostDataless * kDatalessCost;
  } else if (whole) {
    gave_data_ = false;
    if ((dataless_ -= kDatalessCost) < 0) fail("too many records without data");
  }
  return taken;
}

void Session::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (certificate_bytes_ == 0) certificate_bytes_ = size_of_certificates(ssl_);
  if (result != 1) {
    if (SSL_get_error(ssl_, result) != SSL_ERROR_WANT_READ) fail_by_openssl(result);
    return;
  }
  const unsigned char* protocol;
  unsigned size;
  SSL_get0_alpn_selected(ssl_, &protocol, &size);
  if (size == 0) return fail("the client does not offer HTTP/2 (ALPN h2)");
  // A ticket brings back the certificate of the first handshake, which each new ticket passes on.
  const X509* certificate = resumed() ? SSL_get0_peer_certificate(ssl_) : nullptr;
  if (certificate != nullptr && X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0) {
    return fail("the client's certificate has expired since its first handshake");
  }
  state_ = State::kOpen;
}

size_t Session::read(char* to, size_t size) {
  if (state_ != State::kOpen) return 0;
  size_t got = 0;
  ERR_clear_error();
  const int result = SSL_read_ex(ssl_, to, size, &got);
  if (renegotiates_) return fail("the client asks for renegotiation"), 0;
  if (own_.size() > kMostOwn) return fail("the client does not read"), 0;
  if (result == 1) {
    if (!gave_data_) dataless_ = std::min(dataless_ + kDatalessCost + 1, kMostDataless * kDatalessCost);
    gave_data_ = true;
    return got;
  }
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      break;
    case SSL_ERROR_ZERO_RETURN:
      state_ = State::kEnded;
      break;
    default:
      fail_by_openssl(result);
  }
  return 0;
}

void Session::fail_by_openssl(int) { fail(take_openssl_error()); }

void Session::fail(std::string why) {
  ERR_clear_error();
  if (state_ == State::kFailed) return;
  state_ = State::kFailed;
  why_ = std::move(why);
}

// ---- To the peer.

bool Session::write_record(const char* bytes, size_t size) {
  size_t written = 0;
  if (SSL_write_ex(ssl_, bytes, size, &written) == 1 && written == size) return true;
  fail_by_openssl(0);
  return false;
}

// Records are as long as they may be. Pieces that fill one go into it from where they lie; others are gathered before.
size_t Session::encrypt(const iovec* pieces, size_t count, size_t most, Scratch& scratch) {
  if (state_ != State::kOpen) return 0;
  const size_t records = scratch.out.room() / (kRecordBytes + kRecordOverhead);
  most = std::min(most, records * kRecordBytes);
  output_ = &scratch.out;
  shrunk_ = false;
  size_t taken = 0, gathered = 0;
  for (size_t i = 0; i < count && taken < most; ++i) {
    const char* from = static_cast<const char*>(pieces[i].iov_base);
    size_t left = std::min(pieces[i].iov_len, most - taken);
    taken += left;
    while (left > 0 && state_ == State::kOpen) {
      if (gathered == 0 && (left >= kRecordBytes || (i + 1 == count || taken == most))) {
        const size_t size = std::min(left, kRecordBytes);
        write_record(from, size);
        from += size;
        left -= size;
        continue;
      }
      const size_t size = std::min(left, kRecordBytes - gathered);
      std::memcpy(scratch.gathered.get() + gathered, from, size);
      gathered += size;
      from += size;
      left -= size;
      if (gathered < kRecordBytes) continue;
      write_record(scratch.gathered.get(), gathered);
      gathered = 0;
    }
  }
  if (gathered > 0 && state_ == State::kOpen) write_record(scratch.gathered.get(), gathered);
  output_ = nullptr;
  return state_ == State::kOpen ? taken : 0;
}

void Session::say_goodbye() {
  if (said_goodbye_ || ssl_ == nullptr || state_ == State::kHandshake || state_ == State::kFailed) return;
  said_goodbye_ = true;
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

void Session::take_own(std::string* to) {
  if (to->empty()) {
    to->swap(own_);
  } else {
    to->append(own_);
  }
  own_ = std::string();
}

// ---- What it holds.

void Session::shrink() {
  if (shrunk_ || ssl_ == nullptr || state_ != State::kOpen || header_size_ != 0) return;  // not within a record
  shrunk_ = SSL_free_buffers(ssl_) == 1;
}

size_t Session::memory() const {
  const size_t bytes = sizeof(*this) + own_.capacity() + certificate_bytes_ * kCertificateFactor;
  if (ssl_ == nullptr) return bytes;
  if (state_ == State::kHandshake) return bytes + kHandshakeMemory + handshake_bytes_ + handshake_bytes_ / 2;
  return bytes + kOpenMemory + (shrunk_ ? 0 : kBuffers);
}

bool Session::resumed() const { return ssl_ != nullptr && SSL_session_reused(ssl_) == 1; }

bool Session::properties(Properties* out) const { return state_ == State::kOpen && peer_properties(ssl_, out); }

namespace {

std::string der_of(X509* certificate) {
  const int size = certificate != nullptr ? i2d_X509(certificate, nullptr) : 0;
  if (size <= 0) return {};
  std::string der(static_cast<size_t>(size), '\0');
  auto* to = reinterpret_cast<unsigned char*>(der.data());
  return i2d_X509(certificate, &to) == size ? der : std::string();
}

}  // namespace

void Session::describe(std::string* cipher, std::string* own_certificate, std::string* peer_certificate) const {
  if (ssl_ == nullptr || state_ == State::kHandshake) return;
  const SSL_CIPHER* suite = SSL_get_current_cipher(ssl_);
  const char* name = suite != nullptr ? SSL_CIPHER_standard_name(suite) : nullptr;
  if (name != nullptr) *cipher = name;
  *own_certificate = der_of(SSL_get_certificate(ssl_));
  *peer_certificate = der_of(SSL_get0_peer_certificate(ssl_));
}

}  // namespace drover::engine::tls
