// SerializationTraits: a message to and from the ByteBuffer that has its wire bytes; gRPC's class. Generated messages
// have it in <grpcpp/impl/proto_utils.h>, ByteBuffer itself in <grpcpp/support/byte_buffer.h>.
#pragma once

namespace grpc {

template <class Message, class UnusedButHereForPartialTemplateSpecialization = void>
class SerializationTraits;

}  // namespace grpc
