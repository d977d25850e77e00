// A connection's bytes in both directions, over a socket (SocketStream) and later TLS. Tests connect memory instead,
// through ByteSink alone.
//
// Non-blocking: a call that would block returns -1 with errno EAGAIN, and the event loop says when to try again.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>

#include "object/unique_fd.h"

namespace drover::engine {

// Where bytes go.
class ByteSink {
 public:
  // As writev: the number of bytes taken, or -1 with errno.
  virtual ssize_t write(const iovec* parts, size_t count) = 0;

 protected:
  ~ByteSink() = default;
};

class ByteStream : public ByteSink {
 public:
  virtual ~ByteStream() = default;
  // As read: 0 when the peer has ended the stream.
  virtual ssize_t read(char* buffer, size_t size) = 0;
  // No more will be written; reading goes on.
  virtual void end_writes() = 0;
  // To register with the event loop.
  virtual int fd() const = 0;
};

class SocketStream final : public ByteStream {
 public:
  // `fd`: connected and non-blocking. Sets TCP_NODELAY and SO_KEEPALIVE.
  explicit SocketStream(UniqueFd fd);

  ssize_t write(const iovec* parts, size_t count) override;
  ssize_t read(char* buffer, size_t size) override;
  void end_writes() override;
  int fd() const override { return fd_.get(); }

 private:
  UniqueFd fd_;
};

}  // namespace drover::engine
