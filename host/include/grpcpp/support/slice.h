// Slice: a run of bytes that several owners share; gRPC's class. Its parts refer to the same bytes.
#pragma once

#include <grpc/slice.h>
#include <grpcpp/support/string_ref.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace grpc {

class Slice final {
 public:
  Slice() : slice_(grpc_empty_slice()) {}
  ~Slice() { grpc_slice_unref(slice_); }

  // One owner more of `slice`, or its owner from now on.
  enum AddRef { ADD_REF };
  Slice(grpc_slice slice, AddRef) : slice_(grpc_slice_ref(slice)) {}
  enum StealRef { STEAL_REF };
  Slice(grpc_slice slice, StealRef) : slice_(slice) {}

  // Bytes of any content.
  explicit Slice(size_t length) : slice_(grpc_slice_malloc(length)) {}
  // Copies.
  Slice(const void* bytes, size_t length)
      : slice_(grpc_slice_from_copied_buffer(static_cast<const char*>(bytes), length)) {}
  Slice(const std::string& bytes) : Slice(bytes.data(), bytes.size()) {}
  // Refers to bytes that outlive it.
  enum StaticSlice { STATIC_SLICE };
  Slice(const void* bytes, size_t length, StaticSlice) : slice_(grpc_slice_from_static_buffer(bytes, length)) {}
  // Refers to bytes until the last owner has gone, which calls `destroy`.
  Slice(void* bytes, size_t length, void (*destroy)(void*), void* user_data)
      : slice_(grpc_slice_new_with_user_data(bytes, length, destroy, user_data)) {}
  Slice(void* bytes, size_t length, void (*destroy)(void*)) : Slice(bytes, length, destroy, bytes) {}
  Slice(void* bytes, size_t length, void (*destroy)(void*, size_t))
      : slice_(grpc_slice_new_with_len(bytes, length, destroy)) {}

  Slice(const Slice& other) : slice_(grpc_slice_ref(other.slice_)) {}
  Slice(Slice&& other) noexcept : slice_(std::exchange(other.slice_, grpc_empty_slice())) {}
  Slice& operator=(Slice other) {
    std::swap(slice_, other.slice_);
    return *this;
  }

  size_t size() const { return slice_.length; }
  const uint8_t* begin() const { return slice_.bytes; }
  const uint8_t* end() const { return slice_.bytes + slice_.length; }
  Slice sub(size_t begin, size_t end) const { return Slice(grpc_slice_sub(slice_, begin, end), STEAL_REF); }
  // With an owner of its own, which the caller ends by grpc_slice_unref.
  grpc_slice c_slice() const { return grpc_slice_ref(slice_); }

 private:
  grpc_slice slice_;
};

inline string_ref StringRefFromSlice(const grpc_slice* slice) {
  return string_ref(reinterpret_cast<const char*>(slice->bytes), slice->length);
}
inline std::string StringFromCopiedSlice(grpc_slice slice) {
  return std::string(reinterpret_cast<const char*>(slice.bytes), slice.length);
}
// The string outlives it.
inline grpc_slice SliceReferencingString(const std::string& text) {
  return grpc_slice_from_static_buffer(text.data(), text.size());
}
inline grpc_slice SliceFromCopiedString(const std::string& text) {
  return grpc_slice_from_copied_buffer(text.data(), text.size());
}

}  // namespace grpc
