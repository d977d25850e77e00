// What a run prepares for each message before simulated time begins: the object, the software encoder's bytes, and the
// place in memory where the engine will find it.
//
//   host memory    a stream of records and payload, or the object itself in one piece ("records", "small");
//                  where long strings are not copied into the stream, or are read ahead: these, in a run of their own
//   engine memory  the payloads of target fields (run.target)
//
// Both are one range of addresses, so that an object's pointers reach either.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "message/message.h"
#include "sim/platform/options.h"
#include "sim/platform/target_fields.h"
#include "workload/workload.h"

namespace drover::sim {

// Memory aligned like a DMA buffer, zeroed on first touch.
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

// Of host memory.
struct Extent {
  uint64_t at = 0, bytes = 0;
};

// Where the object or stream to send lies. Offsets in host memory.
struct SendSource {
  bool walk = false;  // `records` is the object, of the message `message_index`
  uint32_t message_index = 0;
  uint64_t records = 0;
  uint32_t record_bytes = 0;  // walk: of the run that holds all objects; 0: not in one piece
  uint64_t payload = 0;
  uint32_t payload_bytes = 0;
};

struct PreparedMessage {
  std::string encoded;        // by the software encoder
  uint64_t object_bytes = 0;  // of the object and all below it, in one piece
  SendSource source;
  Extent small, large;  // records, or objects with their short strings; payload, or the object's long strings
};

struct PreparedHost {
  std::unique_ptr<AlignedBytes> memory;
  size_t host_bytes = 0;    // of it, from the beginning;
  size_t engine_bytes = 0;  // then engine memory; then where the engine sees pushed records
  std::vector<PreparedMessage> messages;
  std::string error;

  std::span<char> host() const { return memory->bytes().first(host_bytes); }
  std::span<char> engine() const { return memory->bytes().subspan(host_bytes, engine_bytes); }
  std::span<char> engine_port() const { return memory->bytes().subspan(host_bytes); }  // with the pushed records
};
PreparedHost prepare_host(const HandoverOptions& handover, const workload::Workload& workload,
                          const TargetFields& targets);

// The software encoder's bytes of the object; "error: ..." if it does not take it.
std::string encoded_bytes(const schema::MessageType& type, const Message* object);
// The same of what the software decoder makes of these wire bytes.
std::string reencoded(const schema::MessageType& type, const std::string& wire);
// Empty if the object at `got` equals what the software decoder makes of the wire bytes.
std::string compare_object(const schema::MessageType& type, const std::string& expected, const Message* got);

}  // namespace drover::sim
