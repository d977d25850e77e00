// Streams over what reads and writes by copying: files, iostreams, and a program's own CopyingInputStream or
// CopyingOutputStream. They keep a buffer of `block_size` bytes (below 1: 8 KiB).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>

#include "streams/zero_copy_stream.h"

namespace drover::io {

class CopyingInputStream {
 public:
  virtual ~CopyingInputStream() = default;
  // Up to `size` bytes into `buffer`: how many, 0 at the end, below 0 after an error.
  virtual int Read(void* buffer, int size) = 0;
  // How many were skipped: fewer at the end or after an error. This one reads.
  virtual int Skip(int count);
};

class CopyingOutputStream {
 public:
  virtual ~CopyingOutputStream() = default;
  // All of it; false after an error.
  virtual bool Write(const void* buffer, int size) = 0;
};

class CopyingInputStreamAdaptor final : public ZeroCopyInputStream {
 public:
  explicit CopyingInputStreamAdaptor(CopyingInputStream* source, int block_size = -1);
  ~CopyingInputStreamAdaptor() override;
  // Whether `source` is deleted with this.
  void SetOwnsCopyingStream(bool owns) { owns_ = owns; }
  bool Next(const void** data, int* size) override;
  void BackUp(int count) override;
  bool Skip(int count) override;
  int64_t ByteCount() const override { return position_ - backed_up_; }

 private:
  CopyingInputStream* source_;
  bool owns_ = false;
  bool failed_ = false;
  int64_t position_ = 0;  // of the source
  std::unique_ptr<uint8_t[]> buffer_;
  int block_size_;
  int filled_ = 0;     // bytes of the buffer
  int backed_up_ = 0;  // of them, the last that come again
};

class CopyingOutputStreamAdaptor final : public ZeroCopyOutputStream {
 public:
  explicit CopyingOutputStreamAdaptor(CopyingOutputStream* sink, int block_size = -1);
  ~CopyingOutputStreamAdaptor() override;  // flushes
  // Hands what was written to the sink; false after an error.
  bool Flush();
  void SetOwnsCopyingStream(bool owns) { owns_ = owns; }
  bool Next(void** data, int* size) override;
  void BackUp(int count) override;
  int64_t ByteCount() const override { return position_ + used_; }
  bool WriteAliasedRaw(const void* data, int size) override;

 private:
  CopyingOutputStream* sink_;
  bool owns_ = false;
  bool failed_ = false;
  int64_t position_ = 0;  // of the sink
  std::unique_ptr<uint8_t[]> buffer_;
  int block_size_;
  int used_ = 0;
};

// A file descriptor, which stays the caller's unless SetCloseOnDelete(true).
class FileDescriptorSource final : public CopyingInputStream {
 public:
  explicit FileDescriptorSource(int fd) : fd_(fd) {}
  ~FileDescriptorSource() override;
  int Read(void* buffer, int size) override;
  int Skip(int count) override;
  bool close();
  void set_close_on_delete(bool value) { close_on_delete_ = value; }
  int error() const { return error_; }

 private:
  int fd_;
  int error_ = 0;  // the first errno
  bool closed_ = false;
  bool close_on_delete_ = false;
  bool seeks_ = true;
};

class FileDescriptorSink final : public CopyingOutputStream {
 public:
  explicit FileDescriptorSink(int fd) : fd_(fd) {}
  ~FileDescriptorSink() override;
  bool Write(const void* buffer, int size) override;
  bool close();
  void set_close_on_delete(bool value) { close_on_delete_ = value; }
  int error() const { return error_; }

 private:
  int fd_;
  int error_ = 0;
  bool closed_ = false;
  bool close_on_delete_ = false;
};

class FileInputStream final : public ZeroCopyInputStream {
 public:
  explicit FileInputStream(int fd, int block_size = -1) : source_(fd), adaptor_(&source_, block_size) {}
  // False after an error; GetErrno says which.
  bool Close() { return source_.close(); }
  void SetCloseOnDelete(bool value) { source_.set_close_on_delete(value); }
  // The errno of the first error; 0: none.
  int GetErrno() const { return source_.error(); }
  bool Next(const void** data, int* size) override { return adaptor_.Next(data, size); }
  void BackUp(int count) override { adaptor_.BackUp(count); }
  bool Skip(int count) override { return adaptor_.Skip(count); }
  int64_t ByteCount() const override { return adaptor_.ByteCount(); }

 private:
  FileDescriptorSource source_;
  CopyingInputStreamAdaptor adaptor_;
};

class FileOutputStream final : public ZeroCopyOutputStream {
 public:
  explicit FileOutputStream(int fd, int block_size = -1) : sink_(fd), adaptor_(&sink_, block_size) {}
  bool Flush() { return adaptor_.Flush(); }
  // Flushes first. False after an error of either.
  bool Close() {
    const bool flushed = adaptor_.Flush();
    return sink_.close() && flushed;
  }
  void SetCloseOnDelete(bool value) { sink_.set_close_on_delete(value); }
  int GetErrno() const { return sink_.error(); }
  bool Next(void** data, int* size) override { return adaptor_.Next(data, size); }
  void BackUp(int count) override { adaptor_.BackUp(count); }
  int64_t ByteCount() const override { return adaptor_.ByteCount(); }

 private:
  FileDescriptorSink sink_;
  CopyingOutputStreamAdaptor adaptor_;  // flushes before the sink closes
};

class IstreamInputStream final : public ZeroCopyInputStream {
 public:
  explicit IstreamInputStream(std::istream* stream, int block_size = -1)
      : source_(stream), adaptor_(&source_, block_size) {}
  bool Next(const void** data, int* size) override { return adaptor_.Next(data, size); }
  void BackUp(int count) override { adaptor_.BackUp(count); }
  bool Skip(int count) override { return adaptor_.Skip(count); }
  int64_t ByteCount() const override { return adaptor_.ByteCount(); }

 private:
  class Source final : public CopyingInputStream {
   public:
    explicit Source(std::istream* stream) : stream_(stream) {}
    int Read(void* buffer, int size) override;

   private:
    std::istream* stream_;
  };
  Source source_;
  CopyingInputStreamAdaptor adaptor_;
};

class OstreamOutputStream final : public ZeroCopyOutputStream {
 public:
  explicit OstreamOutputStream(std::ostream* stream, int block_size = -1)
      : sink_(stream), adaptor_(&sink_, block_size) {}
  bool Next(void** data, int* size) override { return adaptor_.Next(data, size); }
  void BackUp(int count) override { adaptor_.BackUp(count); }
  int64_t ByteCount() const override { return adaptor_.ByteCount(); }

 private:
  class Sink final : public CopyingOutputStream {
   public:
    explicit Sink(std::ostream* stream) : stream_(stream) {}
    bool Write(const void* buffer, int size) override;

   private:
    std::ostream* stream_;
  };
  Sink sink_;
  CopyingOutputStreamAdaptor adaptor_;
};

}  // namespace drover::io
