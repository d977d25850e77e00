#include "streams/copying_streams.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <istream>
#include <ostream>

#include "object/owner.h"

namespace drover::io {
namespace {

constexpr int kBlockSize = 8192;

int block_size_of(int asked) { return asked > 0 ? asked : kBlockSize; }

// close(2) of a descriptor whose close was interrupted has happened on Linux: it is not repeated.
bool close_once(int fd, bool* closed, int* error) {
  if (*closed) fatal("a file stream is closed a second time");
  *closed = true;
  if (::close(fd) == 0) return true;
  *error = errno;
  return false;
}

}  // namespace

int CopyingInputStream::Skip(int count) {
  char scratch[4096];
  int skipped = 0;
  while (skipped < count) {
    const int got = Read(scratch, std::min(count - skipped, static_cast<int>(sizeof(scratch))));
    if (got <= 0) break;
    skipped += got;
  }
  return skipped;
}

// ---- input
CopyingInputStreamAdaptor::CopyingInputStreamAdaptor(CopyingInputStream* source, int block_size)
    : source_(source), block_size_(block_size_of(block_size)) {}

CopyingInputStreamAdaptor::~CopyingInputStreamAdaptor() {
  if (owns_) delete source_;
}

bool CopyingInputStreamAdaptor::Next(const void** data, int* size) {
  if (failed_) return false;
  if (backed_up_ > 0) {
    *data = buffer_.get() + filled_ - backed_up_;
    *size = backed_up_;
    backed_up_ = 0;
    return true;
  }
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<uint8_t[]>(static_cast<size_t>(block_size_));
  filled_ = source_->Read(buffer_.get(), block_size_);
  if (filled_ <= 0 || filled_ > block_size_) {
    failed_ = filled_ != 0;  // the end may move: a later Next asks again
    filled_ = 0;
    return false;
  }
  position_ += filled_;
  *data = buffer_.get();
  *size = filled_;
  return true;
}

void CopyingInputStreamAdaptor::BackUp(int count) {
  if (backed_up_ != 0 || count < 0 || count > filled_) fatal("BackUp(count) of a stream: more than the last Next gave");
  backed_up_ = count;
}

bool CopyingInputStreamAdaptor::Skip(int count) {
  if (count < 0 || failed_) return false;
  const int kept = std::min(count, backed_up_);
  backed_up_ -= kept;
  if (kept == count) return true;
  filled_ = 0;  // what Next lent before cannot be given back any more
  const int skipped = source_->Skip(count - kept);
  position_ += skipped;
  return skipped == count - kept;
}

// ---- output
CopyingOutputStreamAdaptor::CopyingOutputStreamAdaptor(CopyingOutputStream* sink, int block_size)
    : sink_(sink), block_size_(block_size_of(block_size)) {}

CopyingOutputStreamAdaptor::~CopyingOutputStreamAdaptor() {
  Flush();
  if (owns_) delete sink_;
}

bool CopyingOutputStreamAdaptor::Flush() {
  if (failed_) return false;
  if (used_ == 0) return true;
  failed_ = !sink_->Write(buffer_.get(), used_);
  position_ += failed_ ? 0 : used_;
  used_ = 0;
  return !failed_;
}

bool CopyingOutputStreamAdaptor::Next(void** data, int* size) {
  if (used_ == block_size_ && !Flush()) return false;
  if (failed_) return false;
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<uint8_t[]>(static_cast<size_t>(block_size_));
  *data = buffer_.get() + used_;
  *size = block_size_ - used_;
  used_ = block_size_;
  return true;
}

void CopyingOutputStreamAdaptor::BackUp(int count) {
  if (count < 0 || count > used_) fatal("BackUp(count) of a stream: more than the last Next gave");
  used_ -= count;
}

// Nothing is kept: the sink takes large data without the copy into the buffer.
bool CopyingOutputStreamAdaptor::WriteAliasedRaw(const void* data, int size) {
  if (size < 0 || !Flush()) return false;
  failed_ = !sink_->Write(data, size);
  position_ += failed_ ? 0 : size;
  return !failed_;
}

// ---- files
FileDescriptorSource::~FileDescriptorSource() {
  if (close_on_delete_ && !closed_) close();
}

bool FileDescriptorSource::close() { return close_once(fd_, &closed_, &error_); }

int FileDescriptorSource::Read(void* buffer, int size) {
  ssize_t got;
  do {
    got = ::read(fd_, buffer, static_cast<size_t>(size));
  } while (got < 0 && errno == EINTR);
  if (got < 0) error_ = errno;
  return static_cast<int>(got);
}

// Seeks where the file can: it may then lie behind the file's end, as protobuf's may.
int FileDescriptorSource::Skip(int count) {
  if (seeks_ && ::lseek(fd_, count, SEEK_CUR) != static_cast<off_t>(-1)) return count;
  seeks_ = false;
  return CopyingInputStream::Skip(count);
}

FileDescriptorSink::~FileDescriptorSink() {
  if (close_on_delete_ && !closed_) close();
}

bool FileDescriptorSink::close() { return close_once(fd_, &closed_, &error_); }

bool FileDescriptorSink::Write(const void* buffer, int size) {
  const char* data = static_cast<const char*>(buffer);
  for (int written = 0; written < size;) {
    const ssize_t some = ::write(fd_, data + written, static_cast<size_t>(size - written));
    if (some > 0) {
      written += static_cast<int>(some);
    } else if (some == 0 || errno != EINTR) {
      error_ = some == 0 ? EIO : errno;
      return false;
    }
  }
  return true;
}

// ---- iostreams
int IstreamInputStream::Source::Read(void* buffer, int size) {
  stream_->read(static_cast<char*>(buffer), size);
  const auto got = static_cast<int>(stream_->gcount());
  return got == 0 && stream_->fail() && !stream_->eof() ? -1 : got;
}

bool OstreamOutputStream::Sink::Write(const void* buffer, int size) {
  stream_->write(static_cast<const char*>(buffer), size);
  return stream_->good();
}

}  // namespace drover::io
