// ByteBuffer: a message as its wire bytes, for methods whose handlers see no fields: raw methods and generic services.
// gRPC's class.
//
// Different from gRPC: the bytes lie in one piece, which belongs to the buffer. Making one out of slices, copying one
// and dumping one copy the bytes; slices that were dumped do not depend on the buffer. Of a request that a callback
// handler gets by pointer the bytes lie in shared memory, and are valid until OnDone.
//
// It is a message of Drover's, with the layout of host/raw/raw_message.proto. At most 2^31 - 1 bytes; more, or no
// memory, ends the process.
#pragma once

#include <grpcpp/impl/serialization_traits.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "generated/generated_message.h"

namespace grpc {

class ByteBuffer final : public drover::Message {
 public:
  // Not valid: no message.
  ByteBuffer() { drover_construct(nullptr); }
  ByteBuffer(const Slice* slices, size_t count);
  ByteBuffer(const ByteBuffer& other) : ByteBuffer() { *this = other; }
  ByteBuffer(ByteBuffer&& other) noexcept : ByteBuffer() { *this = std::move(other); }
  ByteBuffer& operator=(const ByteBuffer& other) {
    drover::generated::copy_from(drover_type(), this, other);
    return *this;
  }
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    if (this != &other) drover::generated::move_from(drover_type(), this, &other);
    return *this;
  }
  ~ByteBuffer() { drover::generated::destroy(this, sizeof(*this)); }

  // The bytes as one slice, or as slices. FAILED_PRECONDITION: the buffer is not valid.
  Status TrySingleSlice(Slice* slice) const { return DumpToSingleSlice(slice); }
  Status DumpToSingleSlice(Slice* slice) const;
  Status Dump(std::vector<Slice>* slices) const;

  void Clear() { drover::generated::clear(drover_type(), this); }
  void Release() { Clear(); }
  // Makes the bytes its own, which they are.
  void Duplicate() {}
  size_t Length() const { return drover_.data.size(); }
  void Swap(ByteBuffer* other) { drover::generated::swap(drover_type(), this, other); }
  bool Valid() const { return (drover_.has & 1) != 0; }

  // ---- Drover's own
  std::string_view drover_view() const { return drover_.data.view(); }
  // The buffer has `size` bytes from now on, which the caller writes.
  char* drover_resize(size_t size);
  static const drover::schema::MessageType& drover_type();
  explicit ByteBuffer(drover::Arena* arena) { drover_construct(arena); }

 private:
  void drover_construct(drover::Arena* arena) {
    std::memset(static_cast<void*>(&drover_), 0, sizeof(drover_));
    drover_header_.owner = reinterpret_cast<drover::OwnerWord>(arena);
  }

  struct Fields {
    uint32_t has, zero;
    drover::String data;
  };
  // In a union, as in a generated class: the field has no constructor and no destructor of its own.
  union {
    Fields drover_;
  };
};

// A ByteBuffer is its own wire form.
template <>
class SerializationTraits<ByteBuffer, void> {
 public:
  static Status Serialize(const ByteBuffer& source, ByteBuffer* buffer, bool* own_buffer) {
    *buffer = source;
    *own_buffer = true;
    return Status();
  }
  static Status Deserialize(ByteBuffer* buffer, ByteBuffer* destination) {
    *destination = std::move(*buffer);
    return Status();
  }
};

}  // namespace grpc
