// A connection's bytes in both directions: over a socket, by epoll or by io_uring (engine/net/io.h), and later through
// TLS. Tests connect memory instead, through ByteSink alone.
//
//   socket -> StreamHandler::on_bytes -> protocol
//   protocol -> ByteStream::write -> on_written -> socket
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>

namespace drover::engine {

// Where bytes go.
class ByteSink {
 public:
  // As writev: the number of bytes taken, or -1 with errno. Two values of errno have a meaning of their own:
  //   EAGAIN       none taken now
  //   EINPROGRESS  queued: the bytes must stay, and the sink must not be written to, until the result is reported
  //                (StreamHandler::on_written)
  virtual ssize_t write(const iovec* parts, size_t count) = 0;

 protected:
  ~ByteSink() = default;
};

// The owner of a ByteStream. Called from Io::dispatch (on_written: from Io::submit), on the loop's thread.
class StreamHandler {
 public:
  // Bytes from the peer, valid during the call.
  virtual void on_bytes(const char* bytes, size_t size) = 0;
  // Where the next bytes belong, if that is known: a large message's memory. Empty: nowhere in particular. They are
  // then received there, and on_bytes names the place. Asked for right before a receive.
  virtual std::span<char> place() { return {}; }
  // Asked before the kernel is asked to receive. False: the stream pauses, as by pause_reading(). `starved`: the kernel
  // had bytes and no buffer for them, since other streams took all; to ask it again would be to hope for better luck.
  virtual bool may_read([[maybe_unused]] bool starved) { return true; }
  // The peer ended the stream (0), or it broke (errno). No further call of on_bytes.
  virtual void on_end(int error) = 0;
  // What became of a write that was queued: the number of bytes taken, or -errno (-EAGAIN: none now).
  virtual void on_written(ssize_t result) = 0;
  // After want_writable: the stream takes bytes again.
  virtual void on_writable() = 0;

 protected:
  ~StreamHandler() = default;
};

class ByteStream : public ByteSink {
 public:
  // Closes the stream, too. Not within Io::dispatch.
  virtual ~ByteStream() = default;
  // One call of on_writable, when the stream takes bytes.
  virtual void want_writable() = 0;
  // Reads no more by itself; what has been received already may still come, and an end.
  virtual void pause_reading() = 0;
  // While it pauses: on_bytes for what the socket has, at most `most` bytes and what has a place, or on_end. False:
  // nothing is there, or it cannot be read yet.
  virtual bool read_paused(size_t most) = 0;
  // Where reading cannot go on, the handler is told of an end.
  virtual void resume_reading() = 0;
  // No more will be written; reading goes on.
  virtual void end_writes() = 0;
  // The handler is not called any more, and nothing that was given to write() is needed any more.
  virtual void close() = 0;
};

}  // namespace drover::engine
