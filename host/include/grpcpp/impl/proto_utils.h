// Generated messages to and from ByteBuffers: SerializationTraits, GenericSerialize and GenericDeserialize as gRPC has
// them. Errors: INTERNAL, with a message.
#pragma once

#include <grpcpp/impl/serialization_traits.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>
#include <grpcpp/support/status.h>

#include <climits>
#include <type_traits>

#include "generated/generated_message.h"

namespace grpc {

// The buffer gets the message's bytes, which it owns. The writer and reader types are gRPC's, and have no effect.
template <class ProtoBufferWriter, class T>
Status GenericSerialize(const T& message, ByteBuffer* buffer, bool* own_buffer) {
  *own_buffer = true;
  const size_t size = message.ByteSizeLong();
  if (size > INT_MAX) return Status(StatusCode::INTERNAL, "a message of more than 2 GiB - 1");
  buffer->Clear();
  if (!message.SerializeToArray(buffer->drover_resize(size), static_cast<int>(size))) {
    return Status(StatusCode::INTERNAL, "Failed to serialize message");
  }
  return Status();
}

// The buffer is empty afterwards.
template <class ProtoBufferReader, class T>
Status GenericDeserialize(ByteBuffer* buffer, T* message) {
  if (buffer == nullptr || !buffer->Valid()) return Status(StatusCode::INTERNAL, "No payload");
  const bool parsed = message->ParseFromString(buffer->drover_view());
  buffer->Clear();
  if (parsed) return Status();
  const std::string missing = message->InitializationErrorString();
  return Status(StatusCode::INTERNAL, missing.empty() ? "Did not read entire message" : missing);
}

template <class T>
class SerializationTraits<T, std::enable_if_t<std::is_base_of_v<drover::MessageOf<T>, T>>> {
 public:
  static Status Serialize(const T& message, ByteBuffer* buffer, bool* own_buffer) {
    return GenericSerialize<ProtoBufferWriter, T>(message, buffer, own_buffer);
  }
  static Status Deserialize(ByteBuffer* buffer, T* message) {
    return GenericDeserialize<ProtoBufferReader, T>(buffer, message);
  }
};

}  // namespace grpc
