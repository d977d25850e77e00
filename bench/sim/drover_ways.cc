// Drover's codec for cpu_costs.
#include <emmintrin.h>

#include <cstring>

#include "bench/sim/cost_way.h"
#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "codec/preserialize/preserialize.h"
#include "codec/preserialize/preserialize_handlers.h"

namespace drover::bench {
namespace {

// Accepts copies and does not make them: their cost is a key of its own (cpu.copy_submit).
struct NobodyCopies {
  void copy(char* to, const char* from, size_t size) {
    asm volatile("" ::"r"(to), "r"(from), "r"(size));  // all three are there
  }
  void wait() {}
};

char* decode_block() {
  static std::vector<uint64_t> block((kWorkspace + 4096) / 8);
  return reinterpret_cast<char*>(block.data()) + place();
}

class DroverWays final : public CostWays {
 public:
  explicit DroverWays(const workload::WorkloadMessage& message)
      : type_(message.type),
        wire_(message.wire),
        room_(wire_.size() * 16 / sizeof(Line) + 1024),
        object_arena_(heap_block_source(), room_.data(), room_.size() * sizeof(Line)) {
    object_ = decode_into(&object_arena_);
    object_bytes_ = used(&object_arena_, reinterpret_cast<char*>(room_.data()));
  }

  std::vector<CostWay> ways() override {
    auto encodes = [this](TouchedMemory* memory) {
      memory->add(room_.data(), object_bytes_);
      memory->add(encode_workspace(), written_);
    };
    auto streams = [this](TouchedMemory* memory) {
      memory->add(room_.data(), object_bytes_);
      memory->add(stream_.buffer, stream_.record_bytes);
      memory->add(stream_.payload(), stream_.payload_bytes);
    };
    PreserializeOptions plain, referring;
    referring.host = {reinterpret_cast<uintptr_t>(room_.data()), room_.size() * sizeof(Line)};
    referring.reference_from = referring.payload_threshold;
    return {
        {"drover", "decode", [this] { return decode_once(); },
         [this](TouchedMemory* memory) {
           memory->add(wire_.data(), wire_.size());
           memory->add(decode_block(), decoded_bytes_);
         }},
        {"drover", "push", [this] { return push_once(); },
         [this](TouchedMemory* memory) {
           memory->add(room_.data(), object_bytes_);
           memory->add(encode_workspace(), object_bytes_);
         }},
        {"drover", "encode", [this] { return encode_once(); }, encodes},
        {"drover", "preserialize", [this, plain] { return preserialize_by<PlainCopy>(plain); }, streams},
        {"drover", "preserialize-offloaded", [this, plain] { return preserialize_by<NobodyCopies>(plain); }, streams},
        {"drover", "preserialize-references", [this, referring] { return preserialize_by<PlainCopy>(referring); },
         streams}};
  }
  size_t object_bytes() const override { return object_bytes_; }
  std::vector<std::string> encoded() override {
    std::string pieces, records;
    if (encode_once()) pieces.assign(encode_workspace(), written_);
    if (preserialize_by<PlainCopy>({})) {
      std::span<const char> payload(stream_.payload(), stream_.payload_bytes);
      if (finish_preserialized({stream_.buffer, stream_.record_bytes}, payload, {}, {}, &records) != StreamError::kOk) {
        records.clear();
      }
    }
    return {pieces, records};
  }

 private:
  struct alignas(64) Line {
    char bytes[64];
  };

  static size_t used(Arena* arena, const char* block) {
    return static_cast<size_t>(static_cast<const char*>(arena->allocate(0)) - block);
  }
  Message* decode_into(Arena* arena) const {
    auto* object = static_cast<Message*>(arena->allocate_zeroed(type_.entry().object_size));
    *object->drover_owner() = reinterpret_cast<OwnerWord>(arena);
    return decode(type_, object, wire_, *arena).ok() && arena->only_initial_block() ? object : nullptr;
  }
  bool decode_once() {
    Arena arena(heap_block_source(), decode_block(), kWorkspace);
    bool ok = decode_into(&arena) != nullptr;
    decoded_bytes_ = used(&arena, decode_block());
    return ok;
  }
  // The object in place, by non-temporal stores: as into a card, except that these end in memory.
  bool push_once() {
    const auto* from = reinterpret_cast<const char*>(room_.data());
    char* to = encode_workspace();
    for (size_t at = 0; at < object_bytes_; at += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(from + at)));
    }
    _mm_sfence();
    return true;
  }
  bool encode_once() {
    return encode_to_array(type_, object_, {}, &encoded_, encode_workspace(), kWorkspace, &written_) ==
           EncodeError::kOk;
  }
  template <typename Engine>
  bool preserialize_by(const PreserializeOptions& options) {
    Engine engine;
    stream_.buffer = encode_workspace();
    stream_.buffer_size = kWorkspace;
    Preserializer<TrustedMemory, Engine> preserializer(*type_.image, TrustedMemory(), engine, options, &stream_);
    bool ok = preserializer.run(object_->drover_bytes(), type_.entry());
    engine.wait();
    return ok;
  }

  schema::MessageType type_;
  std::string wire_;
  std::vector<Line> room_;  // the object to encode, whole
  Arena object_arena_;
  const Message* object_ = nullptr;
  size_t object_bytes_ = 0, decoded_bytes_ = 0, written_ = 0;
  Encoded encoded_;
  PreserializedOutput stream_;
};

}  // namespace

std::unique_ptr<CostWays> drover_ways(const workload::WorkloadMessage& message) {
  return std::make_unique<DroverWays>(message);
}

}  // namespace drover::bench
