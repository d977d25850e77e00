// Two whole NICs with synchronous threading, of every interface and transport: the hosts find by what comes back how
// far their rings have been taken (rtl/driver/nic_answers.h). Random calls, windows, stalls and networks: no line of a
// ring is overwritten before the NIC has it, no call is answered twice or by another's response, and every call ends:
// by its response, or, where the transport loses lines, by its time-out.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

#include "rtl/driver/nic_answers.h"
#include "rtl/testing/nic_ends.h"

namespace drover::rtl {
namespace {

constexpr TxInterface kInterfaces[] = {TxInterface::kMmio, TxInterface::kDoorbell, TxInterface::kCoherent,
                                       TxInterface::kCxl};

// A message's line; `lines` are all of it.
LineSlot line_of(uint16_t connection, uint32_t call, uint8_t flags, uint32_t index, uint32_t lines) {
  LineSlot line{};
  line.type = kLineType;
  line.flags = flags | (index + 1 == lines ? kLineLast : 0);
  line.function = static_cast<uint16_t>(call % 100);
  line.call = call;
  line.connection = connection;
  line.index = static_cast<uint8_t>(index);
  line.length = kLineArguments;
  for (size_t i = 0; i < kLineArguments; ++i) {
    line.arguments[i] = static_cast<uint8_t>(call * 7 + (call >> 20) + connection + index + flags + i);
  }
  return line;
}
// A message's lines by its call's number.
uint32_t request_lines(uint32_t call) { return 1 + call % 3; }
uint32_t response_lines(uint32_t call) { return 1 + call % 2; }
LineSlot request_line(uint16_t connection, uint32_t call, uint32_t index) {
  return line_of(connection, call, 0, index, request_lines(call));
}
LineSlot response_line(uint16_t connection, uint32_t call, uint32_t index) {
  return line_of(connection, call, kLineResponse, index, response_lines(call));
}
bool same(const LineSlot& a, const LineSlot& b) { return std::memcmp(&a.type, &b.type, kSlotSize - 4) == 0; }

struct Case {
  TxInterface tx_interface = TxInterface::kCoherent;
  nic::Transport transport = nic::Transport::kReliable;
  NicWeather weather = {};
  BalancePolicy policy = BalancePolicy::kConnectionFlow;
  uint32_t connections = 8, flows = 2, calls = 40;  // calls: of each connection
  uint32_t window = 1;
  uint64_t timeout = 0;         // cycles, of a call; 0: none
  uint64_t patience = 0;        // cycles without room, after which a ring begins anew; 0: never
  uint32_t announce_every = 1;  // lines of a doorbell; what is left is announced soon
  uint32_t seed = 1;
  uint32_t stalls = 0;
};

// A host's TX rings, by flow.
class Rings {
 public:
  Rings(NicEnd* end, const Case& one) : end_(*end), case_(one) {
    for (uint32_t flow = 0; flow < one.flows; ++flow) flows_.push_back(Flow{AnsweredLines(one.window)});
  }
  bool send(uint32_t flow, const LineSlot& line) {
    Flow& own = flows_[flow];
    const bool bell = (own.sent_in_all + 1) % case_.announce_every == 0;
    if (end_.send(flow, line, bell)) {
      own.answered.sent(line, end_.sender(flow).sent());
      ++own.sent_in_all;
      own.full_since = 0;
      return true;
    }
    if (own.full_since == 0) own.full_since = now();
    if (case_.patience != 0 && now() - own.full_since > case_.patience) begin_anew(flow);
    return false;
  }
  void came(uint32_t flow, const LineSlot& line) { end_.sender(flow).taken(flows_[flow].answered.came(line)); }
  void announce() {
    for (uint32_t flow = 0; flow < flows_.size(); ++flow) end_.announce(flow);
  }
  uint64_t now() const { return end_.cycles(); }
  uint64_t begun_anew() const { return begun_anew_; }
  // What had been sent when a ring last began anew, and what the NIC had taken of it; 0: none has.
  uint64_t sent_before() const { return sent_before_; }
  uint64_t taken_before() const { return taken_before_; }
  uint64_t taken() { return end_.counter(offsetof(nic::NicCounters, tx_lines)); }
  uint64_t sent() const {
    uint64_t all = 0;
    for (const Flow& flow : flows_) all += flow.sent_in_all;
    return all;
  }

 private:
  struct Flow {
    AnsweredLines answered;
    uint64_t sent_in_all = 0, full_since = 0;
  };
  void begin_anew(uint32_t flow) {
    end_.begin_sending_anew(flow);
    flows_[flow].answered.begin_anew();
    flows_[flow].full_since = 0;
    ++begun_anew_;
    const uint64_t sent_since = sent() - sent_before_, taken_since = taken() - taken_before_;
    if (flows_.size() == 1) EXPECT_LE(taken_since, sent_since) << "a line was sent twice";
    sent_before_ = sent();
    taken_before_ = taken();
  }

  NicEnd& end_;
  const Case& case_;
  std::vector<Flow> flows_;
  uint64_t begun_anew_ = 0, sent_before_ = 0, taken_before_ = 0;
};

class SynchronousNics {
 public:
  explicit SynchronousNics(const Case& one)
      : case_(one),
        client_(options(one, 0), one.transport, kNicClient),
        server_(options(one, 100), one.transport, kNicServer),
        network_(&client_, &server_, one.weather, one.seed),
        client_rings_(&client_, case_),
        server_rings_(&server_, case_),
        connections_(one.connections),
        answers_(one.flows) {
    for (uint32_t flow = 0; flow < one.flows; ++flow) {
      client_.enable(flow);
      server_.enable(flow);
    }
    server_.set(offsetof(nic::ControlPage, flows_in_use), one.flows);
    server_.settle();
    for (uint16_t c = 0; c < one.connections; ++c) {
      client_.open(c, kNicServer, 1000 + c, 9000 + c, flow_of(c), BalancePolicy::kConnectionFlow);
      server_.open(c, kNicClient, 9000 + c, 1000 + c, flow_of(c), one.policy);
      for (uint32_t place = 0; place < one.window; ++place) connections_[c].places.push_back({place});
    }
    calls_ = one.calls;
  }

  // Until each call has ended, or for so many cycles.
  bool run(uint64_t cycles) {
    bool ended = client_.run_until([&] { return turn(), all_ended() || ::testing::Test::HasFailure(); }, cycles);
    client_.run_until([&] { return turn(), false; }, 3000);  // what is still on its way
    client_rings_.announce(), server_rings_.announce();
    client_.run_until([] { return false; }, 1000);  // and the NICs take what is in their rings
    return ended && all_ended();
  }
  // More calls of each connection, in another weather.
  bool run_more(uint32_t calls, uint64_t cycles) {
    calls_ += calls;
    return run(cycles);
  }
  NicNetwork& network() { return network_; }

  void expect_sound() {
    for (auto [end, rings] : {std::pair(&client_, &client_rings_), std::pair(&server_, &server_rings_)}) {
      EXPECT_EQ(end->violations(), 0u);
      EXPECT_EQ(end->counter(offsetof(nic::NicCounters, positions_written)), 0u);
      EXPECT_EQ(end->counter(offsetof(nic::NicCounters, tx_no_room)), 0u);
      // The counter is of all flows, so that it says nothing exact where others go on as one begins anew.
      if (case_.flows == 1 || rings->begun_anew() == 0) {
        EXPECT_EQ(rings->taken() - rings->taken_before(), rings->sent() - rings->sent_before())
            << "a line was overwritten before the NIC had it";
      } else {
        EXPECT_LE(rings->taken(), rings->sent());
      }
      for (uint32_t flow = 0; flow < case_.flows; ++flow) EXPECT_EQ(end->status(flow).tx_stop, nic::FlowStop::kNone);
    }
  }
  uint64_t answered() const { return answered_; }
  uint64_t given_up() const { return given_up_; }
  uint64_t late() const { return late_; }
  uint64_t calls() const { return uint64_t{calls_} * case_.connections; }
  const Rings& client_rings() const { return client_rings_; }
  const Rings& server_rings() const { return server_rings_; }

 private:
  struct Place {
    uint32_t number;
    bool active = false;
    uint64_t deadline = 0;
    uint32_t came = 0;  // lines of the response
  };
  struct Served {
    uint32_t lines = 0;  // of the request, in order
    uint32_t times = 0;
  };
  struct Connection {
    std::vector<Place> places;
    uint32_t begun = 0, ended = 0;
    uint32_t sending = 0, next_line = 0;  // the call whose request is being sent; next_line 0: none
  };

  static NicBenchOptions options(const Case& one, uint32_t more) {
    NicBenchOptions options{.tx_interface = one.tx_interface,
                            .synchronous = true,
                            .flows = one.flows,
                            .tx_lines = 64,
                            .rx_lines = 64,
                            .stalls_of_256 = one.stalls,
                            .seed = one.seed + more,
                            .power_up_seed = one.seed + more + 1};
    options.reads.stalls_of_256 = options.writes.stalls_of_256 = one.stalls;
    return options;
  }
  uint8_t flow_of(uint16_t connection) const { return static_cast<uint8_t>(connection % case_.flows); }
  bool reliable() const { return case_.transport == nic::Transport::kReliable; }
  uint64_t now() const { return client_.cycles(); }

  void turn() {
    for (uint16_t c = 0; c < connections_.size(); ++c) send(c);
    for (uint32_t flow = 0; flow < case_.flows; ++flow) {
      for (const LineSlot& line : std::exchange(server_.received(flow), {})) {
        server_rings_.came(flow, line);
        serve(flow, line);
      }
      while (!answers_[flow].empty() && server_rings_.send(flow, answers_[flow].front())) answers_[flow].pop_front();
      for (const LineSlot& line : std::exchange(client_.received(flow), {})) {
        client_rings_.came(flow, line);
        end(line);
      }
    }
    if (now() % 16 == 0) client_rings_.announce(), server_rings_.announce();
  }

  void send(uint16_t c) {
    Connection& own = connections_[c];
    for (Place& place : own.places) {
      if (own.next_line != 0) break;
      if (place.active || own.begun == calls_) continue;
      ++own.begun;
      place = {place.number, true, now() + case_.timeout};
      own.sending = place.number;
      own.next_line = 1;
    }
    if (own.next_line != 0 && client_rings_.send(flow_of(c), request_line(c, own.sending, own.next_line - 1))) {
      own.next_line = own.next_line == request_lines(own.sending) ? 0 : own.next_line + 1;
    }
    if (case_.timeout == 0) return;
    for (Place& place : own.places) {
      if (!place.active || now() < place.deadline) continue;
      place = {place.number + case_.window + kGivenUpStep};  // as BasicRpcClient's
      ++own.ended, ++given_up_;
    }
  }

  void serve(uint32_t flow, const LineSlot& line) {
    ASSERT_LT(line.connection, case_.connections);
    ASSERT_TRUE(same(line, request_line(line.connection, line.call, line.index)));
    Served& own = served_[{line.connection, line.call}];
    if (line.index == 0) own.lines = 0;
    const bool next = own.lines == line.index;
    if (reliable()) ASSERT_TRUE(next);
    if (!next) return;
    ++own.lines;
    if ((line.flags & kLineLast) == 0) return;
    ++own.times;
    if (reliable()) ASSERT_EQ(own.times, 1u);
    for (uint32_t i = 0; i < response_lines(line.call); ++i) {
      answers_[flow].push_back(response_line(line.connection, line.call, i));
    }
  }

  void end(const LineSlot& line) {
    ASSERT_LT(line.connection, case_.connections);
    ASSERT_TRUE(same(line, response_line(line.connection, line.call, line.index)));
    Connection& own = connections_[line.connection];
    Place& place = own.places[line.call & (case_.window - 1)];
    if (!place.active || place.number != line.call || place.came != line.index) {
      ++late_;
      return;
    }
    if (++place.came != response_lines(line.call)) return;
    place = {place.number + case_.window};
    ++own.ended, ++answered_;
  }

  bool all_ended() const {
    for (const Connection& each : connections_) {
      if (each.ended != calls_) return false;
    }
    return true;
  }

  const Case case_;
  NicEnd client_, server_;
  NicNetwork network_;
  Rings client_rings_, server_rings_;
  std::vector<Connection> connections_;
  std::vector<std::deque<LineSlot>> answers_;               // by flow
  std::map<std::pair<uint16_t, uint32_t>, Served> served_;  // by connection and call
  uint32_t calls_ = 0;
  uint64_t answered_ = 0, given_up_ = 0, late_ = 0;
};

TEST(AnsweredLines, OnlyWhatAnswersALineSaysThatItWasTaken) {
  constexpr uint16_t kConnection = 3;
  AnsweredLines client(4), server(4);
  for (uint32_t call = 0; call < 4; ++call) {  // requests of two lines
    client.sent(line_of(kConnection, call, 0, 0, 2), 2 * call + 1);
    client.sent(line_of(kConnection, call, 0, 1, 2), 2 * call + 2);
    server.sent(line_of(kConnection, call, kLineResponse, 0, 1), call + 1);
  }
  auto response = [](uint16_t connection, uint32_t call) { return line_of(connection, call, kLineResponse, 0, 1); };
  auto request = [](uint16_t connection, uint32_t call) { return line_of(connection, call, 0, 0, 1); };
  EXPECT_EQ(client.came(response(kConnection, 2)), 6u) << "and all lines in front of its own";
  EXPECT_EQ(client.came(response(kConnection, 0)), 6u) << "an earlier one takes nothing back";
  EXPECT_EQ(client.came(response(kConnection + 1, 3)), 6u) << "of another connection";
  EXPECT_EQ(client.came(response(kConnection, 11)), 6u) << "of no call that was sent";
  EXPECT_EQ(client.came(request(kConnection, 3)), 6u) << "no response";
  EXPECT_EQ(client.came(response(kConnection, 3)), 8u);
  EXPECT_EQ(server.came(request(kConnection, 0)), 0u) << "the request itself, repeated";
  EXPECT_EQ(server.came(request(kConnection, 5)), 2u) << "the next request in the place of call 1";
  EXPECT_EQ(server.came(request(kConnection, 2 + kGivenUpStep)), 2u) << "call 2 was given up";
  EXPECT_EQ(server.came(request(kConnection, 10)), 3u) << "of calls 2 and 6, another server answered the latter";
}

TEST(AnsweredLines, WhatARepeatedRequestIsAnsweredProvesNothing) {
  AnsweredLines server(1);
  auto response = [](uint32_t call) { return line_of(3, call, kLineResponse, 0, 1); };
  server.sent(response(0), 1);
  server.sent(response(0), 2);
  EXPECT_EQ(server.came(line_of(3, 1, 0, 0, 1)), 1u);
  server.sent(response(1), 3);
  server.sent(response(0), 4);  // later still
  EXPECT_EQ(server.came(line_of(3, 2, 0, 0, 1)), 3u);
  server.begin_anew();
  EXPECT_EQ(server.came(line_of(3, 2, 0, 0, 1)), 0u);
  server.sent(response(2), 1);
  server.forget(3);
  EXPECT_EQ(server.came(line_of(3, 3, 0, 0, 1)), 0u);
}

// The lines of a message from `first` on, as the next ones behind `sent`.
void send_lines(AnsweredLines* ring, uint32_t call, uint32_t first, uint32_t lines, uint64_t sent) {
  for (uint32_t i = first; i < lines; ++i) ring->sent(line_of(3, call, kLineResponse, i, lines), ++sent);
}

TEST(AnsweredLines, ALateRepeatsAnswerInANewRingProvesNothing) {
  for (uint32_t lines : {1, 3}) {
    AnsweredLines server(1);
    send_lines(&server, 0, 0, lines, 0);
    server.begin_anew();
    send_lines(&server, 0, 0, lines, 0);  // the request came again
    EXPECT_EQ(server.came(line_of(3, 1, 0, 0, 1)), 0u) << "its client may have the first answer";
    send_lines(&server, 1, 0, lines, lines);
    EXPECT_EQ(server.came(line_of(3, 2, 0, 0, 1)), 2 * lines);
  }
}

TEST(AnsweredLines, APlaceGoesOnAfterManyCallsThatWereGivenUp) {
  constexpr uint32_t kWindow = 4;
  for (uint32_t given_up : {1, 127, 128, 200, 239, 255}) {
    SCOPED_TRACE(given_up);
    AnsweredLines server(kWindow);
    uint32_t call = 2;
    send_lines(&server, call, 0, 1, 0);
    call += given_up * (kWindow + kGivenUpStep);
    uint64_t sent = 1;
    // Of the last one nothing has come yet that says that its client has it.
    auto answer_61 = [&] {
      uint64_t taken = 0;
      for (int i = 0; i < 61; ++i, call += kWindow) {
        taken = server.came(line_of(3, call, 0, 0, 1));
        send_lines(&server, call, 0, 1, sent++);
      }
      return taken;
    };
    if (given_up < 240) {
      EXPECT_EQ(answer_61(), 61u) << "the first of all, and 60 of these";
      continue;
    }
    // Such numbers look like late repeats, until two rings in a row have had nothing of the place that counts.
    for (int rings = 0; rings < 2; ++rings) {
      EXPECT_EQ(answer_61(), 0u);
      server.begin_anew();
      sent = 0;
    }
    EXPECT_EQ(answer_61(), 60u);
  }
}

TEST(AnsweredLines, TheRestOfAMessageCountsInANewRing) {
  for (int rings_before : {0, 1, 2}) {
    SCOPED_TRACE(rings_before);
    AnsweredLines server(1);
    if (rings_before != 0) {
      for (uint32_t i = 0; i < 5; ++i) server.sent(line_of(3, 7, kLineResponse, i, 9), i + 1);
    }
    for (int i = 0; i < rings_before; ++i) server.begin_anew();
    send_lines(&server, 7, 5, 9, 0);
    EXPECT_EQ(server.came(line_of(3, 8, 0, 0, 1)), 4u);
  }
}

TEST(DroverNicSynchronous, EveryInterfaceOverEitherTransportAnswersEachCall) {
  for (TxInterface tx_interface : kInterfaces) {
    for (nic::Transport transport : {nic::Transport::kReliable, nic::Transport::kUdp}) {
      for (uint32_t window : {1, 4}) {
        SCOPED_TRACE(testing::Message() << nic::tx_interface_name(tx_interface) << ", transport "
                                        << static_cast<int>(transport) << ", window " << window);
        SynchronousNics nics({.tx_interface = tx_interface,
                              .transport = transport,
                              .window = window,
                              .timeout = transport == nic::Transport::kUdp ? 20'000u : 0u,
                              .announce_every = window});
        EXPECT_TRUE(nics.run(300'000)) << nics.answered() << " of " << nics.calls();
        EXPECT_EQ(nics.answered(), nics.calls());
        EXPECT_EQ(nics.late(), 0u);
        nics.expect_sound();
      }
    }
  }
}

// Rings that go round many times, and stalls everywhere.
TEST(DroverNicSynchronous, InBadWeatherTheReliableTransportLosesNoCallAndTheOtherEndsEach) {
  const int rounds = std::getenv("DROVER_RTL_ROUNDS") ? std::atoi(std::getenv("DROVER_RTL_ROUNDS")) : 1;
  for (uint32_t seed = 1; seed <= 8u * static_cast<uint32_t>(rounds); ++seed) {
    std::mt19937 random(seed);
    auto some = [&](uint32_t most) { return static_cast<uint32_t>(random() % (most + 1)); };
    const bool udp = seed / 4 % 2 != 0;
    Case one{.tx_interface = kInterfaces[seed % 4],
             .transport = udp ? nic::Transport::kUdp : nic::Transport::kReliable,
             .weather = {1 + some(10), some(15), some(15), some(10)},
             .policy = static_cast<BalancePolicy>(some(2)),
             .connections = 4,
             .flows = 1 + some(1),
             .calls = 120,
             .window = 1u << some(2),
             .timeout = udp ? 3'000u : 0u,
             .patience = udp ? 20'000u : 0u,
             .announce_every = 1 + some(7),
             .seed = seed,
             .stalls = some(1) * some(40)};
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << nic::tx_interface_name(one.tx_interface) << ", udp "
                                    << udp << ", window " << one.window << ", flows " << one.flows);
    SynchronousNics nics(one);
    EXPECT_TRUE(nics.run(3'000'000)) << nics.answered() << " of " << nics.calls();
    EXPECT_EQ(nics.answered() + nics.given_up(), nics.calls());
    if (!udp) {
      EXPECT_EQ(nics.given_up() + nics.late(), 0u);
    } else {
      EXPECT_GT(nics.given_up(), 0u);
      EXPECT_GT(nics.answered(), nics.calls() / 4);
    }
    nics.expect_sound();
  }
}

// A place's calls come to either server in turn, never twice in a row to the one.
TEST(DroverNicSynchronous, AServerHearsByLaterCallsOfWhatAnotherAnswered) {
  SynchronousNics nics({.policy = BalancePolicy::kRoundRobin, .connections = 1, .flows = 2, .calls = 150});
  EXPECT_TRUE(nics.run(500'000)) << nics.answered() << " of " << nics.calls();
  nics.expect_sound();
}

// Nothing comes back that would free a ring's lines: every call ends at its time-out all the same, and once the network
// is well again, calls are answered again.
TEST(DroverNicSynchronous, CallsEndAtTheirTimeOutWhateverIsLostAndRingsBeginAnew) {
  constexpr NicWeather kGood{}, kNothingArrives{.loss = 100};
  constexpr uint32_t kConnections = 4;
  for (TxInterface tx_interface : kInterfaces) {
    for (bool requests : {true, false}) {
      SCOPED_TRACE(testing::Message() << nic::tx_interface_name(tx_interface)
                                      << (requests ? ": requests are lost" : ": responses are lost"));
      SynchronousNics nics({.tx_interface = tx_interface,
                            .transport = nic::Transport::kUdp,
                            .connections = kConnections,
                            .flows = 1,
                            .calls = 20,
                            .window = 4,
                            .timeout = 3'000,
                            .patience = 6'000});
      EXPECT_TRUE(nics.run(100'000));
      EXPECT_EQ(nics.answered(), nics.calls());
      nics.network().change(requests ? kGood : kNothingArrives, requests ? kNothingArrives : kGood);
      EXPECT_TRUE(nics.run_more(60, 500'000));
      EXPECT_EQ(nics.given_up(), 60u * kConnections);
      EXPECT_GT(nics.client_rings().begun_anew(), 0u);
      if (!requests) EXPECT_GT(nics.server_rings().begun_anew(), 0u);
      nics.network().change(kGood, kGood);
      const uint64_t before = nics.answered();
      EXPECT_TRUE(nics.run_more(60, 500'000));
      EXPECT_GT(nics.answered() - before, 50u * kConnections);
      nics.expect_sound();
    }
  }
}

}  // namespace
}  // namespace drover::rtl
