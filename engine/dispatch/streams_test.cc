// Calls that stream, between a transport and a host: order, room, back pressure, ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "channel/control.h"
#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

constexpr uint32_t kBidi = kMethodRequestStreams | kMethodReplyStreams;

std::string decoded_text(const std::string& wire) { return wire.substr(2); }  // of a text below 128 bytes

class Streams : public testing::Test {
 protected:
  // A call whose request streams, as the transport begins it.
  Call& begin() {
    Call& call = engine.begin();
    EXPECT_EQ(engine.opened.code, StatusCode::kOk) << engine.opened.message;
    if (call.request_streams) engine.dispatcher.start(call);
    return call;
  }
  void send(Call& call, std::string_view text, More more = More::kMay) {
    engine.dispatcher.message(call, echo_wire(text), more);
  }
  FakeHost::Taken& only_call(FakeHost& host) {
    host.take();
    EXPECT_EQ(host.calls.size(), 1u);
    return host.calls.front();
  }
  std::vector<std::string> texts(const FakeHost& host) {
    std::vector<std::string> all;
    for (const auto& message : host.messages) {
      if (message.slot.request != 0) all.push_back(decoded_text(message.wire));
    }
    return all;
  }
  std::vector<std::string> steps(const Call& call) {
    std::vector<std::string> all;
    for (const auto& step : engine.transport.steps[&call]) {
      if (step.has_message) all.push_back(decoded_text(step.body));
    }
    return all;
  }

  TestThread engine;
};

TEST_F(Streams, ABidirectionalCallCarriesMessagesBothWaysInOrderAndEndsOnce) {
  FakeHost host(engine, {.flags = kBidi});
  Call& call = begin();
  FakeHost::Taken taken = only_call(host);
  EXPECT_EQ(taken.slot.flags, kCallStreams);
  EXPECT_EQ(taken.slot.request, 0u);
  EXPECT_NE(taken.slot.metadata, 0u);
  for (int i = 0; i < 5; ++i) send(call, "in " + std::to_string(i));
  engine.dispatcher.half_close(call);
  host.take();
  EXPECT_EQ(texts(host), (std::vector<std::string>{"in 0", "in 1", "in 2", "in 3", "in 4"}));
  EXPECT_EQ(host.messages.back().slot.flags, kRequestMessageLast);
  for (int i = 0; i < 3; ++i) host.reply(taken, echo_wire("out " + std::to_string(i)), {.consumed = i == 1 ? 4u : 0u});
  host.end(taken, StatusCode::kOk);
  engine.pump();
  EXPECT_EQ(steps(call), (std::vector<std::string>{"out 0", "out 1", "out 2"}));
  EXPECT_EQ(engine.transport.consumed_messages[&call], 4u);
  EXPECT_EQ(engine.transport.consumed_bytes[&call], 4 * echo_wire("in 0").size());
  ASSERT_TRUE(engine.transport.answered(call));
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kOk);
  EXPECT_FALSE(engine.transport.answer(call).has_body);
  host.take();
  EXPECT_EQ(host.released.size(), 4u);
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST_F(Streams, AReplyThatStreamsHasItsRequestInTheCall) {
  FakeHost host(engine, {.flags = kMethodReplyStreams});
  Call& call = engine.call("ask");
  FakeHost::Taken taken = only_call(host);
  EXPECT_EQ(taken.slot.flags, 0);
  EXPECT_EQ(decoded_text(taken.wire), "ask");
  host.reply(taken, echo_wire("one"));
  host.reply(taken, echo_wire("two"));
  engine.pump();
  EXPECT_EQ(steps(call), (std::vector<std::string>{"one", "two"}));
  EXPECT_FALSE(engine.transport.answered(call));
  host.end(taken, StatusCode::kNotFound);
  engine.pump();
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kNotFound);
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST_F(Streams, ARequestThatStreamsHasOneReplyInItsCompletion) {
  FakeHost host(engine, {.flags = kMethodRequestStreams});
  Call& call = begin();
  send(call, "a");
  send(call, "b", More::kLast);
  FakeHost::Taken taken = only_call(host);
  EXPECT_EQ(texts(host), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(host.messages[0].slot.flags, 0);
  EXPECT_EQ(host.messages[1].slot.flags, kRequestMessageLast);
  host.answer(taken, echo_wire("sum"), 7);
  engine.pump();
  EXPECT_EQ(engine.transport.answer(call).body, echo_wire("sum"));
}

TEST_F(Streams, AHostHasAtMostSoManyMessagesAndTheClientsWindowWaitsForIt) {
  FakeHost host(engine, {.ring_slots = 256, .flags = kBidi});
  Call& call = begin();
  for (uint32_t i = 0; i < 3 * kMaxStreamMessages; ++i) send(call, std::to_string(i));
  engine.dispatcher.half_close(call);
  FakeHost::Taken taken = only_call(host);
  EXPECT_EQ(host.messages.size(), kMaxStreamMessages);
  EXPECT_EQ(engine.transport.consumed_messages[&call], 0u);
  while (host.messages.size() < 3 * kMaxStreamMessages) {
    host.consume(taken, 10);
    engine.pump();
    host.take();
  }
  std::vector<std::string> got = texts(host);
  for (uint32_t i = 0; i < 3 * kMaxStreamMessages; ++i) EXPECT_EQ(got[i], std::to_string(i));
  EXPECT_EQ(host.messages.back().slot.flags, kRequestMessageLast);
  EXPECT_GE(engine.client->held(Resource::kMemory), 0u);
  host.end(taken, StatusCode::kOk);
  engine.pump();
  EXPECT_EQ(engine.client->held(Resource::kMemory), 0u);
}

TEST_F(Streams, MessagesThatFindNoRoomInTheRegionWaitForIt) {
  FakeHost host(engine, {.rx_bytes = 256 << 10, .flags = kBidi});
  Call& call = begin();
  const std::string large(100 << 10, 'x');
  for (int i = 0; i < 4; ++i) send(call, large);
  FakeHost::Taken taken = only_call(host);
  EXPECT_LT(host.messages.size(), 4u);
  ASSERT_GE(host.messages.size(), 1u);
  for (size_t consumed = 0; consumed < 4;) {
    const auto have = static_cast<uint32_t>(host.messages.size() - consumed);
    ASSERT_GT(have, 0u);
    host.consume(taken, have);
    consumed += have;
    engine.pump();
    host.take();
  }
  EXPECT_EQ(engine.transport.consumed_messages[&call], 4u);
  EXPECT_FALSE(engine.transport.answered(call));
}

TEST_F(Streams, AMessageThatNoRegionHoldsEndsTheCall) {
  FakeHost host(engine, {.rx_bytes = 64 << 10, .flags = kBidi});
  Call& call = begin();
  send(call, std::string(200 << 10, 'x'));
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kResourceExhausted);
  host.take();
  ASSERT_EQ(host.cancels.size(), 1u);
  host.end(host.calls.front(), StatusCode::kCancelled);
  engine.pump();
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST_F(Streams, AMessageThatCannotBeDecodedEndsTheCallAndTheHostHears) {
  FakeHost host(engine, {.flags = kBidi});
  Call& call = begin();
  send(call, "good");
  engine.dispatcher.message(call, "\xff\xff\xff", More::kMay);
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kInternal);
  host.take();
  EXPECT_EQ(texts(host), (std::vector<std::string>{"good"}));
  EXPECT_EQ(host.cancels.size(), 1u);
  host.reply(host.calls.front(), echo_wire("late, too"));
  host.end(host.calls.front(), StatusCode::kOk);
  engine.pump();
  EXPECT_TRUE(steps(call).empty());
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST_F(Streams, StepsThatTheTransportKeepsAreReleasedWhenTheyAreSent) {
  FakeHost host(engine, {.flags = kBidi});
  engine.transport.copies = false;
  engine.transport.send_at_once = false;
  Call& call = begin();
  FakeHost::Taken taken = only_call(host);
  const std::string text(40 << 10, 'y');
  for (uint32_t i = 0; i < 3; ++i) host.reply(taken, echo_wire(text), {.tx_call = 100 + i});
  host.end(taken, StatusCode::kOk, 103);
  engine.pump();
  host.take();
  EXPECT_TRUE(host.released.empty() || host.released == std::vector<uint32_t>{103});
  for (int i = 0; i < 3; ++i) {
    engine.dispatcher.reply_sent(call);
    engine.pump();
    host.take();
    EXPECT_EQ(std::count(host.released.begin(), host.released.end(), 100u + static_cast<uint32_t>(i)), 1);
  }
  engine.dispatcher.reply_sent(call);
  engine.pump();
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
  EXPECT_EQ(engine.client->held(Resource::kMemory), 0u);
  EXPECT_EQ(engine.client->held(Resource::kLent), 0u);
  EXPECT_EQ(engine.dispatcher.reply_bytes(), 0u);
}

TEST_F(Streams, AClientThatLeavesTakesNothingWithItThatTheHostUses) {
  FakeHost host(engine, {.ring_slots = 256, .flags = kBidi});
  engine.transport.copies = false;
  Call& call = begin();
  for (uint32_t i = 0; i < 2 * kMaxStreamMessages; ++i) send(call, std::to_string(i));
  FakeHost::Taken taken = only_call(host);
  host.reply(taken, echo_wire("x"));
  engine.pump();
  engine.dispatcher.abandon(call);
  host.take();
  EXPECT_EQ(host.cancels.size(), 1u);
  EXPECT_EQ(engine.dispatcher.calls(), 1u);
  for (const auto& message : host.messages) {  // still as they were
    Encoded encoded;
    const char* object = host.region->at(message.slot.request, echo_type().entry().object_size);
    ASSERT_TRUE(encode(echo_type(), reinterpret_cast<const Message*>(object), {}, &encoded).ok());
    std::string wire(encoded.size(), 0);
    encoded.copy_to(wire.data());
    EXPECT_EQ(wire, message.wire);
  }
  host.consume(taken, 5);
  host.end(taken, StatusCode::kCancelled);
  engine.pump();
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
  host.take();
  EXPECT_EQ(host.released.size(), 2u);
  EXPECT_EQ(engine.client->held(Resource::kMemory), 0u);
}

TEST_F(Streams, AHostsDeathEndsItsStreamsInUnavailable) {
  FakeHost host(engine, {.flags = kBidi});
  engine.transport.copies = false;
  engine.transport.send_at_once = false;
  Call& call = begin();
  for (int i = 0; i < 100; ++i) send(call, "x");
  FakeHost::Taken taken = only_call(host);
  host.reply(taken, echo_wire("y"));
  engine.pump();
  host.die();
  engine.pump();
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kUnavailable);
  EXPECT_EQ(engine.events.let_go, 0);
  engine.dispatcher.reply_sent(call);
  engine.dispatcher.reply_sent(call);
  engine.pump();
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
  EXPECT_EQ(engine.events.let_go, 1);
}

TEST_F(Streams, AStreamThatWaitsForAHostKeepsWhatItsClientSends) {
  engine.dispatcher.expect(1, {ExpectedMethod{"/test.Echo/Say", kBidi}});
  Call& call = begin();
  ASSERT_TRUE(call.request_streams);
  send(call, "early");
  send(call, "bird", More::kLast);
  EXPECT_EQ(engine.dispatcher.waiting_calls(), 1u);
  FakeHost host(engine, {.flags = kBidi});
  engine.pump();
  host.take();
  EXPECT_EQ(texts(host), (std::vector<std::string>{"early", "bird"}));
}

TEST_F(Streams, AWaitingCallEndsIfTheMethodIsOfAnotherKindAtTheNewHost) {
  engine.dispatcher.expect(1, {ExpectedMethod{"/test.Echo/Say", kBidi}});
  Call& call = begin();
  FakeHost host(engine);
  engine.pump();
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kUnavailable);
  EXPECT_TRUE(begin().dispatch != nullptr);
}

TEST_F(Streams, HostsThatServeOneMethodInTwoKindsCannotBothStay) {
  FakeHost first(engine, {.flags = kBidi});
  FakeHost second(engine);
  engine.pump();
  ASSERT_EQ(engine.events.failed.count(second.id), 1u);
  EXPECT_EQ(engine.events.failed.count(first.id), 0u);
}

TEST_F(Streams, InitialMetadataGoesOutInFrontOfTheFirstMessageAndOnlyThere) {
  FakeHost host(engine, {.flags = kBidi});
  Call& call = begin();
  FakeHost::Taken taken = only_call(host);
  host.headers(taken, {{"x-a", "1"}});
  engine.pump();
  ASSERT_EQ(engine.transport.steps[&call].size(), 1u);
  EXPECT_FALSE(engine.transport.steps[&call][0].has_message);
  EXPECT_EQ(engine.transport.steps[&call][0].initial, (std::vector<Header>{{"x-a", "1"}}));
  host.reply(taken, echo_wire("x"));
  host.headers(taken, {{"x-b", "2"}});
  engine.pump();
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kInternal);
}

TEST_F(Streams, InitialMetadataOfOneReplyMayGoOutInFrontOfIt) {
  for (uint32_t flags : {uint32_t{0}, uint32_t{kMethodRequestStreams}}) {
    TestThread thread;
    FakeHost host(thread, {.flags = flags});
    Call& call = flags == 0 ? thread.call("ask") : thread.begin();
    if (flags != 0) thread.dispatcher.start(call);
    const FakeHost::Taken taken = only_call(host);
    host.headers(taken, {{"x-a", "1"}});
    thread.pump();
    ASSERT_EQ(thread.transport.steps[&call].size(), 1u);
    EXPECT_FALSE(thread.transport.steps[&call][0].has_message);
    EXPECT_EQ(thread.transport.steps[&call][0].initial, (std::vector<Header>{{"x-a", "1"}}));
    EXPECT_FALSE(thread.transport.answered(call));
    if (flags != 0) thread.dispatcher.message(call, echo_wire("a"), More::kLast);
    host.answer(taken, echo_wire("reply"), 700);
    thread.pump();
    EXPECT_EQ(thread.transport.answer(call).body, echo_wire("reply"));
    EXPECT_TRUE(thread.pump_until([&] {
      host.take();
      return host.released.size() == 2;
    }));
    EXPECT_EQ(thread.dispatcher.calls(), 0u);
  }
}

TEST_F(Streams, InitialMetadataTwiceIsNothingThatAHostSends) {
  for (bool in_the_end : {true, false}) {
    TestThread thread;
    FakeHost host(thread);
    Call& call = thread.call("ask");
    const FakeHost::Taken taken = only_call(host);
    host.headers(taken, {{"x-a", "1"}});
    thread.pump();
    if (in_the_end) {
      CompleteSlot slot = FakeHost::completion(taken);
      slot.response = host.build(echo_wire("x"));
      slot.trailer = host.build_trailer({{"x-b", "2"}});
      host.push(0, to_slot(slot));
    } else {
      host.headers(taken, {});
    }
    thread.pump();
    thread.pump();
    EXPECT_EQ(thread.events.failed.count(host.id), in_the_end ? 0u : 1u);
    EXPECT_EQ(thread.transport.answer(call).code, in_the_end ? StatusCode::kInternal : StatusCode::kUnavailable);
  }
}

TEST_F(Streams, ADeadlineEndsAStreamAndTheHostHears) {
  FakeHost host(engine, {.flags = kBidi});
  Call& call = engine.begin("/test.Echo/Say", 20'000'000);
  engine.dispatcher.start(call);
  ASSERT_TRUE(engine.pump_until([&] { return engine.transport.answered(call); }));
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kDeadlineExceeded);
  host.take();
  ASSERT_EQ(host.cancels.size(), 1u);
  EXPECT_EQ(host.cancels[0].reason, static_cast<uint8_t>(CancelReason::kDeadline));
}

// ---- hostile hosts

TEST_F(Streams, AHostThatConsumesMoreThanItHasIsDetached) {
  FakeHost host(engine, {.flags = kBidi});
  Call& call = begin();
  send(call, "x");
  FakeHost::Taken taken = only_call(host);
  host.consume(taken, 2);
  engine.pump();
  EXPECT_EQ(engine.events.failed.count(host.id), 1u);
  engine.pump();
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kUnavailable);
}

TEST_F(Streams, AHostThatSendsMoreMessagesThanMayWaitIsDetached) {
  FakeHost host(engine, {.ring_slots = 256, .flags = kBidi});
  engine.transport.copies = false;
  begin();
  FakeHost::Taken taken = only_call(host);
  for (uint32_t i = 0; i <= kMaxStreamMessages; ++i) host.reply(taken, echo_wire("x"));
  EXPECT_TRUE(engine.pump_until([&] { return engine.events.failed.count(host.id) == 1; }));
}

TEST_F(Streams, AMessageOfACallThatDoesNotStreamBreaksTheChannel) {
  FakeHost host(engine);
  engine.call("x");
  FakeHost::Taken taken = only_call(host);
  host.reply(taken, echo_wire("y"));
  engine.pump();
  EXPECT_EQ(engine.events.failed.count(host.id), 1u);
}

TEST_F(Streams, AMessageThatLeadsOutOfTheRegionEndsThatCallOnly) {
  FakeHost host(engine, {.flags = kBidi});
  Call& call = begin();
  FakeHost::Taken taken = only_call(host);
  ReplyMessageSlot slot = FakeHost::message_of(taken);
  slot.response = 8;
  host.push(0, to_slot(slot));
  engine.pump();
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kInternal);
  EXPECT_TRUE(engine.events.failed.empty());
  host.end(taken, StatusCode::kOk);
  engine.pump();
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

// ---- no room for replies in the engine

TEST_F(Streams, MessagesBehindOneThatFindsNoRoomKeepTheirOrder) {
  DispatchOptions options;
  options.max_reply_bytes = 64 << 10;
  TestThread tight(options);
  tight.transport.copies = false;
  tight.transport.send_at_once = false;
  FakeHost host(tight, {.flags = kBidi});
  Call& call = tight.begin();
  tight.dispatcher.start(call);
  host.take();
  FakeHost::Taken taken = host.calls.front();
  // Many small fields: encoded into the engine's buffers, not lent.
  std::vector<std::string> sent;
  for (int i = 0; i < 12; ++i) {
    std::string wire;
    for (int item = 0; item < 300; ++item) wire += echo_wire(echo_wire(std::to_string(i)), 5);
    sent.push_back(wire);
    host.reply(taken, wire);
  }
  host.end(taken, StatusCode::kOk);
  tight.pump();
  EXPECT_LT(tight.transport.steps[&call].size(), 12u);
  size_t told = 0;
  ASSERT_TRUE(tight.pump_until([&] {
    while (told < tight.transport.steps[&call].size()) {
      ++told;
      tight.dispatcher.reply_sent(call);
    }
    return tight.transport.answered(call);
  }));
  ASSERT_EQ(tight.transport.steps[&call].size(), 12u);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(tight.transport.steps[&call][i].body, sent[i]) << i;
  EXPECT_EQ(tight.transport.answer(call).code, StatusCode::kOk);
  tight.dispatcher.reply_sent(call);
}

// ---- anything, at random

// Clients, hosts and transports that do anything they may in any order: nothing is lost, nothing is left.
TEST_F(Streams, RandomStreamsLoseNothingAndLeaveNothing) {
  std::mt19937 random(11);
  auto chance = [&](uint32_t n) { return random() % n == 0; };
  for (int round = 0; round < 20; ++round) {
    TestThread thread;
    thread.transport.copies = round % 2 == 0;
    FakeHost host(thread, {.rx_bytes = 512 << 10, .ring_slots = 256, .tx_bytes = 64 << 20, .flags = kBidi});
    struct Open {
      Call* call;
      uint32_t sent = 0;
      bool over = false, closed = false;
    };
    std::vector<Open> open;
    std::map<uint64_t, FakeHost::Taken> taken;
    std::map<uint64_t, uint32_t> at_host, next;
    std::map<uint64_t, size_t> told;
    auto key = [](uint32_t call, uint32_t generation) { return uint64_t{call} << 32 | generation; };
    for (int turn = 0; turn < 400; ++turn) {
      if (open.size() < 20 && chance(4)) {
        Call& call = thread.begin();
        thread.dispatcher.start(call);
        open.push_back({&call});
      }
      for (Open& one : open) {
        if (one.over || one.call->dispatch == nullptr) continue;
        if (!one.closed && chance(2)) {
          std::string text = std::to_string(one.sent++) + ";" + std::string(chance(20) ? 20'000 : random() % 100, 'x');
          thread.dispatcher.message(*one.call, echo_wire(text), More::kMay);
        }
        if (!one.closed && chance(30)) thread.dispatcher.half_close(*one.call), one.closed = true;
        if (chance(60)) thread.dispatcher.abandon(*one.call), one.over = true;
        if (one.call->dispatch == nullptr) continue;
        size_t& sent = told[reinterpret_cast<uint64_t>(one.call)];
        if (!thread.transport.copies && chance(3) && sent < thread.transport.steps[one.call].size()) {
          ++sent;
          thread.dispatcher.reply_sent(*one.call);
        }
      }
      host.take();
      for (const auto& call : host.calls) taken.emplace(key(call.slot.call, call.slot.generation), call);
      host.calls.clear();
      for (const auto& message : host.messages) {
        uint64_t id = key(message.slot.call, message.slot.generation);
        if (message.slot.request == 0) continue;
        ++at_host[id];
        const std::string expected = std::to_string(next[id]++) + ";";
        EXPECT_NE(message.wire.find(expected), std::string::npos) << "out of order";
      }
      host.messages.clear();
      for (auto it = taken.begin(); it != taken.end();) {
        FakeHost::Taken& call = it->second;
        uint32_t& have = at_host[it->first];
        if (have > 0 && chance(3)) {
          uint32_t count = 1 + random() % have;
          have -= count;
          host.consume(call, count);
        }
        if (host.unreleased(call) < kMaxStreamMessages && chance(3)) host.reply(call, echo_wire("r"));
        if (chance(50)) {
          host.end(call, StatusCode::kOk);
          it = taken.erase(it);
        } else {
          ++it;
        }
      }
      thread.pump();
      ASSERT_TRUE(thread.events.failed.empty()) << thread.events.failed.begin()->second;
    }
    for (auto& [id, call] : taken) host.end(call, StatusCode::kOk);
    thread.abandon_calls();
    for (int i = 0; i < 10; ++i) {
      thread.pump();
      host.take();
      for (const auto& call : host.calls) host.end(call, StatusCode::kOk);
      host.calls.clear();
    }
    EXPECT_EQ(thread.dispatcher.calls(), 0u);
    EXPECT_EQ(thread.client->held(Resource::kMemory), 0u);
    EXPECT_EQ(thread.client->held(Resource::kLent), 0u);
    EXPECT_EQ(thread.dispatcher.reply_bytes(), 0u);
  }
}

}  // namespace
}  // namespace drover::engine
