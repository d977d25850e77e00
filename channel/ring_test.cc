#include "channel/ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "channel/doorbell.h"

namespace drover {
namespace {

// A ring in plain memory, both ends in this process.
struct Ring {
  explicit Ring(uint32_t capacity)
      : slots(new Slot[capacity]),
        position(new ConsumerPosition{}),
        producer(slots.get(), capacity, position.get()),
        consumer(slots.get(), capacity, position.get()) {}
  std::unique_ptr<Slot[]> slots;
  std::unique_ptr<ConsumerPosition> position;
  RingProducer producer;
  RingConsumer consumer;
};

// A slot whose every byte follows from `number`, so that a torn or mixed one shows.
Slot numbered(uint64_t number) {
  Slot slot;
  slot.type = static_cast<uint8_t>(1 + number % 4);
  slot.flags = static_cast<uint8_t>(number % 251);
  for (size_t i = 0; i < sizeof slot.body; ++i) slot.body[i] = static_cast<uint8_t>(number * 31 + i);
  std::memcpy(slot.body + 2, &number, sizeof number);
  return slot;
}

bool same(const Slot& a, const Slot& b) { return std::memcmp(&a.type, &b.type, kSlotSize - sizeof a.sequence) == 0; }

TEST(Ring, SlotsComeOutInOrderAndUnchanged) {
  Ring ring(16);
  Slot out;
  EXPECT_FALSE(ring.consumer.ready());
  EXPECT_FALSE(ring.consumer.try_pop(out));
  for (uint64_t i = 0; i < 10; ++i) ASSERT_EQ(ring.producer.try_push(numbered(i)), PushResult::kOk);
  for (uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(ring.consumer.ready());
    ASSERT_TRUE(ring.consumer.try_pop(out));
    EXPECT_TRUE(same(out, numbered(i))) << i;
  }
  EXPECT_FALSE(ring.consumer.try_pop(out));
}

TEST(Ring, ItWrapsManyTimes) {
  for (uint32_t capacity : {16u, 64u, 1024u}) {
    Ring ring(capacity);
    Slot out;
    uint64_t in = 0, taken = 0;
    while (taken < 20ull * capacity) {
      uint64_t batch = 1 + in % capacity;
      for (uint64_t i = 0; i < batch; ++i) in += ring.producer.try_push(numbered(in)) == PushResult::kOk ? 1 : 0;
      while (ring.consumer.try_pop(out)) ASSERT_TRUE(same(out, numbered(taken++)));
      ASSERT_EQ(in, taken);
    }
  }
}

TEST(Ring, AFullRingRefusesUntilTheConsumerGoesOn) {
  Ring ring(16);
  for (uint64_t i = 0; i < 16; ++i) ASSERT_EQ(ring.producer.try_push(numbered(i)), PushResult::kOk);
  EXPECT_TRUE(ring.producer.full());
  EXPECT_EQ(ring.producer.try_push(numbered(16)), PushResult::kFull);
  EXPECT_EQ(ring.producer.depth(), 16u);
  Slot out;
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(ring.consumer.try_pop(out));  // a quarter: it publishes
  EXPECT_EQ(ring.producer.room(), 4u);
  for (uint64_t i = 16; i < 20; ++i) ASSERT_EQ(ring.producer.try_push(numbered(i)), PushResult::kOk);
  EXPECT_EQ(ring.producer.try_push(numbered(20)), PushResult::kFull);
  for (uint64_t i = 4; i < 20; ++i) {
    ASSERT_TRUE(ring.consumer.try_pop(out));
    EXPECT_TRUE(same(out, numbered(i)));  // what was refused overwrote nothing
  }
  EXPECT_FALSE(ring.consumer.try_pop(out));
}

TEST(Ring, ADrainedRingAlwaysHasRoomAgain) {
  // However few slots were in it: progress must not depend on when the consumer publishes.
  Ring ring(16);
  Slot out;
  for (uint64_t i = 0; i < 1000; ++i) {
    for (int k = 0; k < 12; ++k) ASSERT_EQ(ring.producer.try_push(numbered(i)), PushResult::kOk);
    while (ring.consumer.try_pop(out)) {
    }
  }
}

TEST(Ring, AConsumerPositionBeyondTheHeadIsReported) {
  Ring ring(16);
  for (uint64_t i = 0; i < 16; ++i) ASSERT_EQ(ring.producer.try_push(numbered(i)), PushResult::kOk);
  for (uint64_t lie : {uint64_t{17}, uint64_t{1} << 32, UINT64_MAX}) {
    ring.position->position = lie;
    EXPECT_EQ(ring.producer.try_push(numbered(16)), PushResult::kPeerInvalid);
    EXPECT_EQ(ring.producer.room(), 0u);
  }
}

TEST(Ring, AConsumerPositionThatGoesBackIsReported) {
  Ring ring(16);
  for (uint64_t i = 0; i < 16; ++i) ASSERT_EQ(ring.producer.try_push(numbered(i)), PushResult::kOk);
  ring.position->position = 8;
  for (uint64_t i = 0; i < 8; ++i) ASSERT_EQ(ring.producer.try_push(numbered(i)), PushResult::kOk);
  ring.position->position = 7;
  EXPECT_EQ(ring.producer.try_push(numbered(16)), PushResult::kPeerInvalid);
  ring.position->position = 8;
  EXPECT_EQ(ring.producer.try_push(numbered(16)), PushResult::kFull);
}

TEST(Ring, APoppedSlotIsPrivate) {
  Ring ring(16);
  ASSERT_EQ(ring.producer.try_push(numbered(1)), PushResult::kOk);
  Slot out;
  ASSERT_TRUE(ring.consumer.try_pop(out));
  std::memset(static_cast<void*>(ring.slots.get()), 0xff, 16 * sizeof(Slot));  // a hostile producer
  EXPECT_TRUE(same(out, numbered(1)));
  EXPECT_FALSE(ring.consumer.ready());  // 0xffffffff is not the next sequence
}

TEST(Ring, SequencesOfOtherLapsAreNotValid) {
  Ring ring(16);
  Slot out;
  for (uint32_t wrong : {0u, 2u, 3u, UINT32_MAX}) {
    ring.slots[0].sequence = wrong;
    EXPECT_FALSE(ring.consumer.ready());
    EXPECT_FALSE(ring.consumer.try_pop(out));
  }
}

TEST(Ring, TypedSlotsKeepTheirFields) {
  Ring ring(16);
  CallSlot call{};
  call.type = static_cast<uint8_t>(RequestSlotType::kCall);
  call.method = 7;
  call.call = 0xdeadbeef;
  call.request = 0x123456789a;
  call.deadline_ns = INT64_MAX;
  call.rx_chunks = 3;
  ASSERT_EQ(ring.producer.try_push(call), PushResult::kOk);
  Slot out;
  ASSERT_TRUE(ring.consumer.try_pop(out));
  auto seen = slot_as<CallSlot>(out);
  EXPECT_EQ(seen.type, call.type);
  EXPECT_EQ(seen.method, 7);
  EXPECT_EQ(seen.call, 0xdeadbeef);
  EXPECT_EQ(seen.request, 0x123456789au);
  EXPECT_EQ(seen.deadline_ns, INT64_MAX);
  EXPECT_EQ(seen.rx_chunks, 3u);
}

TEST(Ring, TwoThreadsSeeEverySlotOnceAndWhole) {
  Ring ring(64);
  constexpr uint64_t kSlots = 200'000;
  std::thread producer([&] {
    for (uint64_t i = 0; i < kSlots;) {
      PushResult result = ring.producer.try_push(numbered(i));
      ASSERT_NE(result, PushResult::kPeerInvalid);
      if (result == PushResult::kOk) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  Slot out;
  for (uint64_t i = 0; i < kSlots;) {
    if (!ring.consumer.try_pop(out)) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_TRUE(same(out, numbered(i))) << i;
    ++i;
  }
  producer.join();
  EXPECT_FALSE(ring.consumer.ready());
}

TEST(Ring, AChannelIsTheSameRingFromBothSidesOfARegion) {
  std::string wrong;
  auto layout = RegionLayout::compute({2, 3, 16, 4096, 4096}, &wrong);
  ASSERT_TRUE(layout) << wrong;
  RegionError error;
  auto engine = Region::create(layout->sizes(), &error);
  ASSERT_TRUE(engine) << error.message;
  ASSERT_TRUE(layout->write(*engine));
  auto host = Region::attach(UniqueFd(::dup(engine->rx_fd())), UniqueFd(::dup(engine->tx_fd())), &error);
  ASSERT_TRUE(host) << error.message;
  auto host_layout = RegionLayout::read(*host, &wrong);
  ASSERT_TRUE(host_layout) << wrong;

  std::vector<EngineChannel> engine_side;
  std::vector<HostChannel> host_side;
  for (uint32_t i = 0; i < layout->channels(); ++i) {
    engine_side.push_back(EngineChannel::open(*engine, *layout, i));
    host_side.push_back(HostChannel::open(*host, *host_layout, i));
  }
  Slot out;
  // More than four laps each way on every channel, so that positions cross too.
  for (uint64_t round = 0; round < 100; ++round) {
    for (uint32_t i = 0; i < layout->channels(); ++i) {
      ASSERT_EQ(engine_side[i].requests.try_push(numbered(round * 10 + i)), PushResult::kOk);
    }
    for (uint32_t i = 0; i < layout->channels(); ++i) {
      ASSERT_TRUE(host_side[i].requests.try_pop(out));
      ASSERT_TRUE(same(out, numbered(round * 10 + i)));
      ASSERT_FALSE(host_side[i].requests.ready());
      ASSERT_EQ(host_side[i].responses.try_push(out), PushResult::kOk);
    }
    for (uint32_t i = 0; i < layout->channels(); ++i) {
      ASSERT_TRUE(engine_side[i].responses.try_pop(out));
      ASSERT_TRUE(same(out, numbered(round * 10 + i)));
    }
  }
}

}  // namespace
}  // namespace drover
