// Server reflection by the engine: which hosts are seen, flow control, and what clients may cost.
#include "engine/dispatch/reflection_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "channel/control.h"
#include "engine/dispatch/dispatch_testing.h"
#include "engine/reflection/reflection_testing.h"

namespace drover::engine {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr uint32_t kFile = 3, kServices = 7;  // of the request
constexpr uint32_t kError = 7;                // of the response

class ReflectionOfHosts : public testing::Test {
 protected:
  // A host that serves `service` with a file of its name, without a process behind it.
  uint64_t attach(const std::string& service, std::vector<uint32_t> listeners = {1}) {
    auto host = make_attachment(1, {"/" + service + "/Say"}, std::move(listeners));
    const std::string proto = "syntax = \"proto3\"; message Of" + service + " {}";
    std::string error;
    auto files = DescriptorIndex::make(
        schema::parse_protos({{(service + ".proto").c_str(), proto.c_str()}}).SerializeAsString(), &error);
    EXPECT_NE(files, nullptr) << error;
    host->reflection = std::make_shared<ReflectionSource>(std::move(files), std::vector<std::string>{service});
    engine.dispatcher.attach(host);
    engine.pump();
    return host->id;
  }
  Call& begin(std::string_view path = kReflectionPathV1, int64_t timeout_ns = 0, uint32_t listener = 1) {
    Call& call = engine.begin(path, timeout_ns, listener);
    if (engine.opened.code == StatusCode::kOk) engine.dispatcher.start(call);
    return call;
  }
  void send(Call& call, const std::string& request, More more = More::kMay) {
    engine.dispatcher.message(call, request, more);
  }
  size_t replies(const Call& call) { return engine.transport.steps[&call].size(); }
  Reflected last(const Call& call) { return Reflected(engine.transport.steps[&call].back().body); }
  std::vector<std::string> services(std::string_view path = kReflectionPathV1, uint32_t listener = 1) {
    Call& call = begin(path, 0, listener);
    EXPECT_EQ(engine.opened.code, StatusCode::kOk) << engine.opened.message;
    if (engine.opened.code != StatusCode::kOk) return {};
    send(call, name_request(kServices, ""), More::kLast);
    engine.pump();
    EXPECT_TRUE(engine.transport.answered(call));
    return last(call).services;
  }

  TestThread engine;
};

TEST_F(ReflectionOfHosts, TheServicesOfAllHostsAtTheListenerAreListedByBothVersions) {
  attach("Shop");
  attach("Mail");
  attach("Elsewhere", {2});
  for (const std::string_view path : {kReflectionPathV1, kReflectionPathV1Alpha}) {
    EXPECT_THAT(services(path), ElementsAre("Mail", "Shop", kReflectionV1, kReflectionV1Alpha));
  }
  EXPECT_THAT(services(kReflectionPathV1, 2), ElementsAre("Elsewhere", kReflectionV1, kReflectionV1Alpha));
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST_F(ReflectionOfHosts, WithoutAHostThatAsksForItTheServiceIsUnknown) {
  FakeHost host(engine);
  begin();
  EXPECT_EQ(engine.opened.code, StatusCode::kUnimplemented);
  const uint64_t shop = attach("Shop");
  begin(kReflectionPathV1, 0, 7);
  EXPECT_NE(engine.opened.code, StatusCode::kOk) << "another listener";
  EXPECT_THAT(services(), Contains("Shop"));
  engine.dispatcher.detach(shop);
  engine.pump();
  begin();
  EXPECT_EQ(engine.opened.code, StatusCode::kUnimplemented);
}

TEST_F(ReflectionOfHosts, AnOpenCallSeesHostsComeAndGo) {
  const uint64_t shop = attach("Shop");
  Call& call = begin();
  send(call, name_request(kServices, ""));
  engine.pump();
  EXPECT_THAT(last(call).services, Contains("Shop"));
  engine.dispatcher.detach(shop);
  engine.pump();
  attach("Mail");
  send(call, name_request(kServices, ""));
  engine.pump();
  EXPECT_THAT(last(call).services, Contains("Mail"));
  EXPECT_THAT(last(call).services, Not(Contains("Shop")));
  engine.dispatcher.half_close(call);
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kOk);
}

TEST_F(ReflectionOfHosts, RequestsAreAnsweredInOrderAndGivenBackToTheClientsWindow) {
  attach("Shop");
  Call& call = begin();
  size_t bytes = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string request = name_request(kFile, std::to_string(i));
    bytes += request.size();
    send(call, request);
  }
  engine.dispatcher.half_close(call);
  engine.pump();
  EXPECT_LE(replies(call), ReflectionCalls::kAnswersPerTurn) << "other calls have a turn between";
  EXPECT_TRUE(engine.pump_until([&] { return engine.transport.answered(call); }));
  ASSERT_EQ(replies(call), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Reflected(engine.transport.steps[&call][static_cast<size_t>(i)].body).request,
              name_request(kFile, std::to_string(i)));
  }
  EXPECT_EQ(engine.transport.consumed_messages[&call], 100u);
  EXPECT_EQ(engine.transport.consumed_bytes[&call], bytes);
  EXPECT_EQ(engine.client->held(Resource::kMemory), 0u);
}

TEST_F(ReflectionOfHosts, CallsThatAreGoneTakeNoTurn) {
  attach("Shop");
  std::vector<Call*> gone;
  for (uint32_t i = 0; i < 2 * ReflectionCalls::kAnswersPerTurn; ++i) {
    gone.push_back(&begin());
    send(*gone.back(), name_request(kFile, "Shop.proto"));
  }
  for (Call* call : gone) engine.dispatcher.abandon(*call);
  Call& call = begin();
  send(call, name_request(kFile, "Shop.proto"));
  engine.pump();
  EXPECT_EQ(replies(call), 1u);
}

TEST_F(ReflectionOfHosts, AClientThatDoesNotReadHasOneAnswerMade) {
  attach("Shop");
  engine.transport.copies = false;
  Call& call = begin();
  for (int i = 0; i < 10; ++i) send(call, name_request(kFile, "Shop.proto"));
  engine.pump();
  engine.pump();
  EXPECT_EQ(replies(call), 1u);
  EXPECT_GT(engine.client->held(Resource::kMemory), 0u);
  engine.dispatcher.reply_sent(call);
  engine.pump();
  EXPECT_EQ(replies(call), 2u);
  engine.dispatcher.abandon(call);
  EXPECT_EQ(engine.client->held(Resource::kMemory), 0u);
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST_F(ReflectionOfHosts, AnAnswerOutlivesItsHost) {
  const uint64_t shop = attach("Shop");
  engine.transport.copies = false;
  Call& call = begin();
  send(call, name_request(kFile, "Shop.proto"), More::kLast);
  engine.pump();
  engine.dispatcher.detach(shop);
  engine.pump();
  EXPECT_EQ(engine.events.let_go, 1) << "its region is not needed";
  engine.dispatcher.reply_sent(call);
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kOk);
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST_F(ReflectionOfHosts, ACallEndsAtItsDeadlineAlsoBetweenAnswers) {
  attach("Shop");
  engine.transport.copies = false;
  Call& call = begin(kReflectionPathV1Alpha, 1'000'000'000);
  send(call, name_request(kFile, "Shop.proto"));
  send(call, name_request(kFile, "Shop.proto"));
  engine.pump();
  engine.transport.send_at_once = false;
  engine.ahead_ns = 2'000'000'000;
  engine.pump();
  ASSERT_TRUE(engine.transport.answered(call));
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kDeadlineExceeded);
  send(call, name_request(kFile, "Shop.proto"));
  engine.dispatcher.reply_sent(call);
  engine.dispatcher.reply_sent(call);
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
  EXPECT_EQ(engine.client->held(Resource::kMemory), 0u);
}

TEST_F(ReflectionOfHosts, BytesThatAreNoRequestEndTheCall) {
  attach("Shop");
  Call& call = begin();
  EXPECT_EQ(call.max_request_bytes, ReflectionCalls::kMaxRequest);
  send(call, "\xff");
  engine.pump();
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kInternal);
}

TEST_F(ReflectionOfHosts, AHostThatServesReflectionItselfIsAsked) {
  attach("Shop");
  FakeHost host(engine, {.paths = {std::string(kReflectionPathV1)}, .flags = kMethodStreams});
  Call& call = begin();
  send(call, "");
  host.take();
  EXPECT_EQ(host.calls.size(), 1u);
  EXPECT_THAT(services(kReflectionPathV1Alpha), Contains("Shop"));
}

TEST_F(ReflectionOfHosts, AnErrorIsAReply) {
  attach("Shop");
  Call& call = begin();
  send(call, name_request(kFile, "x"));
  engine.pump();
  EXPECT_EQ(last(call).kind, kError);
  EXPECT_FALSE(engine.transport.answered(call));
}

// The client's memory has room for a few requests that wait, and no more.
TEST_F(ReflectionOfHosts, WhatWaitsIsChargedToTheClient) {
  LedgerLimits limits;
  limits[Level::kConnection].memory = 20'000;
  TestThread small({}, limits);
  auto host = make_attachment(1, {"/Shop/Say"}, {1});
  std::string error;
  host->reflection =
      std::make_shared<ReflectionSource>(DescriptorIndex::make("", &error), std::vector<std::string>{"Shop"});
  small.dispatcher.attach(host);
  small.pump();
  Call& call = small.begin(kReflectionPathV1);
  small.dispatcher.start(call);
  int sent = 0;
  for (; sent < 5 && !small.transport.answered(call); ++sent) {
    small.dispatcher.message(call, name_request(kFile, std::string(9000, 'x')), More::kMay);
  }
  EXPECT_EQ(sent, 3);
  ASSERT_TRUE(small.transport.answered(call));
  EXPECT_EQ(small.transport.answer(call).code, StatusCode::kResourceExhausted);
  EXPECT_EQ(small.client->held(Resource::kMemory), 0u);
}

}  // namespace
}  // namespace drover::engine
