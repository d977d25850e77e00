// ProtoBufferReader: the bytes of a ByteBuffer, in pieces, as protobuf's ZeroCopyInputStream gives them; gRPC's class.
// There is no stream class beneath: Drover's messages are parsed with SerializationTraits, or GenericDeserialize.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace grpc {

class ProtoBufferReader {
 public:
  // The buffer outlives it, and does not change.
  explicit ProtoBufferReader(ByteBuffer* buffer);
  virtual ~ProtoBufferReader() = default;
  ProtoBufferReader(const ProtoBufferReader&) = delete;
  ProtoBufferReader& operator=(const ProtoBufferReader&) = delete;

  // False: no bytes are left.
  virtual bool Next(const void** data, int* size);
  // The last `count` bytes that Next gave come again.
  virtual void BackUp(int count) { at_ -= static_cast<size_t>(count); }
  virtual bool Skip(int count);
  virtual int64_t ByteCount() const { return static_cast<int64_t>(at_); }
  Status status() const { return status_; }

 private:
  const std::string_view bytes_;
  size_t at_ = 0;
  Status status_;
};

}  // namespace grpc
