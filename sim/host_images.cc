#include "sim/host_images.h"

#include <sys/mman.h>

#include "codec/decode.h"
#include "codec/encode.h"
#include "codec/preserialize.h"
#include "message/operations.h"

namespace drover::sim {
namespace {

constexpr size_t kHostMemory = size_t{1} << 30;  // only what is used is ever there
constexpr size_t kPage = 4096;

size_t aligned(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// Each stream or object begins on a page, as a driver's buffers do.
class HostRoom {
 public:
  explicit HostRoom(std::span<char> memory) : memory_(memory) {}
  // Null: no room.
  char* take(size_t bytes) {
    size_t size = aligned(bytes, kPage);
    if (size > memory_.size() - used_) return nullptr;
    char* at = memory_.data() + used_;
    used_ += size;
    return at;
  }
  uint64_t offset(const char* at) const { return static_cast<uint64_t>(at - memory_.data()); }

 private:
  std::span<char> memory_;
  size_t used_ = 0;
};

std::string place_stream(const System& system, const schema::MessageType& type, const Message* object, HostRoom* room,
                         PreparedMessage* out) {
  std::vector<uint64_t> scratch((out->encoded.size() * 9 + 4096) / 8);
  PreserializeOptions options;
  options.payload_threshold = system.payload_threshold;
  PreserializedOutput stream;
  stream.buffer = reinterpret_cast<char*>(scratch.data());
  stream.buffer_size = scratch.size() * 8;
  EncodeResult result = preserialize(type, object, options, &stream);
  if (!result.ok()) return "does not pre-serialize: " + to_string(result);
  size_t payload_at = aligned(stream.record_bytes, 64);
  char* at = room->take(payload_at + stream.payload_bytes);
  if (at == nullptr) return "finds no room in host memory";
  std::memcpy(at, stream.buffer, stream.record_bytes);
  if (stream.payload_bytes != 0) std::memcpy(at + payload_at, stream.payload(), stream.payload_bytes);
  out->command.records = room->offset(at);
  out->command.record_bytes = static_cast<uint32_t>(stream.record_bytes);
  out->command.payload = out->command.records + payload_at;
  out->command.payload_bytes = static_cast<uint32_t>(stream.payload_bytes);
  return "";
}

std::string place_object(const schema::MessageType& type, const Message& object, HostRoom* room, PreparedMessage* out) {
  char* at = room->take(out->object_bytes);
  if (at == nullptr) return "finds no room in host memory";
  Arena arena(heap_block_source(), at, out->object_bytes);
  Message* copy = message::deep_copy_into(type, object, &arena);
  if (copy == nullptr || !arena.only_initial_block()) return "does not go into one piece";
  out->command.walk = true;
  out->command.message_index = type.index;
  out->command.records = room->offset(copy->drover_bytes());
  return "";
}

}  // namespace

AlignedBytes::AlignedBytes(size_t size) : size_(size) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<char*>(at);
}
AlignedBytes::~AlignedBytes() { munmap(data_, size_); }

std::string encoded_bytes(const schema::MessageType& type, const Message* object) {
  Encoded out;
  EncodeResult result = encode(type, object, {}, &out);
  if (!result.ok()) return "error: " + to_string(result);
  std::string bytes(out.size(), '\0');
  out.copy_to(bytes.data());
  return bytes;
}

std::string compare_object(const schema::MessageType& type, const std::string& expected, const Message* got) {
  std::string mine = encoded_bytes(type, got);
  if (mine == expected) return "";
  size_t at = 0;
  while (at < mine.size() && at < expected.size() && mine[at] == expected[at]) ++at;
  return "the engine's object is not the software decoder's: encoded, " + std::to_string(mine.size()) + " and " +
         std::to_string(expected.size()) + " bytes, the first difference at " + std::to_string(at);
}

PreparedHost prepare_host(const System& system, const workload::Workload& workload) {
  PreparedHost host;
  host.memory = std::make_unique<AlignedBytes>(kHostMemory);
  HostRoom room(host.memory->bytes());
  for (const workload::WorkloadMessage& message : workload.messages) {
    Arena arena;
    auto* object = static_cast<Message*>(arena.allocate_zeroed(message.type.entry().object_size));
    *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
    DecodeResult decoded = decode(message.type, object, message.wire, arena);
    PreparedMessage prepared;
    if (!decoded.ok()) {
      host.error = message.name + " does not decode: " + to_string(decoded);
      return host;
    }
    prepared.encoded = encoded_bytes(message.type, object);
    prepared.object_bytes = message::linearized_size(message.type, *object);
    std::string error = system.send == SendMode::kNicOnly
                            ? place_object(message.type, *object, &room, &prepared)
                            : place_stream(system, message.type, object, &room, &prepared);
    if (!error.empty()) {
      host.error = message.name + " " + error;
      return host;
    }
    host.messages.push_back(std::move(prepared));
  }
  return host;
}

}  // namespace drover::sim
