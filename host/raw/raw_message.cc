#include <grpcpp/support/byte_buffer.h>

#include "raw_message.pb.h"

namespace grpc {

static_assert(sizeof(ByteBuffer) == sizeof(drover::host::builtin::raw::RawMessage));

const drover::schema::MessageType& ByteBuffer::drover_type() {
  return drover::host::builtin::raw::RawMessage::drover_type();
}

}  // namespace grpc
