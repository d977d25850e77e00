// For a build without the compiler, which has no generated services.
#include <grpcpp/support/byte_buffer.h>

namespace grpc {

const drover::schema::MessageType& ByteBuffer::drover_type() {
  drover::fatal("this build of Drover has no raw messages: it was made without protoc");
}

}  // namespace grpc
