// A ByteStream under TLS: it stands between a socket's ByteStream and the connection.
//
//   socket -> on_bytes -> Session -> SecureHandler::on_bytes -> protocol        plaintext, into its place where it has
//   one protocol -> write -> Session -> CipherBatch -> socket                       a write is encrypted at once, whole
//
// Work is done when the handler says so (may_decrypt, go_on). Until then what the socket gives is kept, and no more is
// asked of the kernel; read_paused() goes on with it. The peer's handshake is always postponed like that, since a step
// of it takes as long as a hundred calls.
//
// A write that has been taken is encrypted: its memory is free, though the socket may not have taken all. What the
// socket left is sent first, before anything else, by flush_own().
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "engine/net/byte_stream.h"
#include "engine/net/io.h"
#include "engine/tls/session.h"
#include "object/unique_fd.h"

namespace drover::engine {

class SecureHandler : public StreamHandler {
 public:
  // Whether input may be worked on as it comes. False: the handler has paused the stream, and will call read_paused().
  // `costly`: a step of the handshake.
  virtual bool may_decrypt(bool costly) = 0;
  // Whether there is time for more, after a piece of work of so many units (engine/base/pace.h).
  virtual bool go_on(size_t units) = 0;
  // There was none: the handler pauses the stream, and will call read_paused().
  virtual void wait_for_time() = 0;
  // The handshake is over: writes are taken from now on.
  virtual void on_open() = 0;

 protected:
  ~SecureHandler() = default;
};

class SecureStream final : public ByteStream, private StreamHandler {
 public:
  // `scratch` is the engine thread's: its CipherBatch is cleared after each Io::submit().
  SecureStream(std::shared_ptr<const tls::Context> context, tls::Scratch& scratch, SecureHandler& handler)
      : session_(std::move(context)), scratch_(scratch), handler_(handler) {}

  ~SecureStream() override { close(); }

  // Before anything else. False: errno says why.
  bool open(Io& io, UniqueFd socket);

  // ByteStream. A write while flush_own() says false takes nothing (EAGAIN).
  ssize_t write(const iovec* pieces, size_t count) override;
  void want_writable() override;
  void pause_reading() override;
  bool read_paused(size_t most) override;
  void resume_reading() override;
  void end_writes() override;
  void close() override;

  // Writes what goes out before anything else. True: writes are taken now; else the handler is told on_writable.
  bool flush_own();
  // Tells the peer that no more comes. True: that has been said, and the socket has taken all.
  bool say_goodbye();
  // After read_paused: there may be more.
  bool has_unread() const { return worked_ < backlog_.size() || unread_; }
  // Bytes wait for the socket alone.
  bool blocked() const { return !out_.empty(); }
  size_t sent() const { return sent_; }  // bytes that the socket took

  const tls::Session& session() const { return session_; }
  void shrink() { session_.shrink(); }
  size_t memory() const { return sizeof(*this) + session_.memory() + backlog_.capacity() + out_.capacity(); }

 private:
  static constexpr size_t kMostAtOnce = 256 << 10;  // of plaintext, encrypted by one write

  // StreamHandler, of the socket.
  void on_bytes(const char* bytes, size_t size) override;
  bool may_read(bool starved) override { return closed_ || handler_.may_read(starved); }
  void on_end(int error) override;
  void on_written(ssize_t result) override;
  void on_writable() override;

  void keep(const char* bytes, size_t size);
  size_t decrypt(const char* bytes, size_t size);
  bool decrypt_record();
  void hand_over(size_t size);
  void end(int error);
  void keep_unsent(const char* bytes, size_t size);
  void took(size_t size) { sent_ += size; }

  std::unique_ptr<ByteStream> socket_;
  tls::Session session_;
  tls::Scratch& scratch_;
  SecureHandler& handler_;
  bool paused_ = false;
  bool reading_ = false;  // within read_paused
  bool unread_ = false;   // the kernel may have more
  bool ended_ = false;    // the handler has been told
  bool closed_ = false;
  bool open_told_ = false;
  bool writes_ended_ = false;
  std::string backlog_;  // from the socket, for later
  size_t worked_ = 0;    // of it
  size_t plain_ = 0;     // in the scratch memory, on its way to the handler
  size_t got_ = 0;       // bytes that came within read_paused
  std::string out_;      // for the socket, before anything else
  size_t out_sent_ = 0;  // of it
  // The write that is queued: of out_, or of the scratch memory for that many bytes of plaintext.
  bool in_flight_ = false;
  bool flight_is_out_ = false;
  const char* flight_ = nullptr;
  size_t flight_size_ = 0;
  size_t flight_plain_ = 0;
  size_t sent_ = 0;
};

}  // namespace drover::engine
