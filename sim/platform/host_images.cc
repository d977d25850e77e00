#include "sim/platform/host_images.h"

#include <sys/mman.h>

#include <utility>

#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "codec/preserialize/preserialize.h"
#include "message/operations.h"

namespace drover::sim {
namespace {

constexpr size_t kHostMemory = size_t{1} << 30, kEngineMemory = size_t{1} << 28;  // only touched pages exist
constexpr size_t kPushed = size_t{1} << 24;
constexpr size_t kPage = 4096;

size_t aligned(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// Memory that is given out from its front.
class Room {
 public:
  Room(std::span<char> memory, size_t alignment) : memory_(memory), alignment_(alignment) {}
  // Null: no room.
  char* take(size_t bytes) {
    size_t size = aligned(bytes, alignment_);
    if (size > memory_.size() - used_) return nullptr;
    char* at = memory_.data() + used_;
    used_ += size;
    return at;
  }
  uint64_t offset(const char* at) const { return static_cast<uint64_t>(at - memory_.data()); }
  std::span<char> memory() const { return memory_; }

 private:
  std::span<char> memory_;
  size_t alignment_, used_ = 0;
};

class Preparer {
 public:
  Preparer(const HandoverOptions& handover, const TargetFields& targets, PreparedHost* host)
      : handover_(handover),
        targets_(targets),
        all_(host->memory->bytes()),
        room_(host->host(), kPage),
        engine_room_(host->engine(), 64) {}

  // Puts the object where the system's engine finds it. Its strings may be moved.
  std::string place(const schema::MessageType& type, Message* object, PreparedMessage* out) {
    bool walk = handover_.send != SendMode::kMemoryAffinity;
    if (move_targets(type, object)) walk = false;  // the walker does not follow pointers into engine memory
    if ((walk && handover_.prefetch != 0) || handover_.reference_from != 0) move_long_strings(type, object, out);
    if (walk && error_.empty()) place_object(type, *object, out);
    if (handover_.send == SendMode::kEither && out->small.bytes > handover_.walk_limit) walk = false;
    if (!walk && error_.empty()) place_stream(type, object, out);
    return std::exchange(error_, "");
  }

 private:
  void move(String* string, char* to) {
    std::memcpy(to, string->view().data(), string->size());
    string->borrow(to, string->size(), false);
  }
  // Payloads of target fields to engine memory; true if there are any.
  bool move_targets(const schema::MessageType& type, Message* object) {
    bool any = false;
    if (targets_.empty()) return any;
    for_each_string(type, object, [&](const schema::FieldEntry& field, String& string) {
      if (!targets_.hold(field) || string.empty()) return;
      char* at = engine_room_.take(string.size());
      if (at == nullptr) return fail("finds no room in engine memory");
      move(&string, at);
      any = true;
    });
    return any;
  }
  // Long strings lie consecutively in a run of their own, as an arena would have placed them.
  void move_long_strings(const schema::MessageType& type, Message* object, PreparedMessage* out) {
    uint64_t least = handover_.reference_from != 0 ? handover_.reference_from : handover_.payload_threshold, sum = 0;
    auto each = [&](auto what) {
      for_each_string(type, object, [&](const schema::FieldEntry&, String& string) {
        if (string.size() >= least && !in_engine(string)) what(string);
      });
    };
    each([&](const String& string) { sum += aligned(string.size() + 1, 64); });
    if (sum == 0) return;
    char* at = room_.take(sum);
    if (at == nullptr) return fail("finds no room in host memory");
    out->large = {room_.offset(at), sum};
    each([&](String& string) {
      move(&string, at);
      at += aligned(string.size() + 1, 64);
    });
  }
  bool in_engine(const String& string) const {
    const char* at = string.view().data();
    std::span<char> engine = engine_room_.memory();
    return at >= engine.data() && at < engine.data() + engine.size();
  }

  void place_stream(const schema::MessageType& type, const Message* object, PreparedMessage* out) {
    std::vector<uint64_t> scratch((out->encoded.size() * 9 + 4096) / 8);
    PreserializeOptions options;
    options.payload_threshold = handover_.payload_threshold;
    options.engine = window(engine_room_);
    if (handover_.reference_from != 0) {
      options.host = window(room_);
      options.reference_from = handover_.reference_from;
    }
    PreserializedOutput stream;
    stream.buffer = reinterpret_cast<char*>(scratch.data());
    stream.buffer_size = scratch.size() * 8;
    EncodeResult result = preserialize(type, object, options, &stream);
    if (!result.ok()) return fail("does not pre-serialize: " + to_string(result));
    size_t payload_at = aligned(stream.record_bytes, 64);
    char* at = room_.take(payload_at + stream.payload_bytes);
    if (at == nullptr) return fail("finds no room in host memory");
    std::memcpy(at, stream.buffer, stream.record_bytes);
    if (stream.payload_bytes != 0) std::memcpy(at + payload_at, stream.payload(), stream.payload_bytes);
    out->source.walk = false;
    out->source.records = room_.offset(at);
    out->source.record_bytes = static_cast<uint32_t>(stream.record_bytes);
    out->source.payload = out->source.records + payload_at;
    out->source.payload_bytes = static_cast<uint32_t>(stream.payload_bytes);
    out->small = {out->source.records, stream.record_bytes};
    if (out->large.bytes == 0) out->large = {out->source.payload, stream.payload_bytes};
  }
  static MemoryWindow window(const Room& room) {
    return {reinterpret_cast<uintptr_t>(room.memory().data()), room.memory().size()};
  }

  void place_object(const schema::MessageType& type, const Message& object, PreparedMessage* out) {
    char* at = room_.take(out->object_bytes);
    if (at == nullptr) return fail("finds no room in host memory");
    Arena arena(heap_block_source(), at, out->object_bytes);
    if (out->large.bytes != 0) arena.set_borrowable(all_.data(), all_.size());
    Message* copy = message::deep_copy_into(type, object, &arena);
    if (copy == nullptr || !arena.only_initial_block()) return fail("does not go into one piece");
    out->source.walk = true;
    out->source.message_index = type.index;
    out->source.records = room_.offset(copy->drover_bytes());
    out->small = {room_.offset(at), arena.initial_used()};
    if (handover_.one_piece) out->source.record_bytes = static_cast<uint32_t>(out->small.bytes);
  }

  void fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }

  const HandoverOptions& handover_;
  const TargetFields& targets_;
  std::span<char> all_;
  Room room_, engine_room_;
  std::string error_;
};

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

std::string reencoded(const schema::MessageType& type, const std::string& wire) {
  Arena arena;
  auto* object = static_cast<Message*>(arena.allocate_zeroed(type.entry().object_size));
  *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
  DecodeResult decoded = decode(type, object, wire, arena);
  return decoded.ok() ? encoded_bytes(type, object) : "error: " + to_string(decoded);
}

std::string compare_object(const schema::MessageType& type, const std::string& expected, const Message* got) {
  std::string mine = encoded_bytes(type, got);
  if (mine == expected) return "";
  size_t at = 0;
  while (at < mine.size() && at < expected.size() && mine[at] == expected[at]) ++at;
  return "the engine's object is not the software decoder's: encoded, " + std::to_string(mine.size()) + " and " +
         std::to_string(expected.size()) + " bytes, the first difference at " + std::to_string(at);
}

PreparedHost prepare_host(const HandoverOptions& handover, const workload::Workload& workload,
                          const TargetFields& targets) {
  PreparedHost host;
  host.memory = std::make_unique<AlignedBytes>(kHostMemory + kEngineMemory + kPushed);
  host.host_bytes = kHostMemory;
  host.engine_bytes = kEngineMemory;
  Preparer preparer(handover, targets, &host);
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
    std::string error = preparer.place(message.type, object, &prepared);
    if (!error.empty()) {
      host.error = message.name + " " + error;
      return host;
    }
    host.messages.push_back(std::move(prepared));
  }
  return host;
}

}  // namespace drover::sim
