// Streams that lend their buffers instead of copying, as protobuf C++ has them in google/protobuf/io: the interfaces of
// what messages are read from and written to. Implementations: memory_streams.h, copying_streams.h, joined_streams.h;
// on top of them coded_input.h and coded_output.h. protobuf's header names are in generated/include/google/protobuf/io.
//
// Sizes are in bytes and fit an int. Errors: Next returns false at the end and after an error. Thread-safety: one
// thread at a time uses a stream.
#pragma once

#include <cstdint>

namespace drover::io {

class ZeroCopyInputStream {
 public:
  ZeroCopyInputStream() = default;
  ZeroCopyInputStream(const ZeroCopyInputStream&) = delete;
  ZeroCopyInputStream& operator=(const ZeroCopyInputStream&) = delete;
  virtual ~ZeroCopyInputStream() = default;

  // Lends the next bytes, valid until the next call or the stream's end of life. *size may be 0. False: the end.
  virtual bool Next(const void** data, int* size) = 0;
  // Gives the last `count` bytes of the last Next back: they come again.
  virtual void BackUp(int count) = 0;
  // False if the stream ends before.
  virtual bool Skip(int count) = 0;
  // Bytes that were read, without those given back.
  virtual int64_t ByteCount() const = 0;
};

class ZeroCopyOutputStream {
 public:
  ZeroCopyOutputStream() = default;
  ZeroCopyOutputStream(const ZeroCopyOutputStream&) = delete;
  ZeroCopyOutputStream& operator=(const ZeroCopyOutputStream&) = delete;
  virtual ~ZeroCopyOutputStream() = default;

  // Lends room, all of which counts as written unless it is given back. False: an error, or no more room.
  virtual bool Next(void** data, int* size) = 0;
  // Gives the last `count` bytes of the last Next back, unwritten.
  virtual void BackUp(int count) = 0;
  virtual int64_t ByteCount() const = 0;
  // Bytes that the stream may keep a reference to instead of copying them. Here: false, it cannot.
  virtual bool WriteAliasedRaw(const void* data, int size);
  virtual bool AllowsAliasing() const { return false; }
};

inline bool ZeroCopyOutputStream::WriteAliasedRaw(const void*, int) { return false; }

}  // namespace drover::io
