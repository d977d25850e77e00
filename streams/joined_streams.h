// Streams made of others: several one behind the other, or the first bytes of one. The others are the caller's and
// outlive the stream.
#pragma once

#include <cstdint>

#include "streams/zero_copy_stream.h"

namespace drover::io {

class ConcatenatingInputStream final : public ZeroCopyInputStream {
 public:
  ConcatenatingInputStream(ZeroCopyInputStream* const streams[], int count) : streams_(streams), left_(count) {}
  bool Next(const void** data, int* size) override;
  void BackUp(int count) override;
  bool Skip(int count) override;
  int64_t ByteCount() const override;

 private:
  void retire();

  ZeroCopyInputStream* const* streams_;
  int left_;
  int64_t retired_bytes_ = 0;
};

// Ends after `limit` bytes. Its destructor gives back what it was lent behind them.
class LimitingInputStream final : public ZeroCopyInputStream {
 public:
  LimitingInputStream(ZeroCopyInputStream* stream, int64_t limit)
      : stream_(stream), limit_(limit), began_at_(stream->ByteCount()) {}
  ~LimitingInputStream() override;
  bool Next(const void** data, int* size) override;
  void BackUp(int count) override;
  bool Skip(int count) override;
  int64_t ByteCount() const override;

 private:
  ZeroCopyInputStream* stream_;
  int64_t limit_;  // bytes that are left; below 0: so many were lent too many
  int64_t began_at_;
};

}  // namespace drover::io
