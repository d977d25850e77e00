// ProtoBufferWriter: fills a ByteBuffer in pieces, as protobuf's ZeroCopyOutputStream does; gRPC's class. There is no
// stream class beneath: Drover's messages are serialized with SerializationTraits, or GenericSerialize.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>

namespace grpc {

constexpr int kProtoBufferWriterMaxBufferLength = 1024 * 1024;

class ProtoBufferWriter {
 public:
  // Of `total_size` bytes at the most; the buffer outlives it, and has what was written when the writer ends.
  ProtoBufferWriter(ByteBuffer* buffer, int block_size, int total_size);
  virtual ~ProtoBufferWriter();
  ProtoBufferWriter(const ProtoBufferWriter&) = delete;
  ProtoBufferWriter& operator=(const ProtoBufferWriter&) = delete;

  // Room for bytes; false: all of `total_size` is written.
  virtual bool Next(void** data, int* size);
  // The last `count` bytes that Next gave are not written.
  virtual void BackUp(int count) { at_ -= static_cast<size_t>(count); }
  virtual int64_t ByteCount() const { return static_cast<int64_t>(at_); }

 private:
  ByteBuffer& buffer_;
  const size_t total_;
  char* bytes_ = nullptr;
  size_t at_ = 0;
};

}  // namespace grpc
