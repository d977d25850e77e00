// Which host gets a call by dispatch.balance, through a whole dispatcher and hosts that share a method.
#include "engine/dispatch/host_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

constexpr const char* kSeed = "00112233445566778899aabbccddeeff";

DispatchOptions options(std::string_view rules) {
  auto parsed = std::make_shared<BalanceRules>();
  EXPECT_EQ(BalanceRules::parse(rules, kSeed, parsed.get()), "");
  DispatchOptions options;
  options.balance = parsed;
  return options;
}

std::string number_wire(int32_t number) {  // of Echo.number
  std::string wire(1, 3 << 3);
  for (auto n = static_cast<uint64_t>(static_cast<int64_t>(number));; n >>= 7) {
    wire.push_back(static_cast<char>(n >= 128 ? (n & 127) | 128 : n));
    if (n < 128) return wire;
  }
}

// A host as the control thread attaches it: with a seat.
class SeatedHost final : public FakeHost {
 public:
  SeatedHost(TestThread& thread, const DispatchOptions& options, uint32_t seat, const Options& more = {})
      : FakeHost(Unattached(), more) {
    auto host = make_attachment(more.workers, more.paths, {thread.listener("0.0.0.0:50051")}, more.rx_bytes,
                                more.ring_slots, more.tx_bytes);
    for (HostMethod& method : host->methods) method = HostMethod(method.path, type(), type(), more.flags);
    host->seat = seat;
    host->node = options.balance->node(host->name, seat);
    id = host->id;
    thread_of_ = &thread;
    bells.emplace_back(::dup(host->bells[0].get()));
    map(UniqueFd(::dup(host->region->rx_fd())), UniqueFd(::dup(host->region->tx_fd())));
    thread.dispatcher.attach(std::move(host));
  }
  void die() override { thread_of_->dispatcher.detach(id); }

 private:
  TestThread* thread_of_;
};

class HostChoiceTest : public testing::Test {
 protected:
  void start(std::string_view rules, uint32_t hosts = 3, const FakeHost::Options& more = {}) {
    options_ = options(rules);
    engine_ = std::make_unique<TestThread>(options_);
    for (uint32_t seat = 0; seat < hosts; ++seat) add(seat, more);
  }
  void add(uint32_t seat, const FakeHost::Options& more = {}) {
    hosts_[seat] = std::make_unique<SeatedHost>(*engine_, options_, seat, more);
    engine_->pump();
  }
  void remove(uint32_t seat) {
    hosts_[seat]->die();
    engine_->pump();
    hosts_.erase(seat);
  }
  Call& begin(const std::vector<Header>& metadata) {
    metadata_.push_back(std::make_unique<std::vector<Header>>(metadata));
    engine_->calls.push_back(std::make_unique<Call>());
    Call& call = *engine_->calls.back();
    call.path = "/test.Echo/Say";
    call.authority = "test.example";
    call.peer = &engine_->peer;
    call.listener = 1;
    call.start_ns = monotonic_ns();
    call.metadata = *metadata_.back();
    call.account = engine_->client.get();
    EXPECT_EQ(engine_->dispatcher.open(call).code, StatusCode::kOk);
    return call;
  }
  // The seat of the host that took the newest call, which stays there.
  int taken() {
    int seat = -1;
    for (auto& [number, host] : hosts_) {
      const size_t before = host->calls.size();
      host->take();
      if (host->calls.size() == before) continue;
      EXPECT_EQ(seat, -1) << "two hosts took it";
      seat = static_cast<int>(number);
    }
    return seat;
  }
  // Of a call with that key and that request; -1: it waits. It is answered, so that no host fills.
  int host_of(const std::vector<Header>& metadata, std::string_view wire, bool answer = true) {
    engine_->dispatcher.message(begin(metadata), wire, More::kLast);
    const int seat = taken();
    if (answer) this->answer();
    return seat;
  }
  // A call that its host does not take out of the ring.
  void give(const std::vector<Header>& metadata, std::string_view wire) {
    engine_->dispatcher.message(begin(metadata), wire, More::kLast);
  }
  uint64_t counted(std::string_view name) const {
    uint64_t sum = 0;
    engine_->metrics.visit([](const MethodMetrics&) {},
                           [&](const ThreadMetrics::Series& series) {
                             if (series.name == name && series.counter) sum += series.counter->value();
                           });
    return sum;
  }
  int host_of_user(const std::string& user) { return host_of({{"user", user}}, ""); }
  void answer() {
    for (auto& [number, host] : hosts_) {
      host->take();
      for (; !host->calls.empty(); host->calls.pop_front()) {
        CompleteSlot slot = FakeHost::completion(host->calls.front());
        slot.status = static_cast<uint32_t>(StatusCode::kAborted);  // without a body: no memory of the host's
        host->push(host->calls.front().worker, to_slot(slot));
      }
    }
    engine_->pump();
  }

  DispatchOptions options_;
  std::unique_ptr<TestThread> engine_;
  std::map<uint32_t, std::unique_ptr<SeatedHost>> hosts_;
  std::vector<std::unique_ptr<std::vector<Header>>> metadata_;
};

TEST_F(HostChoiceTest, OneKeyLeadsToOneHostAndManyKeysToAll) {
  start("* hash=metadata:user");
  std::map<int, int> keys;
  for (int i = 0; i < 600; ++i) {
    const std::string user = "user-" + std::to_string(i);
    const int seat = host_of_user(user);
    ASSERT_GE(seat, 0);
    EXPECT_EQ(host_of_user(user), seat);
    ++keys[seat];
  }
  // Of 600 keys each of three hosts gets 200; five standard deviations are 58.
  for (int seat = 0; seat < 3; ++seat) EXPECT_NEAR(keys[seat], 200, 58) << seat;
}

// The share that moves when a host comes or goes: its own, a quarter or a third, and not one key of the others.
TEST_F(HostChoiceTest, AHostThatComesOrGoesMovesOnlyItsShare) {
  start("* hash=metadata:user");
  constexpr int kKeys = 900;
  std::vector<int> before(kKeys), with_four(kKeys), with_two(kKeys);
  const auto ask = [this](std::vector<int>& seats) {
    for (int i = 0; i < kKeys; ++i) seats[static_cast<size_t>(i)] = host_of_user("u" + std::to_string(i));
  };
  ask(before);
  add(3);
  ask(with_four);
  int moved = 0;
  for (size_t i = 0; i < kKeys; ++i) {
    if (with_four[i] == before[i]) continue;
    ++moved;
    EXPECT_EQ(with_four[i], 3) << "a key went from one old host to another";
  }
  EXPECT_NEAR(moved, kKeys / 4, 5 * std::sqrt(kKeys * 0.25 * 0.75));
  remove(3);
  ask(with_four);
  EXPECT_EQ(with_four, before) << "all keys are back";
  remove(1);
  ask(with_two);
  for (size_t i = 0; i < kKeys; ++i) {
    if (before[i] != 1) EXPECT_EQ(with_two[i], before[i]);
  }
  add(1);  // another process with its seat
  ask(with_two);
  EXPECT_EQ(with_two, before);
}

TEST_F(HostChoiceTest, TheSameSeedMapsTheSameInAnotherEngine) {
  std::vector<int> seats[2];
  for (std::vector<int>& of_engine : seats) {
    hosts_.clear();
    start("* hash=metadata:user");
    for (int i = 0; i < 50; ++i) of_engine.push_back(host_of_user(std::to_string(i)));
  }
  EXPECT_EQ(seats[0], seats[1]);
}

TEST_F(HostChoiceTest, AFieldOfTheRequestIsAKey) {
  start("/test.Echo/* hash=field:inner.text");
  std::set<int> seats;
  for (int i = 0; i < 40; ++i) {
    const std::string key = "c-" + std::to_string(i);
    const std::string inner = echo_wire(echo_wire(key), 4);
    const int seat = host_of({}, inner);
    EXPECT_EQ(host_of({}, echo_wire("other", 1) + echo_wire(echo_wire("lost"), 4) + inner), seat) << "the last counts";
    seats.insert(seat);
  }
  EXPECT_EQ(seats.size(), 3u);
}

TEST_F(HostChoiceTest, ANumberIsAKeyByItsValue) {
  start("/test.Echo/Say hash=field:number");
  std::set<int> seats;
  for (int32_t i = 1; i < 40; ++i) {
    const int seat = host_of({}, number_wire(-i));
    EXPECT_EQ(host_of({}, echo_wire("text") + number_wire(-i)), seat);
    seats.insert(seat);
  }
  EXPECT_EQ(seats.size(), 3u);
}

TEST_F(HostChoiceTest, CallsWithoutAKeyTakeTurns) {
  start("* hash=metadata:user");
  std::map<int, int> calls;
  for (int i = 0; i < 30; ++i) ++calls[host_of({{"user", ""}, {"other", "1"}}, "")];
  EXPECT_EQ(calls, (std::map<int, int>{{0, 10}, {1, 10}, {2, 10}}));
  hosts_.clear();
  calls.clear();
  start("* hash=field:number");
  for (int i = 0; i < 30; ++i) ++calls[host_of({}, i % 2 == 0 ? echo_wire("no number") : number_wire(0))];
  EXPECT_EQ(calls, (std::map<int, int>{{0, 10}, {1, 10}, {2, 10}}));
  hosts_.clear();
  calls.clear();
  start("* hash=field:no_such_field");
  for (int i = 0; i < 30; ++i) ++calls[host_of({}, number_wire(7))];
  EXPECT_EQ(calls, (std::map<int, int>{{0, 10}, {1, 10}, {2, 10}}));
}

TEST_F(HostChoiceTest, AllValuesOfAMetadataKeyAreTheKey) {
  start("* hash=metadata:user", 8);
  std::set<int> seats;
  for (int i = 0; i < 40; ++i) seats.insert(host_of({{"user", "a"}, {"user", std::to_string(i)}}, ""));
  EXPECT_GT(seats.size(), 4u);
}

TEST_F(HostChoiceTest, AFullHostsCallsGoToTheNextAndHoldUpNobody) {
  FakeHost::Options small;
  small.ring_slots = 16;
  start("* hash=metadata:user", 3, small);
  for (int i = 0; i < 48; ++i) give({{"user", "hot"}}, "");
  EXPECT_EQ(engine_->dispatcher.waiting_calls(), 0u);
  give({{"user", "hot"}}, "");
  EXPECT_EQ(engine_->dispatcher.waiting_calls(), 1u) << "all of them are full";
  for (auto& [seat, host] : hosts_) {
    host->take();
    EXPECT_EQ(host->calls.size(), 16u) << seat;
  }
  answer();
  EXPECT_TRUE(engine_->pump_until([this] { return engine_->dispatcher.waiting_calls() == 0; }));
}

TEST_F(HostChoiceTest, ABoundKeepsAHotKeyFromOneHost) {
  start("* hash=metadata:user bound=125");
  std::map<int, int> calls;
  for (int i = 0; i < 60; ++i) ++calls[host_of({{"user", "hot"}}, "", false)];
  // 125 % of the mean of 60 calls at 3 hosts are 25.
  for (const auto& [seat, count] : calls) EXPECT_LE(count, 25) << seat;
  EXPECT_EQ(calls.size(), 3u);
  answer();
  hosts_.clear();
  calls.clear();
  start("* hash=metadata:user");
  for (int i = 0; i < 60; ++i) ++calls[host_of({{"user", "hot"}}, "", false)];
  EXPECT_EQ(calls.size(), 1u) << "without a bound";
  EXPECT_EQ(calls.begin()->second, 60);
}

TEST_F(HostChoiceTest, LeastOutstandingIsCountedByHost) {
  FakeHost::Options two;
  two.workers = 2;
  start("* least-outstanding", 2);
  add(2, two);
  std::map<int, int> calls;
  for (int i = 0; i < 30; ++i) ++calls[host_of({}, "", false)];
  EXPECT_EQ(calls, (std::map<int, int>{{0, 10}, {1, 10}, {2, 10}})) << "whatever workers they have";
  hosts_[1]->take();
  for (int i = 0; i < 5; ++i) {
    CompleteSlot slot = FakeHost::completion(hosts_[1]->calls.front());
    slot.status = static_cast<uint32_t>(StatusCode::kAborted);
    hosts_[1]->push(0, to_slot(slot));
    hosts_[1]->calls.pop_front();
  }
  engine_->pump();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(host_of({}, "", false), 1);
}

TEST_F(HostChoiceTest, OfManyHostsTheBetterOfTwoIsTaken) {
  start("* least-outstanding", 20);
  std::map<int, int> calls;
  for (int i = 0; i < 400; ++i) ++calls[host_of({}, "", false)];
  EXPECT_EQ(calls.size(), 20u);
  // One at random would have 20 +- 4.4 and up to 33 often; the better of two has 23 or so.
  for (const auto& [seat, count] : calls) EXPECT_LE(count, 26) << seat;
}

TEST_F(HostChoiceTest, RoundRobinGivesEachHostAsMuchAndEachOfItsWorkers) {
  FakeHost::Options two;
  two.workers = 2;
  start("/test.Echo/Say round-robin", 2, two);
  std::map<int, int> calls;
  for (int i = 0; i < 40; ++i) ++calls[host_of({}, "", false)];
  EXPECT_EQ(calls, (std::map<int, int>{{0, 20}, {1, 20}}));
  for (auto& [seat, host] : hosts_) {
    EXPECT_EQ(std::count_if(host->calls.begin(), host->calls.end(), [](const auto& call) { return call.worker == 0; }),
              10);
  }
}

TEST_F(HostChoiceTest, AStreamsKeyIsInItsMetadata) {
  FakeHost::Options streams;
  streams.flags = kMethodRequestStreams;
  start("* hash=metadata:user", 3, streams);
  const auto seat_of = [this](const std::vector<Header>& metadata) {
    Call& call = begin(metadata);
    engine_->dispatcher.start(call);
    const int seat = taken();
    answer();
    return seat;
  };
  std::set<int> seats;
  for (int i = 0; i < 40; ++i) {
    const std::string user = std::to_string(i);
    const int seat = seat_of({{"user", user}});
    EXPECT_EQ(seat_of({{"user", user}}), seat);
    seats.insert(seat);
  }
  EXPECT_EQ(seats.size(), 3u);
  hosts_.clear();
  start("* hash=field:text", 3, streams);
  std::map<int, int> calls;
  for (int i = 0; i < 9; ++i) ++calls[seat_of({})];
  EXPECT_EQ(calls, (std::map<int, int>{{0, 3}, {1, 3}, {2, 3}})) << "the worker is chosen before the first message";
}

// A request that arrives in parts lies in the memory of the host that gets it, where that is known, and else on the
// heap: another host must not see it.
TEST_F(HostChoiceTest, ARequestInPartsGoesToItsKeysHost) {
  const std::string wire = echo_wire(std::string(20'000, 'x'), 2) + number_wire(5);
  const auto in_parts = [&](const std::vector<Header>& metadata) {
    Call& call = begin(metadata);
    std::span<char> buffer = engine_->dispatcher.message_buffer(call, wire.size(), 0);
    for (size_t received = 0; buffer.size() < wire.size();) {
      received = buffer.size();
      buffer = engine_->dispatcher.message_buffer(call, wire.size(), received);
    }
    std::memcpy(buffer.data(), wire.data(), wire.size());
    engine_->dispatcher.message(call, {}, More::kLast);
    const int seat = taken();
    answer();
    return seat;
  };
  start("* hash=field:number");
  const int by_field = host_of({}, number_wire(5));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(in_parts({}), by_field);
  hosts_.clear();
  EXPECT_EQ(counted("drover_calls_without_key_total"), 0u) << "it was looked for once the request was whole";
  start("* hash=metadata:user");
  const int by_user = host_of_user("u");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(in_parts({{"user", "u"}}), by_user);
  for (const char* rules : {"", "* round-robin", "* least-outstanding"}) {
    hosts_.clear();
    start(rules);
    std::map<int, int> calls;
    for (int i = 0; i < 9; ++i) ++calls[in_parts({})];
    EXPECT_EQ(calls, (std::map<int, int>{{0, 3}, {1, 3}, {2, 3}})) << rules;
  }
}

TEST_F(HostChoiceTest, ALargeRequestIsScannedWithinABound) {
  FakeHost::Options large;
  large.rx_bytes = 64 << 20;
  start("* hash=field:number", 3, large);
  std::string many = number_wire(5);
  while (many.size() < (1 << 20)) many += echo_wire("", 5);  // 500,000 fields
  const int seat = host_of({}, number_wire(5));
  EXPECT_EQ(host_of({}, many + number_wire(6)), seat) << "what stands behind the bound is not looked at";
}

// A call that waits is not scanned again in each turn.
TEST_F(HostChoiceTest, WithoutRoomTheKeyIsNotLookedFor) {
  FakeHost::Options small;
  small.ring_slots = 16;
  start("* hash=field:number", 2, small);
  for (int i = 0; i < 33; ++i) give({}, "");
  ASSERT_EQ(engine_->dispatcher.waiting_calls(), 1u);
  EXPECT_EQ(counted("drover_calls_without_key_total"), 32u);
  for (int i = 0; i < 20; ++i) engine_->pump();
  EXPECT_EQ(counted("drover_calls_without_key_total"), 32u);
}

}  // namespace
}  // namespace drover::engine
