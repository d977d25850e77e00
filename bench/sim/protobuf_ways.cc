// protobuf C++'s generated classes for cpu_costs: on the heap (protobuf's default), and on an arena with a reused first
// block.
#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <optional>

#include "bench/sim/allocation_log.h"
#include "bench/sim/cost_way.h"

namespace drover::bench {
namespace {

using google::protobuf::Arena;
using google::protobuf::ArenaOptions;
using google::protobuf::Message;

ArenaOptions block_options(char* block, size_t size) {
  ArenaOptions options;
  options.initial_block = block;
  options.initial_block_size = size;
  return options;
}

// One for all messages: an arena keeps its own state in its first block.
char* parse_block() {
  static std::vector<char> block(kWorkspace + 4096);
  return block.data() + place();
}
Arena& parse_arena() {
  static std::optional<Arena> arena;
  static char* block = nullptr;
  if (block != parse_block()) {
    block = parse_block();
    arena.emplace(block_options(block, kWorkspace));
  }
  return *arena;
}

class ProtobufWays final : public CostWays {
 public:
  ProtobufWays(const Message* prototype, const std::string& wire)
      : prototype_(prototype),
        wire_(wire),
        room_(wire.size() * 16 + (64 << 10)),
        object_arena_(block_options(room_.data(), room_.size())) {
    on_arena_ = prototype->New(&object_arena_);
    {
      AllocationLog log(&heap_memory_);
      on_heap_.reset(prototype->New());
      parsed_ = on_heap_->ParseFromString(wire_);
    }
    AllocationLog log(&arena_memory_);  // std::string's bytes are on the heap in either case
    parsed_ = parsed_ && on_arena_->ParseFromString(wire_);
    arena_memory_.add(room_.data(), object_arena_.SpaceUsed());
  }

  std::vector<CostWay> ways() override {
    return {{"protobuf", "decode", [this] { return parse_on_heap(); },
             [this](TouchedMemory* memory) { decode_touches(false, memory); }},
            {"protobuf", "encode", [this] { return serialize(*on_heap_); },
             [this](TouchedMemory* memory) { encode_touches(heap_memory_, memory); }},
            {"protobuf-arena", "decode", [this] { return parse_on_arena(); },
             [this](TouchedMemory* memory) { decode_touches(true, memory); }},
            {"protobuf-arena", "encode", [this] { return serialize(*on_arena_); },
             [this](TouchedMemory* memory) { encode_touches(arena_memory_, memory); }}};
  }
  std::vector<std::string> encoded() override {
    std::vector<std::string> results;
    for (const Message* message :
         {static_cast<const Message*>(on_heap_.get()), static_cast<const Message*>(on_arena_)}) {
      results.push_back(parsed_ && serialize(*message) ? std::string(encode_workspace(), message->ByteSizeLong()) : "");
    }
    return results;
  }

 private:
  bool parse_on_heap() {
    std::unique_ptr<Message> message(prototype_->New());
    return message->ParseFromArray(wire_.data(), static_cast<int>(wire_.size()));
  }
  bool parse_on_arena() {
    parse_arena().Reset();
    return prototype_->New(&parse_arena())->ParseFromArray(wire_.data(), static_cast<int>(wire_.size()));
  }
  bool serialize(const Message& message) {
    return message.SerializeToArray(encode_workspace(), static_cast<int>(kWorkspace));
  }
  // The heap returns freed memory: a few runs reveal most of what the next one gets.
  void decode_touches(bool arena, TouchedMemory* memory) {
    memory->add(wire_.data(), wire_.size());
    for (int i = 0; i < 3; ++i) {
      AllocationLog log(memory);
      static_cast<void>(arena ? parse_on_arena() : parse_on_heap());
    }
    if (arena) memory->add(parse_block(), parse_arena().SpaceUsed());
  }
  void encode_touches(const TouchedMemory& object, TouchedMemory* memory) const {
    memory->add(object);
    memory->add(encode_workspace(), wire_.size());
  }

  const Message* prototype_;
  std::string wire_;
  std::vector<char> room_;
  Arena object_arena_;
  std::unique_ptr<Message> on_heap_;
  Message* on_arena_ = nullptr;
  TouchedMemory heap_memory_, arena_memory_;
  bool parsed_ = false;
};

}  // namespace

std::unique_ptr<CostWays> protobuf_ways(const std::string& type_name, const std::string& wire) {
  const auto* descriptor = google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(type_name);
  if (descriptor == nullptr) return nullptr;
  return std::make_unique<ProtobufWays>(google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor),
                                        wire);
}

}  // namespace drover::bench
