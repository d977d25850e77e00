// Fuzz target: a peer that writes anything at any time into both shared words of a ring pair (its position and its
// slots). The ends must stay inside the ring, report what cannot be, and never hand out a slot that changes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "channel/ring.h"

namespace {

constexpr uint32_t kCapacity = 16;

struct Input {
  const uint8_t* data;
  size_t size;
  template <typename T>
  bool take(T* value) {
    if (size < sizeof *value) return false;
    std::memcpy(value, data, sizeof *value);
    data += sizeof *value;
    size -= sizeof *value;
    return true;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace drover;
  // On the heap, each by itself, so that AddressSanitizer sees any step outside.
  std::unique_ptr<Slot[]> out_slots(new Slot[kCapacity]), in_slots(new Slot[kCapacity]);
  auto out_position = std::make_unique<ConsumerPosition>();
  auto in_position = std::make_unique<ConsumerPosition>();
  RingProducer producer(out_slots.get(), kCapacity, out_position.get());
  RingConsumer consumer(in_slots.get(), kCapacity, in_position.get());
  Input input{data, size};
  uint8_t step;
  while (input.take(&step)) {
    Slot slot;
    switch (step % 5) {
      case 0: {
        uint64_t before = producer.pushed();
        PushResult result = producer.try_push(slot);
        if (producer.pushed() != before + (result == PushResult::kOk ? 1 : 0)) std::abort();
        if (producer.depth() > kCapacity) std::abort();
        break;
      }
      case 1: {
        uint64_t before = consumer.popped();
        if (consumer.try_pop(slot) != (consumer.popped() == before + 1)) std::abort();
        break;
      }
      case 2: {
        uint64_t position;
        if (input.take(&position)) out_position->position = step & 0x80 ? position : position % (2 * kCapacity);
        break;
      }
      case 3: {
        uint8_t at;
        if (input.take(&at) && input.take(&slot)) in_slots[at % kCapacity] = slot;
        break;
      }
      case 4:
        if (producer.room(step) > kCapacity) std::abort();
        break;
    }
  }
  return 0;
}
