// What a run needs of each message before time begins: the object, what the software encoder makes of it, and its place
// in the host's memory as a pre-serialized stream or as one contiguous object.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "message/message.h"
#include "sim/serializer_engine.h"
#include "sim/system.h"
#include "workload/workload.h"

namespace drover::sim {

// Memory that is aligned as a DMA buffer is, zeroed as it is first touched.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t size);
  ~AlignedBytes();
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  std::span<char> bytes() const { return {data_, size_}; }

 private:
  char* data_;
  size_t size_;
};

struct PreparedMessage {
  std::string encoded;        // by the software encoder
  uint64_t object_bytes = 0;  // of the object and all below it, in one piece
  SerializerSend command;     // its place in host memory; the host fills in time and cookie
};

struct PreparedHost {
  std::unique_ptr<AlignedBytes> memory;
  std::vector<PreparedMessage> messages;
  std::string error;
};
PreparedHost prepare_host(const System& system, const workload::Workload& workload);

// The software encoder's bytes of the object; "error: ..." if it does not take it.
std::string encoded_bytes(const schema::MessageType& type, const Message* object);
// Empty if the object at `got` is the one that the software decoder makes of the wire bytes.
std::string compare_object(const schema::MessageType& type, const std::string& expected, const Message* got);

}  // namespace drover::sim
