// Calls of methods that no host has, and hosts that take them: method kMethodAny.
#include <gtest/gtest.h>

#include <string>

#include "channel/call_records.h"
#include "channel/control.h"
#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

const FakeHost::Options kGeneric = {.paths = {std::string(kAnyPath)}, .flags = kAllMethodFlags};

class GenericRoute : public testing::Test {
 protected:
  Call& begin(std::string_view path) {
    Call& call = engine_.begin(path);
    if (engine_.opened.ok() && call.request_streams) engine_.dispatcher.start(call);
    return call;
  }
  // The pairs of the host's last call.
  static std::vector<Header> metadata(const FakeHost& host) {
    const auto* record = reinterpret_cast<const CallMetadata*>(host.region->base() + host.calls.back().slot.metadata);
    std::vector<Header> pairs;
    for (uint32_t i = 0; i < record->count; ++i) {
      pairs.emplace_back(record->pairs()[i].key.str(), record->pairs()[i].value.str());
    }
    return pairs;
  }
  size_t charged() { return engine_.client->held(Resource::kMemory); }

  TestThread engine_;
};

TEST_F(GenericRoute, TakesCallsOfAnyPathAndTellsItsHostWhich) {
  FakeHost host(engine_, kGeneric);
  const std::string long_path = "/" + std::string(5000, 'p') + "/M";
  for (const std::string& path : {std::string("/a.B/C"), std::string("/x"), std::string("/"), long_path}) {
    const Call& call = begin(path);
    ASSERT_EQ(engine_.opened.code, StatusCode::kOk) << engine_.opened.message;
    EXPECT_TRUE(call.request_streams && call.reply_streams);
    host.take();
    ASSERT_FALSE(host.calls.empty()) << path;
    const std::vector<Header> pairs = metadata(host);
    ASSERT_EQ(pairs.size(), 1 + engine_.metadata.size());
    EXPECT_EQ(pairs[0], Header(kPathPair, path));
    EXPECT_EQ(pairs[1], engine_.metadata[0]);
  }
}

TEST_F(GenericRoute, MethodsThatAHostHasGoThereWhoeverCameFirst) {
  FakeHost generic(engine_, kGeneric);
  begin("/test.Echo/Say");
  generic.take();
  EXPECT_EQ(generic.calls.size(), 1u);
  FakeHost named(engine_);
  RouteMemo memo;
  for (int i = 0; i < 2; ++i) {
    engine_.call("x");
    named.take();
    generic.take();
    EXPECT_EQ(named.calls.size(), 1u + static_cast<size_t>(i));
    EXPECT_EQ(generic.calls.size(), 1u);
  }
  begin("/test.Echo/Other");
  generic.take();
  EXPECT_EQ(generic.calls.size(), 2u);
}

TEST_F(GenericRoute, IsRememberedForNoPath) {
  FakeHost generic(engine_, kGeneric);
  Call call;
  RouteMemo memo;
  auto open = [&] {
    call = Call();
    call.path = "/test.Echo/Say";
    call.memo = &memo;
    call.peer = &engine_.peer;
    call.listener = 1;
    const Status status = engine_.dispatcher.open(call);
    const bool streams = call.request_streams;
    engine_.dispatcher.abandon(call);
    EXPECT_EQ(status.code, StatusCode::kOk);
    return streams;
  };
  EXPECT_TRUE(open());
  FakeHost named(engine_);
  EXPECT_FALSE(open()) << "the call went to the generic host";
}

TEST_F(GenericRoute, CallsWaitForAHostThatIsGoneAsThoseOfNamedMethodsDo) {
  auto first = std::make_unique<FakeHost>(engine_, kGeneric);
  first->die();
  engine_.pump();
  Call& call = begin("/a.B/C");
  EXPECT_EQ(engine_.dispatcher.waiting_calls(), 1u);
  EXPECT_EQ(charged(), std::string("/a.B/C").size()) << "its path is held meanwhile";
  FakeHost second(engine_, kGeneric);
  ASSERT_TRUE(engine_.pump_until([&] {
    second.take();
    return !second.calls.empty();
  }));
  EXPECT_EQ(metadata(second)[0].second, "/a.B/C");
  EXPECT_EQ(charged(), 0u);
  engine_.dispatcher.abandon(call);
}

TEST_F(GenericRoute, AWaitingCallsPathGoesWithTheCall) {
  auto host = std::make_unique<FakeHost>(engine_, kGeneric);
  host->die();
  engine_.pump();
  Call& call = begin("/a.B/C");
  EXPECT_NE(charged(), 0u);
  engine_.dispatcher.abandon(call);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(engine_.dispatcher.calls(), 0u);
}

TEST_F(GenericRoute, GoesWithItsLastHost) {
  auto host = std::make_unique<FakeHost>(engine_, kGeneric);
  host->die();
  engine_.ahead_ns = 20'000'000'000;
  engine_.pump();
  engine_.pump();
  begin("/a.B/C");
  EXPECT_EQ(engine_.opened.code, StatusCode::kUnavailable) << engine_.opened.message;
  EXPECT_EQ(engine_.dispatcher.routes(), 0u);
  FakeHost again(engine_, kGeneric);
  begin("/a.B/C");
  EXPECT_EQ(engine_.opened.code, StatusCode::kOk);
}

TEST_F(GenericRoute, IsOfItsListenersOnly) {
  FakeHost generic(engine_, kGeneric);
  FakeHost elsewhere(engine_, {.addresses = {"0.0.0.0:2"}});
  engine_.begin("/a.B/C", 0, engine_.listener("0.0.0.0:2"));
  EXPECT_EQ(engine_.opened.code, StatusCode::kUnimplemented);
}

TEST_F(GenericRoute, APathThatTheClientsBudgetHasNoRoomForIsRefused) {
  LedgerLimits limits;
  limits[Level::kConnection].memory = 4096;
  TestThread engine({}, limits);
  FakeHost host(engine, kGeneric);
  engine.begin("/" + std::string(8192, 'p'));
  EXPECT_EQ(engine.opened.code, StatusCode::kResourceExhausted);
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

}  // namespace
}  // namespace drover::engine
