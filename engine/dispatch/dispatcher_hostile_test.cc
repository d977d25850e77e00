// Hosts that scribble. Whatever lies in tx and in the responses ring, the engine neither crashes nor reads outside
// the region (run under ASan), every call is answered once, and other hosts do not notice.
#include <gtest/gtest.h>

#include <random>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

class HostileTest : public testing::Test {
 protected:
  HostileTest() : host_(engine_) {}

  // A call that the host took.
  Call& taken() {
    Call& call = engine_.call("victim");
    host_.take();
    EXPECT_EQ(host_.calls.size(), 1u);
    return call;
  }
  CompleteSlot completion() { return FakeHost::completion(host_.calls.back()); }
  void expect_internal(const Call& call, const char* text) {
    ASSERT_TRUE(engine_.transport.answered(call));
    const Answer& answer = engine_.transport.answer(call);
    EXPECT_EQ(answer.code, StatusCode::kInternal);
    EXPECT_NE(answer.message.find("the service's response could not be encoded: "), std::string::npos);
    EXPECT_NE(answer.message.find(text), std::string::npos) << answer.message;
    EXPECT_EQ(engine_.dispatcher.hosts(), 1u);
  }
  void expect_detached(const Call& call) {
    ASSERT_TRUE(engine_.pump_until([&] { return engine_.transport.answered(call); }));
    EXPECT_EQ(engine_.transport.answer(call).code, StatusCode::kUnavailable);
    ASSERT_TRUE(engine_.pump_until([&] { return engine_.dispatcher.hosts() == 0; }));
    EXPECT_EQ(engine_.events.failed.count(host_.id), 1u);
  }

  TestThread engine_;
  FakeHost host_;
};

TEST_F(HostileTest, AResponseOutsideTxCostsTheCall) {
  for (uint64_t offset : {uint64_t{8}, uint64_t{4096}, UINT64_MAX, UINT64_MAX - 7, uint64_t{1} << 63,
                          uint64_t{host_.region->size() - 8}, uint64_t{host_.region->rx_size() + 1}}) {
    Call& call = taken();
    CompleteSlot slot = completion();
    slot.response = offset;
    host_.push(0, to_slot(slot));
    engine_.pump();
    expect_internal(call, "not in tx");
    host_.calls.clear();
  }
}

TEST_F(HostileTest, ACompressionThatThereIsNotCostsTheCall) {
  Call& call = taken();
  CompleteSlot slot = completion();
  slot.response = host_.build(echo_wire("x"));
  slot.compression = 6;
  host_.push(0, to_slot(slot));
  engine_.pump();
  expect_internal(call, "a compression that there is not");
}

TEST_F(HostileTest, AStringThatLeadsOutOfTheRegionCostsTheCall) {
  Call& call = taken();
  uint64_t offset = host_.build(echo_wire("x"));
  uint32_t at = echo_type().find_field(1)->offset;
  int64_t far = int64_t{1} << 40;
  std::memcpy(host_.region->base() + offset + at, &far, 8);
  CompleteSlot slot = completion();
  slot.response = offset;
  host_.push(0, to_slot(slot));
  engine_.pump();
  expect_internal(call, "out_of_bounds");
}

TEST_F(HostileTest, AMessageInsideItselfCostsTheCall) {
  Call& call = taken();
  uint64_t offset = host_.build(echo_wire("", 4));
  uint32_t at = echo_type().find_field(4)->offset;
  int64_t self = -static_cast<int64_t>(at);
  std::memcpy(host_.region->base() + offset + at, &self, 8);
  CompleteSlot slot = completion();
  slot.response = offset;
  host_.push(0, to_slot(slot));
  engine_.pump();
  expect_internal(call, "depth_limit");
}

TEST_F(HostileTest, ATrailerThatCannotBeCostsTheCall) {
  uint64_t page = host_.build("") & ~uint64_t{kChunkSize - 1};
  auto complete_with = [&](uint64_t trailer) -> Call& {
    Call& call = taken();
    CompleteSlot slot = completion();
    slot.status = 2;
    slot.trailer = trailer;
    host_.push(0, to_slot(slot));
    engine_.pump();
    host_.calls.clear();
    return call;
  };
  expect_internal(complete_with(64), "outside tx");
  expect_internal(complete_with(UINT64_MAX), "outside tx");
  auto* trailer = new (host_.region->base() + page + 2048) CallTrailer;
  trailer->initial_count = 0xffffffff;
  trailer->trailing_count = 2;
  expect_internal(complete_with(page + 2048), "256");
  trailer->initial_count = 1;
  trailer->trailing_count = 0;
  auto* pairs = new (trailer + 1) MetadataPair[2];
  pairs[0].key.borrow("evil", 4, false);  // far away, in this process's own memory
  expect_internal(complete_with(page + 2048), "outside the region");
  char* text = host_.region->base() + page + 3000;
  for (const char* name : {"grpc-status", "Upper", ":path", "content-type", "a b", "te"}) {
    std::strcpy(text, name);
    pairs[0].key.borrow(text, std::strlen(name), false);
    expect_internal(complete_with(page + 2048), "a metadata name");
  }
  std::strcpy(text, "key");
  pairs[0].key.borrow(text, 3, false);
  std::strcpy(text + 8, "a\r\nb");
  pairs[0].value.borrow(text + 8, 4, false);
  expect_internal(complete_with(page + 2048), "a metadata value");
}

TEST_F(HostileTest, ACallThatTheWorkerDoesNotHaveDetachesTheHost) {
  Call& call = taken();
  CompleteSlot slot = completion();
  slot.call += 1;
  host_.push(0, to_slot(slot));
  engine_.pump();
  expect_detached(call);
}

TEST_F(HostileTest, AnOldGenerationDetachesTheHost) {
  Call& call = taken();
  CompleteSlot slot = completion();
  slot.generation -= 1;
  host_.push(0, to_slot(slot));
  engine_.pump();
  expect_detached(call);
}

TEST_F(HostileTest, CompletingTwiceAnswersOnceAndDetachesTheHost) {
  Call& call = taken();
  CompleteSlot slot = completion();
  slot.flags = 0;
  host_.push(0, to_slot(slot));
  host_.push(0, to_slot(slot));
  engine_.pump();
  ASSERT_TRUE(engine_.transport.answered(call));
  ASSERT_TRUE(engine_.pump_until([&] { return engine_.dispatcher.hosts() == 0; }));
  EXPECT_EQ(engine_.dispatcher.calls(), 0u);
}

TEST_F(HostileTest, ASlotOfAnUnknownTypeDetachesTheHost) {
  Call& call = taken();
  Slot slot;
  slot.type = 77;
  host_.push(0, slot);
  engine_.pump();
  expect_detached(call);
}

TEST_F(HostileTest, ARingPositionThatCannotBeDetachesTheHost) {
  Call& call = taken();
  auto* position = reinterpret_cast<ConsumerPosition*>(host_.region->base() + host_.layout->requests_position(0));
  position->position = uint64_t{1} << 60;
  for (int i = 0; i < 100; ++i) engine_.call("fill the ring");
  engine_.pump();
  expect_detached(call);
}

// Random bytes over everything that the host may write, while a good host serves on.
TEST(HostileRandom, ScribblingOverTxAndRingsHurtsNobodyElse) {
  TestThread engine;
  FakeHost good(engine, {.paths = {"/test.Good/Say"}, .addresses = {"good:1"}});
  std::mt19937_64 random(20261121);
  for (int round = 0; round < 150; ++round) {
    FakeHost bad(engine, {.workers = 2, .addresses = {"evil:2"}});
    std::vector<Call*> victims;
    for (int i = 0; i < 8; ++i) {
      Call& call = engine.begin("/test.Echo/Say", 0, 2);
      ASSERT_EQ(engine.opened.code, StatusCode::kOk);
      engine.dispatcher.message(call, echo_wire("victim"), More::kLast);
      victims.push_back(&call);
    }
    bad.take();
    for (auto& call : bad.calls) {
      CompleteSlot slot = FakeHost::completion(call);
      slot.response = bad.build(echo_wire("some text") + echo_wire("abc", 2) + echo_wire(echo_wire("n"), 4) +
                                echo_wire(echo_wire("i"), 5));
      slot.status = random() % 4 == 0 ? static_cast<uint32_t>(random()) : 0;
      if (random() % 4 == 0) slot.trailer = bad.region->rx_size() + random() % bad.region->tx_size();
      if (random() % 16 == 0) slot.response = random();
      if (random() % 32 == 0) slot.call = static_cast<uint32_t>(random() % 16);
      // Bytes of the object and of what it leads to.
      if (slot.response < bad.region->size() - 4096 && slot.response > bad.region->rx_size()) {
        for (uint64_t n = random() % 12; n != 0; --n) {
          bad.region->base()[slot.response + random() % 512] = static_cast<char>(random());
        }
      }
      bad.push(call.worker, to_slot(slot));
    }
    for (uint64_t n = random() % 3; n != 0; --n) {
      Area ring = bad.layout->responses_ring(static_cast<uint32_t>(random() % 2));
      bad.region->base()[ring.offset + random() % (16 * kSlotSize)] = static_cast<char>(random());
    }
    Call& fine = engine.begin("/test.Good/Say", 0, 1);
    engine.dispatcher.message(fine, echo_wire("fine"), More::kLast);
    engine.pump();
    good.serve();
    engine.pump();
    ASSERT_TRUE(engine.transport.answered(fine));
    EXPECT_EQ(engine.transport.answer(fine).body, echo_wire("fine"));
    bad.die();
    ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 1; }));
    for (Call* call : victims) EXPECT_TRUE(engine.transport.answered(*call));
  }
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

}  // namespace
}  // namespace drover::engine
