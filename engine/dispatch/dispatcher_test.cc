// The dispatcher with working hosts: what a call's request and answer look like on both sides, and how it waits.
#include "engine/dispatch/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/epoll.h>

#include <set>
#include <thread>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(Dispatcher, ARequestReachesTheHostAsAnObjectAndItsAnswerGoesOutAsBytes) {
  TestThread engine;
  FakeHost host(engine);
  Call& call = engine.call("hello");
  host.take();
  ASSERT_EQ(host.calls.size(), 1u);
  EXPECT_EQ(host.calls[0].wire, echo_wire("hello"));
  host.answer(host.calls[0], echo_wire("good day"), 7);
  engine.pump();
  ASSERT_TRUE(engine.transport.answered(call));
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kOk);
  EXPECT_TRUE(engine.transport.answer(call).has_body);
  EXPECT_EQ(engine.transport.answer(call).body, echo_wire("good day"));
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST(Dispatcher, MetadataAuthorityPeerAndDeadlineTravelWithTheCall) {
  TestThread engine;
  FakeHost host(engine);
  Call& call = engine.call("x", 1000 * kMs);
  host.take();
  ASSERT_EQ(host.calls.size(), 1u);
  const CallSlot& slot = host.calls[0].slot;
  EXPECT_EQ(slot.deadline_ns, call.deadline_ns);
  const auto* metadata = reinterpret_cast<const CallMetadata*>(host.region->at(slot.metadata, sizeof(CallMetadata)));
  ASSERT_NE(metadata, nullptr);
  EXPECT_EQ(metadata->authority, "test.example");
  EXPECT_STREQ(metadata->peer.c_str(), "ipv4:127.0.0.1:4711");
  ASSERT_EQ(metadata->count, 2u);
  const auto* pairs = reinterpret_cast<const MetadataPair*>(metadata + 1);
  EXPECT_EQ(pairs[0].key, "user-agent");
  EXPECT_EQ(pairs[0].value, "test");
  EXPECT_EQ(pairs[1].key, "key-bin");
  EXPECT_EQ(pairs[1].value, std::string_view("\0\1", 2));
}

TEST(Dispatcher, AnUnknownMethodOrServiceIsUnimplemented) {
  TestThread engine;
  FakeHost host(engine);
  engine.begin("/test.Echo/Shout");
  EXPECT_EQ(engine.opened.code, StatusCode::kUnimplemented);
  EXPECT_EQ(engine.opened.message, "unknown method Shout for service test.Echo");
  engine.begin("/test.Other/Say");
  EXPECT_EQ(engine.opened.message, "unknown service test.Other");
  engine.begin("/test.Echo/Say", 0, 99);
  EXPECT_EQ(engine.opened.code, StatusCode::kUnimplemented);
  engine.begin("");
  EXPECT_EQ(engine.opened.code, StatusCode::kUnimplemented);
}

TEST(Dispatcher, ARequestThatDoesNotDecodeIsInternalAndSaysWhy) {
  TestThread engine;
  FakeHost host(engine);
  Call& call = engine.begin();
  engine.dispatcher.message(call, "\x0a\x05hi", More::kLast);
  ASSERT_TRUE(engine.transport.answered(call));
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kInternal);
  EXPECT_NE(engine.transport.answer(call).message.find("could not be decoded"), std::string::npos);
  host.take();
  EXPECT_TRUE(host.calls.empty());
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST(Dispatcher, AStatusWithMessageAndMetadataComesThrough) {
  TestThread engine;
  FakeHost host(engine);
  Call& call = engine.call("x");
  host.take();
  Arena arena(heap_block_source());
  uint64_t offset = host.build(echo_wire("this chunk's second half becomes the trailer"));
  // Strings are self-relative: the record is built in place.
  char* memory = host.region->base() + (offset & ~uint64_t{kChunkSize - 1}) + 2048;
  auto* trailer = new (memory) CallTrailer;
  trailer->initial_count = 1;
  trailer->trailing_count = 1;
  auto* pairs = new (memory + sizeof(CallTrailer)) MetadataPair[2];
  char* text = memory + 512;
  auto put = [&](String& at, std::string_view value) {
    std::memcpy(text, value.data(), value.size());
    at.borrow(text, value.size(), false);
    text += value.size();
  };
  put(trailer->message, "no such thing: \xc3\xa4");
  put(pairs[0].key, "first");
  put(pairs[0].value, "1");
  put(pairs[1].key, "second-bin");
  put(pairs[1].value, std::string_view("\0\xff", 2));
  CompleteSlot slot = FakeHost::completion(host.calls[0]);
  slot.status = 5;
  slot.trailer = host.region->offset_of(memory);
  host.push(0, to_slot(slot));
  engine.pump();
  const Answer& answer = engine.transport.answer(call);
  EXPECT_EQ(answer.code, StatusCode::kNotFound);
  EXPECT_EQ(answer.message, "no such thing: \xc3\xa4");
  EXPECT_FALSE(answer.has_body);
  EXPECT_EQ(answer.initial, (std::vector<Header>{{"first", "1"}}));
  EXPECT_EQ(answer.trailing, (std::vector<Header>{{"second-bin", std::string("\0\xff", 2)}}));
}

TEST(Dispatcher, AStatusBeyondGrpcsIsUnknown) {
  TestThread engine;
  FakeHost host(engine);
  Call& call = engine.call("x");
  host.take();
  CompleteSlot slot = FakeHost::completion(host.calls[0]);
  slot.status = 0x80000001;
  host.push(0, to_slot(slot));
  engine.pump();
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kUnknown);
}

TEST(Dispatcher, RequestsThatArriveInPiecesAreDecodedWhereTheyLie) {
  TestThread engine;
  FakeHost host(engine);
  std::string text(100'000, 'q');
  std::string wire = echo_wire(text) + std::string("\x18\x05", 2);
  Call& call = engine.begin();
  char* buffer = engine.dispatcher.message_buffer(call, wire.size(), 0).data();
  std::memcpy(buffer, wire.data(), wire.size());
  engine.dispatcher.message(call, {}, More::kLast);
  host.take();
  ASSERT_EQ(host.calls.size(), 1u);
  EXPECT_EQ(host.calls[0].wire, wire);
  EXPECT_GE(host.calls[0].slot.rx_chunks, 25u);  // the run worth borrowing from is the wire's
  host.answer(host.calls[0], wire);
  engine.pump();
  EXPECT_EQ(engine.transport.answer(call).body, wire);
}

TEST(Dispatcher, ALargeResponseKeepsItsMemoryUntilTheTransportHasSentIt) {
  TestThread engine;
  engine.transport.send_at_once = false;
  FakeHost host(engine);
  Call& call = engine.call("x");
  host.take();
  host.answer(host.calls[0], echo_wire(std::string(50'000, 'r')), 42);
  engine.pump();
  ASSERT_TRUE(engine.transport.answered(call));
  std::this_thread::sleep_for(std::chrono::milliseconds(12));
  engine.pump();
  host.take();
  EXPECT_TRUE(host.released.empty());
  engine.dispatcher.reply_sent(call);
  EXPECT_TRUE(engine.pump_until([&] { return host.take(), !host.released.empty(); }));
  EXPECT_EQ(host.released, std::vector<uint32_t>{42});
}

TEST(Dispatcher, EveryAnswerIsReleasedOnceInBatches) {
  TestThread engine;
  FakeHost host(engine);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 30; ++i) engine.call("x");
    host.serve();
    engine.pump();
  }
  EXPECT_TRUE(engine.pump_until([&] { return host.take(), host.released.size() == 600; }));
  EXPECT_EQ(std::set<uint32_t>(host.released.begin(), host.released.end()).size(), 600u);
}

TEST(Dispatcher, RequestMemoryIsFreeOnlyWhenTheHostIsFinished) {
  TestThread engine;
  FakeHost host(engine, {.rx_bytes = 16 * kChunkSize});
  for (int i = 0; i < 100; ++i) {
    Call& call = engine.call("x");
    host.take();
    ASSERT_EQ(host.calls.size(), 1u) << i;
    CompleteSlot slot = FakeHost::completion(host.calls[0]);
    slot.flags = 0;
    host.push(0, to_slot(slot));
    engine.pump();
    ASSERT_TRUE(engine.transport.answered(call));
    EXPECT_EQ(engine.dispatcher.calls(), 1u);
    FinishedSlot finished{};
    finished.type = static_cast<uint8_t>(ResponseSlotType::kFinished);
    finished.call = slot.call;
    finished.generation = slot.generation;
    host.push(0, to_slot(finished));
    engine.pump();
    EXPECT_EQ(engine.dispatcher.calls(), 0u);
    host.calls.clear();
  }
}

TEST(Dispatcher, AFullRegionMakesCallsWaitAndNoneIsLost) {
  TestThread engine;
  FakeHost host(engine, {.rx_bytes = 16 * kChunkSize, .ring_slots = 1024});
  std::vector<Call*> calls;
  AccountRef clients[4];  // one alone may not fill it
  for (AccountRef& client : clients) client = engine.ledger.open_connection(std::to_string(&client - clients));
  for (int i = 0; i < 100; ++i) {
    engine.client = clients[i % 4];
    calls.push_back(&engine.call("call " + std::to_string(i)));
  }
  EXPECT_EQ(engine.dispatcher.waiting_calls(), 84u);
  for (int i = 0; i < 50 && engine.transport.answers.size() < 100; ++i) {
    host.serve();
    engine.pump();
  }
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(engine.transport.answered(*calls[i])) << i;
    EXPECT_EQ(engine.transport.answer(*calls[i]).body, echo_wire("call " + std::to_string(i)));
  }
}

TEST(Dispatcher, AFullRingMakesCallsWaitInOrder) {
  TestThread engine;
  FakeHost host(engine, {.ring_slots = 16});
  std::vector<Call*> calls;
  for (int i = 0; i < 60; ++i) calls.push_back(&engine.call(std::to_string(i)));
  EXPECT_EQ(engine.dispatcher.waiting_calls(), 44u);
  std::string order;
  EXPECT_TRUE(engine.pump_until([&] {
    host.take();
    for (int i = 0; i < 8 && !host.calls.empty(); ++i) {  // its own ring is no longer than the engine's
      order += host.calls.front().wire.substr(2) + " ";
      host.answer(host.calls.front(), "");
      host.calls.pop_front();
    }
    return engine.transport.answers.size() == 60;
  }));
  std::string expected;
  for (int i = 0; i < 60; ++i) expected += std::to_string(i) + " ";
  EXPECT_EQ(order, expected);
}

TEST(Dispatcher, AHostThatMayNotBeThereIsLetGoOfAndAskingAgainDoesNoHarm) {
  TestThread engine;
  FakeHost host(engine);
  engine.transport.send_at_once = false;
  Call& call = engine.call("x");
  host.take();
  host.answer(host.calls[0], echo_wire(std::string(50'000, 'r')), 1);
  engine.pump();
  engine.dispatcher.detach(host.id);
  engine.dispatcher.detach(host.id);
  EXPECT_EQ(engine.events.let_go, 0) << "a reply refers to its memory";
  engine.dispatcher.abandon(call);
  EXPECT_EQ(engine.events.let_go, 1);
  engine.dispatcher.detach(4711);  // attaching it may have failed
  EXPECT_EQ(engine.events.let_go, 2);
}

TEST(Dispatcher, TheTransportHearsWhenACallThatWaitedStarts) {
  TestThread engine;
  engine.dispatcher.expect(1, {ExpectedMethod{"/test.Echo/Say"}});
  Call& waiting = engine.call("early");
  EXPECT_TRUE(engine.dispatcher.waits(waiting));
  FakeHost host(engine);
  Call& direct = engine.call("late");
  engine.pump();
  EXPECT_FALSE(engine.dispatcher.waits(waiting));
  EXPECT_FALSE(engine.dispatcher.waits(direct));
  EXPECT_THAT(engine.transport.begun, testing::Contains(&waiting));
}

TEST(Dispatcher, ACallThatFindsNoRoomInTimeEndsInResourceExhausted) {
  DispatchOptions options;
  options.wait_ns = 20 * kMs;
  TestThread engine(options);
  FakeHost host(engine, {.rx_bytes = 4 * kChunkSize});
  for (int i = 0; i < 4; ++i) engine.call("fill");
  Call& call = engine.call("late");
  EXPECT_FALSE(engine.transport.answered(call));
  EXPECT_TRUE(engine.dispatcher.waits(call));
  EXPECT_TRUE(engine.pump_until([&] { return engine.transport.answered(call); }));
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kResourceExhausted);
}

TEST(Dispatcher, TooManyBytesOfRequestsBeingReceivedAreRefused) {
  DispatchOptions options;
  options.max_waiting_bytes = 100'000;
  TestThread engine(options);
  FakeHost host(engine, {.rx_bytes = 4 * kChunkSize});
  Call& one = engine.begin();
  Call& two = engine.begin();
  Call& three = engine.begin();
  auto take_all = [&](Call& call) {
    std::span<char> got;
    for (size_t have = 0; have < 40'000; have = got.size()) {
      got = engine.dispatcher.message_buffer(call, 40'000, have);
      if (got.empty()) return false;
    }
    return true;
  };
  ASSERT_TRUE(take_all(one));
  ASSERT_TRUE(take_all(two));
  EXPECT_FALSE(engine.dispatcher.waits(one));
  EXPECT_FALSE(take_all(three));
  engine.dispatcher.abandon(one);
  engine.dispatcher.abandon(three);
  EXPECT_TRUE(take_all(engine.begin()));
}

TEST(Dispatcher, AForgottenListenerLeavesNoRoutesAndItsConnectionsHearUnavailable) {
  DispatchOptions options;
  options.wait_ns = 20 * kMs;
  TestThread engine(options);
  auto paths = std::make_shared<const std::vector<ExpectedMethod>>(1, ExpectedMethod{"/test.Echo/Say"});
  engine.dispatcher.expect(1, paths);
  engine.dispatcher.expect(2, paths);
  Call& waiting = engine.call("early");
  EXPECT_EQ(engine.dispatcher.waiting_calls(), 1u);
  engine.dispatcher.forget_listener(1);
  EXPECT_EQ(engine.dispatcher.routes(), 1u);
  engine.begin();
  EXPECT_EQ(engine.opened.code, StatusCode::kUnavailable);
  engine.begin("/test.Echo/Say", 0, 2);
  EXPECT_EQ(engine.opened.code, StatusCode::kOk);
  EXPECT_TRUE(engine.pump_until([&] { return engine.transport.answered(waiting); }));
  EXPECT_EQ(engine.transport.answer(waiting).code, StatusCode::kUnavailable);
  engine.dispatcher.forget_listener(2);
  EXPECT_EQ(engine.dispatcher.routes(), 0u);
}

TEST(Dispatcher, ARequestThatCanNeverFitIsRefusedAtOnce) {
  TestThread engine;
  FakeHost host(engine, {.rx_bytes = 4 * kChunkSize});
  Call& call = engine.call(std::string(40'000, 'x'));
  ASSERT_TRUE(engine.transport.answered(call));
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kResourceExhausted);
}

TEST(Dispatcher, TooManyWaitingCallsAreRefusedAtOnce) {
  DispatchOptions options;
  options.max_waiting = 3;
  TestThread engine(options);
  FakeHost host(engine, {.rx_bytes = 1 * kChunkSize});
  for (int i = 0; i < 4; ++i) engine.call("x");
  Call& call = engine.call("one too many");
  ASSERT_TRUE(engine.transport.answered(call));
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kResourceExhausted);
}

TEST(Dispatcher, RoundRobinGivesWorkersEqualShares) {
  TestThread engine;
  FakeHost host(engine, {.workers = 3});
  std::map<uint32_t, int> per_worker;
  for (int i = 0; i < 30; ++i) engine.call("x");
  host.take();
  for (const auto& call : host.calls) ++per_worker[call.worker];
  EXPECT_EQ(per_worker, (std::map<uint32_t, int>{{0, 10}, {1, 10}, {2, 10}}));
}

TEST(Dispatcher, RoundRobinCountsTheWorkersOfAllHosts) {
  TestThread engine;
  FakeHost one(engine, {.workers = 1});
  FakeHost three(engine, {.workers = 3});
  for (int i = 0; i < 40; ++i) engine.call("x");
  one.take();
  three.take();
  EXPECT_EQ(one.calls.size(), 10u);
  EXPECT_EQ(three.calls.size(), 30u);
}

TEST(Dispatcher, LeastOutstandingAvoidsTheBusyWorker) {
  DispatchOptions options;
  options.policy = WorkerChoice::Policy::kLeastOutstanding;
  TestThread engine(options);
  FakeHost host(engine, {.workers = 2});
  for (int i = 0; i < 10; ++i) engine.call("x");
  host.take();
  // Worker 0 keeps its calls; worker 1 answers at once.
  std::deque<FakeHost::Taken> kept;
  for (int round = 0; round < 20; ++round) {
    for (auto& call : host.calls) {
      if (call.worker == 1)
        host.answer(call, call.wire);
      else
        kept.push_back(call);
    }
    host.calls.clear();
    engine.pump();
    engine.call("next");
    host.take();
  }
  EXPECT_EQ(kept.size(), 5u);
}

TEST(Dispatcher, ADeadlineEndsACallThatTheHostNeverAnswers) {
  TestThread engine;
  FakeHost host(engine);
  Call& call = engine.call("x", 15 * kMs);
  EXPECT_TRUE(engine.pump_until([&] { return engine.transport.answered(call); }));
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kDeadlineExceeded);
  EXPECT_GE(monotonic_ns(), call.deadline_ns);
  host.take();
  ASSERT_EQ(host.cancels.size(), 1u);
  EXPECT_EQ(host.cancels[0].reason, static_cast<uint8_t>(CancelReason::kDeadline));
  EXPECT_EQ(host.cancels[0].call, host.calls[0].slot.call);
  // The answer that comes too late is absorbed, and its memory goes back.
  EXPECT_EQ(engine.dispatcher.calls(), 1u);
  host.answer(host.calls[0], echo_wire("late"), 9);
  engine.pump();
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
  EXPECT_TRUE(engine.pump_until([&] { return host.take(), !host.released.empty(); }));
}

TEST(Dispatcher, ADeadlineThatHasPassedBeginsNothing) {
  TestThread engine;
  FakeHost host(engine);
  engine.begin("/test.Echo/Say", -1);
  EXPECT_EQ(engine.opened.code, StatusCode::kDeadlineExceeded);
}

TEST(Dispatcher, ADeadlineWhileTheRequestIsReceivedKeepsTheBufferUntilTheTransportLetsGo) {
  TestThread engine;
  engine.transport.send_at_once = false;
  FakeHost host(engine);
  Call& call = engine.begin("/test.Echo/Say", 5 * kMs);
  char* buffer = engine.dispatcher.message_buffer(call, 10'000, 0).data();
  EXPECT_TRUE(engine.pump_until([&] { return engine.transport.answered(call); }));
  std::memset(buffer, 1, 10'000);
  engine.dispatcher.message(call, {}, More::kLast);
  host.take();
  EXPECT_TRUE(host.calls.empty());
  engine.dispatcher.reply_sent(call);
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST(Dispatcher, AClientThatGoesIsToldToTheHostAndItsMemoryWaitsForTheHost) {
  TestThread engine;
  FakeHost host(engine, {.rx_bytes = 4 * kChunkSize});
  for (int i = 0; i < 4; ++i) {
    if (i == 2) engine.client = engine.ledger.open_connection("another");
    engine.dispatcher.abandon(engine.call("x"));
  }
  EXPECT_EQ(engine.dispatcher.calls(), 4u);
  engine.pump();
  host.take();
  EXPECT_EQ(host.cancels.size(), 4u);
  Call& blocked = engine.call("y");
  EXPECT_EQ(engine.dispatcher.waiting_calls(), 1u);
  host.serve();
  engine.pump();
  EXPECT_EQ(engine.dispatcher.calls(), 1u);
  EXPECT_EQ(engine.dispatcher.waiting_calls(), 0u);
  engine.dispatcher.abandon(blocked);
}

TEST(Dispatcher, AbandoningAWaitingCallTakesItOutOfTheQueue) {
  TestThread engine;
  FakeHost host(engine, {.rx_bytes = 1 * kChunkSize});
  engine.call("x");
  Call& a = engine.call("a");
  Call& b = engine.call("b");
  engine.dispatcher.abandon(a);
  EXPECT_EQ(engine.dispatcher.waiting_calls(), 1u);
  host.serve();
  engine.pump();
  host.serve();
  engine.pump();
  EXPECT_EQ(engine.transport.answer(b).body, echo_wire("b"));
}

TEST(Dispatcher, AUnaryCallWithTwoMessagesOrNoneEndsInInternal) {
  TestThread engine;
  FakeHost host(engine);
  Call& two = engine.begin();
  engine.dispatcher.message(two, echo_wire("one"), More::kMay);
  ASSERT_TRUE(engine.transport.answered(two));
  EXPECT_EQ(engine.transport.answer(two).code, StatusCode::kInternal);
  EXPECT_EQ(engine.transport.answer(two).message,
            "more than one message, or bytes behind the message, in a unary request");
  Call& none = engine.begin();
  engine.dispatcher.half_close(none);
  ASSERT_TRUE(engine.transport.answered(none));
  EXPECT_EQ(engine.transport.answer(none).code, StatusCode::kInternal);
  EXPECT_EQ(engine.transport.answer(none).message, "no message in a unary request");
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST(Dispatcher, TwoServicesAtTwoAddressesDoNotMeet) {
  TestThread engine;
  FakeHost first(engine, {.paths = {"/test.A/Say"}, .addresses = {"0.0.0.0:1001"}});
  FakeHost second(engine, {.paths = {"/test.B/Say"}, .addresses = {"0.0.0.0:1002"}});
  engine.begin("/test.A/Say", 0, 1);
  EXPECT_EQ(engine.opened.code, StatusCode::kOk);
  engine.begin("/test.B/Say", 0, 1);
  EXPECT_EQ(engine.opened.code, StatusCode::kUnimplemented);
  engine.begin("/test.B/Say", 0, 2);
  EXPECT_EQ(engine.opened.code, StatusCode::kOk);
}

TEST(Dispatcher, ASleepingEngineThreadIsRungAndAnAnnouncementFindsWhatWasAlreadyThere) {
  TestThread engine;
  FakeHost host(engine);
  engine.call("x");
  host.take();
  EXPECT_FALSE(engine.dispatcher.prepare_to_sleep());
  const auto* words =
      reinterpret_cast<const EngineThreadShared*>(host.region->base() + host.layout->engine_thread_shared(0));
  EXPECT_NE(words->waiting.load(), 0u);
  EngineBell bell(words, host.bells[0].get());
  host.answer(host.calls[0], "");
  EXPECT_TRUE(bell.ring());
  EXPECT_FALSE(bell.ring());
  engine.dispatcher.woke_up();
  EXPECT_EQ(words->waiting.load(), 0u);
  EXPECT_TRUE(engine.dispatcher.prepare_to_sleep());
  engine.dispatcher.woke_up();
  EXPECT_TRUE(engine.pump());
}

TEST(Dispatcher, EveryRingOfAnyHostIsAnEdgeOfTheWakeDescriptor) {
  TestThread engine;
  FakeHost one(engine), two(engine);
  UniqueFd loop(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  ASSERT_EQ(::epoll_ctl(loop.get(), EPOLL_CTL_ADD, engine.dispatcher.wake_fd(), &event), 0);
  auto rings = [&] { return ::epoll_wait(loop.get(), &event, 1, 0); };
  EXPECT_EQ(rings(), 0);
  for (FakeHost* host : {&one, &one, &two, &one, &two, &two}) {
    uint64_t count = 1;
    ASSERT_EQ(::write(host->bells[0].get(), &count, sizeof count), 8);
    EXPECT_EQ(rings(), 1);
    EXPECT_EQ(rings(), 0);
  }
  two.die();
  ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 1; }));
  uint64_t count = 1;
  ASSERT_EQ(::write(two.bells[0].get(), &count, sizeof count), 8);
  EXPECT_EQ(rings(), 0);
}

}  // namespace
}  // namespace drover::engine
