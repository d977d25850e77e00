// One connection's TLS, the server's side, without I/O: bytes of the peer in, plaintext out, and the other way round.
//
//   take(bytes) a record at a time -> read(plaintext)               from the peer
//   encrypt(pieces) -> CipherBatch                                  to the peer
//   take_own()  what TLS itself has to say: handshake, tickets, alerts; goes out before what is encrypted next
//
// A call of take() does a bounded amount of work: one record. The costly ones are those of the handshake, up to a
// signature: 0.3 ms with ECDSA P-256, 1 ms with RSA 2048.
// Thread-safety: none.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/tls/context.h"
#include "engine/tls/peer_properties.h"

struct ssl_st;
struct bio_st;

namespace drover::engine::tls {

inline constexpr size_t kRecordBytes = 16 << 10;  // of plaintext, at most
inline constexpr size_t kRecordOverhead = 64;     // more than any record's header, nonce, padding and tag
inline constexpr size_t kLongestRecord = kRecordBytes + 2048 + 5;

// Encrypted bytes of several connections, on their way to the kernel within one turn.
class CipherBatch {
 public:
  static constexpr size_t kSize = 640 << 10;

  CipherBatch() : buffer_(new char[kSize]) {}
  void clear() { used_ = 0; }
  char* end() const { return buffer_.get() + used_; }
  size_t room() const { return kSize - used_; }
  void append(const char* bytes, size_t size);

 private:
  const std::unique_ptr<char[]> buffer_;
  size_t used_ = 0;
};

// What the sessions of an engine thread share: memory that is used within one turn.
struct Scratch {
  static constexpr size_t kPlain = 64 << 10;

  CipherBatch out;
  const std::unique_ptr<char[]> plain{new char[kPlain]};
  const std::unique_ptr<char[]> gathered{new char[kRecordBytes]};
};

class Session {
 public:
  enum class State : uint8_t {
    kHandshake,
    kOpen,
    kEnded,   // the peer says that it sends no more
    kFailed,  // why() says why; what take_own() has is the last
  };

  // Takes memory only once the peer has sent something.
  explicit Session(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  State state() const { return state_; }
  const std::string& why() const { return why_; }
  bool resumed() const;

  // Takes bytes to the end of a record at most; returns how many. Read before the next call until nothing comes.
  size_t take(const char* bytes, size_t size);
  // Plaintext; 0: none without further bytes, or the state has changed.
  size_t read(char* to, size_t size);

  // Encrypts the pieces in order, up to `most` bytes and as far as `out` has room; returns how many bytes it took. Only
  // while kOpen; 0 where it fails.
  size_t encrypt(const iovec* pieces, size_t count, size_t most, Scratch& scratch);
  // Says that we send no more; take_own() has it.
  void say_goodbye();

  bool has_own() const { return !own_.empty(); }
  // Moves it behind what is in `to`.
  void take_own(std::string* to);

  // Gives back the memory of records while the connection idles.
  void shrink();
  // Heap bytes, OpenSSL's estimated: session_test holds the estimate against what is taken.
  size_t memory() const;
  // For channelz: IANA's name of the cipher suite, and the certificates in DER. Empty: not there, or not yet. Throws
  // std::bad_alloc.
  void describe(std::string* cipher, std::string* own_certificate, std::string* peer_certificate) const;
  // Of an open connection. False: they are larger than kMostIdentity, and the connection is to be closed.
  bool properties(Properties* out) const;

 private:
  struct Bytes;  // the BIO, in session.cc
  static void on_info(const ssl_st* ssl, int where, int value);

  bool start();
  void shake_hands();
  void fail(std::string why);
  void fail_by_openssl(int result);
  size_t within_record(const char* bytes, size_t size);
  bool write_record(const char* bytes, size_t size);

  const std::shared_ptr<const Context> context_;
  ssl_st* ssl_ = nullptr;
  State state_ = State::kHandshake;
  bool renegotiates_ = false;
  bool said_goodbye_ = false;
  bool shrunk_ = false;
  std::string_view input_;         // of the record at hand
  size_t handshake_bytes_ = 0;     // that have come
  size_t certificate_bytes_ = 0;   // of the peer
  CipherBatch* output_ = nullptr;  // where OpenSSL's bytes go; null: to own_
  std::array<unsigned char, 5> header_{};
  uint8_t header_size_ = 0;
  size_t left_in_record_ = 0;
  bool gave_data_ = false;  // the record at hand
  int dataless_ = 0;        // records without data that may still come
  std::string own_;
  std::string why_;
};

}  // namespace drover::engine::tls
