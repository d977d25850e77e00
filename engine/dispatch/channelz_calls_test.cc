// Channelz by the engine: who sees what, several engine threads, and what clients may cost.
#include "engine/dispatch/channelz_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/channelz/channelz_description.h"
#include "engine/dispatch/dispatch_testing.h"
#include "engine/reflection/reflection_testing.h"
#include "engine/reflection/wire_fields.h"

namespace drover::engine {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view path_of(ChannelzMethod method) { return kChannelzPaths[static_cast<size_t>(method)]; }

// A message of varint fields.
std::string request(std::initializer_list<std::pair<uint32_t, int64_t>> fields) {
  std::string wire;
  for (const auto& [number, value] : fields) {
    append_varint(uint64_t{number} << 3, &wire);
    append_varint(static_cast<uint64_t>(value), &wire);
  }
  return wire;
}

// The fields of a message: numbers by field, and messages or texts in order.
struct Fields {
  explicit Fields(std::string_view wire) {
    WireFields fields(wire);
    while (fields.next()) {
      if (fields.type == 0) numbers[fields.number] = static_cast<int64_t>(fields.value);
      if (fields.type == 2) parts[fields.number].emplace_back(fields.bytes);
    }
    EXPECT_FALSE(fields.broken());
  }
  int64_t number(uint32_t field) const {
    const auto at = numbers.find(field);
    return at == numbers.end() ? 0 : at->second;
  }
  Fields message(uint32_t field, size_t index = 0) const {
    const auto at = parts.find(field);
    EXPECT_TRUE(at != parts.end() && index < at->second.size()) << field;
    return Fields(at == parts.end() || index >= at->second.size() ? std::string() : at->second[index]);
  }
  size_t count(uint32_t field) const {
    const auto at = parts.find(field);
    return at == parts.end() ? 0 : at->second.size();
  }
  std::map<uint32_t, int64_t> numbers;
  std::map<uint32_t, std::vector<std::string>> parts;
};

// A transport's sockets: {listener, number}.
class FakeSockets final : public SocketView {
 public:
  void list(std::span<const uint32_t> listeners, uint64_t from, size_t most,
            std::vector<SocketName>* out) const override {
    ++lists;
    for (const auto& [number, listener] : sockets) {
      if (number < from || std::find(listeners.begin(), listeners.end(), listener) == listeners.end()) continue;
      if (most-- == 0) return;
      out->push_back({number, "ipv4:10.0.0.1:" + std::to_string(number)});
    }
  }
  bool find(std::span<const uint32_t> listeners, uint64_t number, SocketFacts* out) const override {
    const auto at = sockets.find(number);
    if (at == sockets.end() || std::find(listeners.begin(), listeners.end(), at->second) == listeners.end())
      return false;
    out->counts.streams_started = number;
    return true;
  }
  std::string listener_address(uint32_t listener) const override { return "ipv4:0.0.0.0:" + std::to_string(listener); }

  std::map<uint64_t, uint32_t> sockets;
  mutable size_t lists = 0;
};

// Engine threads whose mail is delivered by hand.
class FakeThreads final : public EngineThreads {
 public:
  uint32_t count() const override { return static_cast<uint32_t>(dispatchers.size()); }
  void post(uint32_t thread, std::function<void(Dispatcher&)> work) override {
    mail.emplace_back(thread, std::move(work));
  }
  void deliver() {
    while (!mail.empty()) {
      auto [thread, work] = std::move(mail.front());
      mail.pop_front();
      if (dispatchers[thread] != nullptr) work(*dispatchers[thread]);
    }
  }
  std::vector<Dispatcher*> dispatchers;
  std::deque<std::pair<uint32_t, std::function<void(Dispatcher&)>>> mail;
};

class ChannelzOfHosts : public testing::Test {
 protected:
  void offer(ChannelzScope scope = ChannelzScope::kUsers) { engine.dispatcher.offer_channelz(scope, sockets, nullptr); }
  // A host without a process behind it.
  uint64_t attach(uint32_t user, bool channelz, std::vector<uint32_t> listeners = {1}) {
    static int made = 0;
    auto host = make_attachment(1, {"/test.Of" + std::to_string(++made) + "/Say"}, std::move(listeners));
    host->user = user;
    host->channelz = channelz;
    engine.dispatcher.attach(host);
    engine.pump();
    return host->id;
  }
  static int64_t id_of(uint64_t host) { return EntityId{EntityKind::kServer, host, 0}.value(); }

  Call& ask(ChannelzMethod method, const std::string& wire, uint32_t listener = 1) {
    Call& call = engine.begin(path_of(method), 0, listener);
    if (engine.opened.code != StatusCode::kOk) return call;
    engine.dispatcher.start(call);
    engine.dispatcher.message(call, wire, More::kMay);
    if (call.dispatch != nullptr) engine.dispatcher.half_close(call);  // it may be over
    return call;
  }
  // Its answer, once it is there.
  Fields answer(ChannelzMethod method, const std::string& wire, uint32_t listener = 1) {
    Call& call = ask(method, wire, listener);
    EXPECT_EQ(engine.opened.code, StatusCode::kOk) << engine.opened.message;
    engine.pump();
    return answer_of(call);
  }
  Fields answer_of(Call& call) {
    EXPECT_TRUE(engine.transport.answered(call));
    if (!engine.transport.answered(call)) return Fields("");
    EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kOk) << engine.transport.answer(call).message;
    EXPECT_EQ(engine.transport.steps[&call].size(), 1u);
    return Fields(engine.transport.steps[&call].empty() ? std::string() : engine.transport.steps[&call][0].body);
  }
  StatusCode code(ChannelzMethod method, const std::string& wire, uint32_t listener = 1) {
    Call& call = ask(method, wire, listener);
    if (engine.opened.code != StatusCode::kOk) return engine.opened.code;
    engine.pump();
    EXPECT_TRUE(engine.transport.answered(call));
    return engine.transport.answered(call) ? engine.transport.answer(call).code : StatusCode::kUnknown;
  }
  std::vector<int64_t> servers(uint32_t listener = 1, int64_t start = 0, int64_t most = 0, bool* end = nullptr) {
    const Fields fields = answer(ChannelzMethod::kServers, request({{1, start}, {2, most}}), listener);
    std::vector<int64_t> ids;
    for (size_t i = 0; i < fields.count(1); ++i) ids.push_back(fields.message(1, i).message(1).number(5));
    if (end != nullptr) *end = fields.number(2) != 0;
    return ids;
  }
  std::vector<int64_t> sockets_of(uint64_t host, int64_t start = 0, int64_t most = 0, bool* end = nullptr) {
    const Fields fields = answer(ChannelzMethod::kServerSockets, request({{1, id_of(host)}, {2, start}, {3, most}}));
    std::vector<int64_t> ids;
    for (size_t i = 0; i < fields.count(1); ++i) ids.push_back(fields.message(1, i).number(3));
    if (end != nullptr) *end = fields.number(2) != 0;
    return ids;
  }

  FakeSockets sockets;
  TestThread engine;
};

TEST_F(ChannelzOfHosts, WithoutAHostThatAsksForItTheServiceIsUnknown) {
  offer();
  const uint64_t host = attach(1, false);
  EXPECT_EQ(code(ChannelzMethod::kServers, ""), StatusCode::kUnimplemented);
  const uint64_t asks = attach(1, true);
  EXPECT_THAT(servers(), ElementsAre(id_of(host), id_of(asks)));
  EXPECT_NE(code(ChannelzMethod::kServers, "", 7), StatusCode::kOk) << "another listener";
  engine.dispatcher.detach(asks);
  engine.pump();
  EXPECT_EQ(code(ChannelzMethod::kServers, ""), StatusCode::kUnimplemented);
}

TEST_F(ChannelzOfHosts, TheConfigurationMayForbidIt) {
  attach(1, true);
  EXPECT_EQ(code(ChannelzMethod::kServers, ""), StatusCode::kUnimplemented);
}

TEST_F(ChannelzOfHosts, AClientSeesTheUsersWhoseHostsAskForItAtItsListener) {
  offer();
  sockets.sockets = {{1, 1}, {2, 2}, {3, 3}};
  const uint64_t own = attach(1, true, {1}), same_user = attach(1, false, {2}), other = attach(2, true, {3});
  EXPECT_THAT(servers(1), ElementsAre(id_of(own), id_of(same_user)));
  EXPECT_THAT(servers(3), ElementsAre(id_of(other)));
  EXPECT_EQ(code(ChannelzMethod::kServer, request({{1, id_of(same_user)}})), StatusCode::kOk);
  EXPECT_EQ(code(ChannelzMethod::kServer, request({{1, id_of(other)}})), StatusCode::kNotFound);
  EXPECT_EQ(code(ChannelzMethod::kServerSockets, request({{1, id_of(other)}})), StatusCode::kNotFound);
  auto socket = [](uint64_t number) { return request({{1, EntityId{EntityKind::kConnection, number, 0}.value()}}); };
  auto listener = [](uint64_t number) { return request({{1, EntityId{EntityKind::kListener, number, 0}.value()}}); };
  EXPECT_EQ(code(ChannelzMethod::kSocket, socket(2)), StatusCode::kOk);
  EXPECT_EQ(code(ChannelzMethod::kSocket, socket(3)), StatusCode::kNotFound);
  EXPECT_EQ(code(ChannelzMethod::kSocket, listener(2)), StatusCode::kOk);
  EXPECT_EQ(code(ChannelzMethod::kSocket, listener(3)), StatusCode::kNotFound);
}

TEST_F(ChannelzOfHosts, TheEnginesScopeShowsAllUsers) {
  offer(ChannelzScope::kEngine);
  const uint64_t own = attach(1, true, {1}), other = attach(2, false, {3});
  EXPECT_THAT(servers(1), ElementsAre(id_of(own), id_of(other)));
  EXPECT_EQ(code(ChannelzMethod::kServers, "", 3), StatusCode::kUnimplemented) << "no host asks for it there";
}

TEST_F(ChannelzOfHosts, ServersComeInPages) {
  offer();
  std::vector<int64_t> all;
  for (int i = 0; i < 5; ++i) all.push_back(id_of(attach(1, true)));
  bool end = false;
  EXPECT_EQ(servers(1, 0, 0, &end), all);
  EXPECT_TRUE(end);
  EXPECT_THAT(servers(1, 0, 2, &end), ElementsAre(all[0], all[1]));
  EXPECT_FALSE(end);
  EXPECT_THAT(servers(1, all[1] + 1, 2, &end), ElementsAre(all[2], all[3]));
  EXPECT_FALSE(end);
  EXPECT_THAT(servers(1, all[3] + 1, 2, &end), ElementsAre(all[4]));
  EXPECT_TRUE(end);
  EXPECT_THAT(servers(1, all[4] + 1, 2, &end), IsEmpty());
  EXPECT_TRUE(end);
}

TEST_F(ChannelzOfHosts, ServersWithManyListeningSocketsComeInShorterPages) {
  offer();
  std::vector<int64_t> all;
  for (uint32_t i = 0; i < 6; ++i) {
    std::vector<uint32_t> listeners(100);
    for (uint32_t j = 0; j < 100; ++j) listeners[j] = j + 1;
    all.push_back(id_of(attach(1, true, std::move(listeners))));
  }
  bool end = true;
  EXPECT_THAT(servers(1, 0, 0, &end), ElementsAre(all[0], all[1]));
  EXPECT_FALSE(end);
  EXPECT_THAT(servers(1, all[3] + 1, 0, &end), ElementsAre(all[4], all[5]));
  EXPECT_TRUE(end);
}

TEST_F(ChannelzOfHosts, SocketsComeInPagesAndNoMoreThanTheMost) {
  offer();
  const uint64_t host = attach(1, true, {1, 2});
  for (uint64_t i = 1; i <= 1200; ++i) sockets.sockets[i] = i % 3 == 0 ? 9 : 1 + i % 2;  // 9 is another's listener
  std::vector<int64_t> all;
  int64_t start = 0;
  bool end = false;
  for (int pages = 0; !end && pages < 10; ++pages) {
    const std::vector<int64_t> page = sockets_of(host, start, pages == 0 ? 0 : 10'000'000, &end);
    ASSERT_FALSE(page.empty());
    EXPECT_LE(page.size(), ChannelzCalls::kMostSockets);
    all.insert(all.end(), page.begin(), page.end());
    start = page.back() + 1;
  }
  EXPECT_TRUE(end);
  EXPECT_EQ(all.size(), 800u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_THAT(all, Not(Contains(EntityId{EntityKind::kConnection, 3, 0}.value())));
  EXPECT_EQ(sockets_of(host, 0, 3).size(), 3u);
}

TEST_F(ChannelzOfHosts, ChannelsAreNotFoundAndBadRequestsAreToldSo) {
  offer();
  const uint64_t host = attach(1, true);
  EXPECT_EQ(answer(ChannelzMethod::kTopChannels, "").number(2), 1) << "the end of an empty list";
  EXPECT_EQ(code(ChannelzMethod::kChannel, request({{1, 1}})), StatusCode::kNotFound);
  EXPECT_EQ(code(ChannelzMethod::kSubchannel, request({{1, 1}})), StatusCode::kNotFound);
  for (const int64_t id : {int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN, int64_t{2}, int64_t{3}, id_of(host)}) {
    EXPECT_EQ(code(ChannelzMethod::kSocket, request({{1, id}})), StatusCode::kNotFound) << id;
  }
  EXPECT_EQ(code(ChannelzMethod::kServers, request({{2, -1}})), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(ChannelzMethod::kServerSockets, request({{1, id_of(host)}, {2, -5}})), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(ChannelzMethod::kServers, "\xff\xff"), StatusCode::kInternal);
  Call& twice = engine.begin(path_of(ChannelzMethod::kServers));
  engine.dispatcher.message(twice, "", More::kMay);
  engine.dispatcher.message(twice, "", More::kMay);
  EXPECT_EQ(engine.transport.answer(twice).code, StatusCode::kInternal);
  Call& none = engine.begin(path_of(ChannelzMethod::kServers));
  engine.dispatcher.half_close(none);
  EXPECT_EQ(engine.transport.answer(none).code, StatusCode::kInternal);
  EXPECT_EQ(twice.max_request_bytes, ChannelzCalls::kMaxRequest);
  engine.pump();
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST_F(ChannelzOfHosts, RequestsOfAnyBytesAreAnswered) {
  offer();
  attach(1, true);
  uint64_t random = 1;
  for (int i = 0; i < 2000; ++i) {
    std::string wire;
    for (random = random * 6364136223846793005 + 1; wire.size() < (random >> 60); random = random * 25214903917 + 11) {
      wire.push_back(static_cast<char>((random >> 33) % 3 == 0 ? (random >> 40) % 32 : random >> 48));
    }
    code(static_cast<ChannelzMethod>(i % 7), wire);
  }
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST_F(ChannelzOfHosts, CallsOfAHostAreCountedByTheirEnd) {
  offer();
  attach(1, true, {1});
  FakeHost host(engine, {.user = 1});
  auto data = [&] { return answer(ChannelzMethod::kServer, request({{1, id_of(host.id)}})).message(1).message(2); };
  EXPECT_EQ(data().number(2), 0);
  EXPECT_EQ(data().count(5), 0u) << "no call yet";
  engine.call("good");
  Call& running = engine.call("left by its client");
  engine.call("bad");
  engine.pump();
  host.take();
  ASSERT_EQ(host.calls.size(), 3u);
  EXPECT_EQ(data().number(2), 3);
  EXPECT_EQ(data().number(3) + data().number(4), 0);
  EXPECT_EQ(data().count(5), 1u);
  engine.dispatcher.abandon(running);
  host.answer(host.calls[0], echo_wire("reply"));
  host.answer(host.calls[1], echo_wire("too late"));
  host.end(host.calls[2], StatusCode::kNotFound);
  engine.pump();
  EXPECT_EQ(data().number(2), 3);
  EXPECT_EQ(data().number(3), 1);
  EXPECT_EQ(data().number(4), 2);
}

TEST_F(ChannelzOfHosts, ReflectionDescribesItWhereItIsOffered) {
  offer();
  auto host = make_attachment(1, {"/Shop/Say"}, {1});
  std::string error;
  host->reflection = std::make_shared<ReflectionSource>(DescriptorIndex::make("", &error), std::vector<std::string>{});
  host->channelz = true;
  engine.dispatcher.attach(host);
  engine.pump();
  Call& call = engine.begin(kReflectionPathV1);
  engine.dispatcher.start(call);
  engine.dispatcher.message(call, name_request(7, ""), More::kLast);
  engine.pump();
  EXPECT_THAT(Reflected(engine.transport.steps[&call].back().body).services, Contains("grpc.channelz.v1.Channelz"));
}

// ---- several engine threads

class ChannelzOfThreads : public ChannelzOfHosts {
 protected:
  ChannelzOfThreads() {
    // Both threads are number 0 to themselves: what differs is whom the mail reaches.
    threads.dispatchers = {&engine.dispatcher, &other.dispatcher};
    engine.dispatcher.offer_channelz(ChannelzScope::kUsers, sockets, &threads);
    other.dispatcher.offer_channelz(ChannelzScope::kUsers, other_sockets, &threads);
  }
  FakeThreads threads;
  FakeSockets other_sockets;
  TestThread other;
};

TEST_F(ChannelzOfThreads, AnAnswerHasThePartsOfAllThreads) {
  const uint64_t host = attach(1, true);
  sockets.sockets = {{1, 1}, {4, 1}};
  other_sockets.sockets = {{2, 1}, {3, 7}};
  Call& call = ask(ChannelzMethod::kServerSockets, request({{1, id_of(host)}}));
  engine.pump();
  EXPECT_FALSE(engine.transport.answered(call)) << "the other thread has not answered";
  threads.deliver();
  engine.pump();
  EXPECT_EQ(answer_of(call).count(1), 3u);
}

TEST_F(ChannelzOfThreads, AThreadThatDoesNotAnswerEndsTheCallAndALateAnswerIsDropped) {
  attach(1, true);
  Call& call = ask(ChannelzMethod::kServers, "");
  engine.pump();
  engine.ahead_ns = ChannelzCalls::kPatienceNs + 1;
  engine.pump();
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kUnavailable);
  threads.deliver();
  engine.pump();
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST_F(ChannelzOfThreads, FewCallsAskOtherThreadsAtATimeAndTheRestWaits) {
  attach(1, true);
  std::vector<Call*> calls;
  for (size_t i = 0; i < 3 * ChannelzCalls::kMostQueries; ++i) calls.push_back(&ask(ChannelzMethod::kServers, ""));
  engine.pump();
  EXPECT_EQ(threads.mail.size(), ChannelzCalls::kMostQueries);
  EXPECT_FALSE(engine.dispatcher.channelz()->busy(monotonic_ns())) << "it may sleep until they answer";
  for (int i = 0; i < 4; ++i) {
    threads.deliver();
    engine.pump();
  }
  for (Call* call : calls) EXPECT_TRUE(engine.transport.answered(*call));
}

TEST_F(ChannelzOfThreads, ACallThatIsLeftMeanwhileIsForgotten) {
  attach(1, true);
  Call& call = ask(ChannelzMethod::kServers, "");
  engine.pump();
  engine.dispatcher.abandon(call);
  threads.deliver();
  engine.pump();
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
  Call& next = ask(ChannelzMethod::kServers, "");
  engine.pump();
  threads.deliver();
  engine.pump();
  EXPECT_EQ(answer_of(next).count(1), 1u);
}

}  // namespace
}  // namespace drover::engine
