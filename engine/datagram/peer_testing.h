// For tests of links: engines in one process over a simulated network with a clock of its own: datagrams are lost,
// repeated and delayed by a seeded random generator, and wait for a limited link. Everything is deterministic.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "channel/channel_format.h"
#include "engine/base/metrics.h"
#include "engine/datagram/peer_table.h"

namespace drover::engine::testing {

inline UdpAddress address_of(uint8_t machine, uint16_t port) {
  UdpAddress address;
  address.family = 4;
  address.ip = {10, 0, 0, machine};
  address.port = port;
  return address;
}

inline Slot slot_of(uint64_t number) {
  Slot slot{};
  slot.type = kLineType;
  for (size_t at = 12; at + 8 <= sizeof slot; at += 8) std::memcpy(reinterpret_cast<char*>(&slot) + at, &number, 4);
  return slot;
}
inline uint64_t word_of(const Slot& slot) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const char*>(&slot) + 8, sizeof word);
  return word;
}

class TestNetwork;

// An engine with a listening port (0) and one for links that it opens (1).
class TestPeer final : public PeerEvents, public DatagramOut {
 public:
  TestPeer(TestNetwork& network, uint8_t machine, PeerOptions options = {});

  bool push(PeerLink& link, uint64_t number) {
    const Slot slot = slot_of(number);
    return link.push(slot, word_of(slot), 8);
  }
  PeerLink* open(const TestPeer& other);
  UdpAddress listening() const { return address_of(machine, 4700); }
  UdpAddress opening() const { return address_of(machine, 5000); }

  // ---- PeerEvents
  void on_slot(PeerLink& link, const std::byte* bytes) override {
    Slot slot;
    std::memcpy(&slot, bytes, sizeof slot);
    uint32_t number;
    std::memcpy(&number, reinterpret_cast<const char*>(&slot) + 20, sizeof number);
    const Slot expected = slot_of(number);
    if (std::memcmp(&slot, &expected, sizeof slot) != 0) damaged = true;
    ++taken;
    if (keep) came[&link].push_back(number);
    if (echo) push(link, number);
  }
  bool on_link(PeerLink& link) override {
    if (!takes_links) return false;
    links.push_back(&link);
    return true;
  }
  void on_ended(PeerLink& link, const char* why) override {
    std::erase(links, &link);
    came.erase(&link);
    ended.push_back(why);
  }
  // ---- DatagramOut
  void send(uint32_t port, const UdpAddress& to, std::span<const std::byte> head, std::span<const Slot> first,
            std::span<const Slot> second) override;

  TestNetwork& network;
  const uint8_t machine;
  ThreadMetrics metrics{0};
  std::map<PeerLink*, std::vector<uint32_t>> came;
  std::vector<PeerLink*> links;  // that other engines have opened, and those of open()
  std::vector<std::string> ended;
  bool damaged = false, echo = false, keep = true, takes_links = true, up = true;
  uint64_t taken = 0, sent = 0, sent_bytes = 0;
  std::unique_ptr<PeerTable> table;
};

class TestNetwork {
 public:
  struct Weather {
    int loss = 0, repeat = 0, late = 0;  // per cent
    int64_t delay_ns = 50'000;
    double bytes_a_ns = 0;    // of all links together, one direction each way; 0: any rate
    size_t queue = SIZE_MAX;  // bytes that wait for that
  };
  struct Datagram {
    UdpAddress from, to;
    std::vector<std::byte> bytes;
  };

  explicit TestNetwork(uint32_t seed = 1) : random(seed) {}

  void add(TestPeer& peer) { peers_.push_back(&peer); }
  void carry(Datagram datagram) {
    if (recorder) recorder(datagram);
    const auto roll = [this](int per_cent) { return static_cast<int>(random() % 100) < per_cent; };
    if (roll(weather.loss)) return;
    int64_t at = now_ns + weather.delay_ns;
    if (weather.bytes_a_ns != 0) {
      int64_t& free_ns = free_ns_[datagram.to.ip[3]];
      const int64_t wait_ns = std::max<int64_t>(free_ns - now_ns, 0);
      const size_t bytes = datagram.bytes.size() + 42;
      if (static_cast<double>(wait_ns) * weather.bytes_a_ns + static_cast<double>(bytes) >
          static_cast<double>(weather.queue)) {
        ++overflows;
        return;
      }
      free_ns = std::max(free_ns, now_ns) + static_cast<int64_t>(static_cast<double>(bytes) / weather.bytes_a_ns);
      at = free_ns + weather.delay_ns;
    }
    if (roll(weather.late)) at += static_cast<int64_t>(random() % 1'000'000);
    if (roll(weather.repeat)) under_way_.emplace(at + static_cast<int64_t>(random() % 1'000'000), datagram);
    under_way_.emplace(at, std::move(datagram));
  }
  // Until then, or until `done`.
  template <typename Done>
  bool run_until(int64_t end_ns, Done done) {
    while (!done()) {
      int64_t next = under_way_.empty() ? INT64_MAX : under_way_.begin()->first;
      for (TestPeer* peer : peers_) {
        if (peer->up) next = std::min(next, peer->table->next_ns());
      }
      if (next > end_ns) return now_ns = end_ns, false;
      now_ns = std::max(now_ns, next);
      while (!under_way_.empty() && under_way_.begin()->first <= now_ns) deliver_first();
      for (TestPeer* peer : peers_) {
        if (peer->up) peer->table->turn(now_ns, *peer);
      }
      now_ns += 1'000;  // a turn
    }
    return true;
  }
  void run_for(int64_t ns) {
    run_until(now_ns + ns, [] { return false; });
  }
  // To whom it is addressed, at once.
  void deliver(const Datagram& datagram) {
    for (TestPeer* peer : peers_) {
      const bool listening = datagram.to == peer->listening();
      if (!peer->up || (!listening && datagram.to != peer->opening())) continue;
      peer->table->datagram(listening ? 0 : 1, listening, datagram.from, datagram.bytes, false, now_ns, *peer);
    }
  }

  int64_t now_ns = 1'000'000'000;
  Weather weather;
  std::mt19937 random;
  uint64_t overflows = 0;
  std::function<void(const Datagram&)> recorder;

 private:
  void deliver_first() {
    Datagram datagram = std::move(under_way_.begin()->second);
    under_way_.erase(under_way_.begin());
    deliver(datagram);
  }
  std::vector<TestPeer*> peers_;
  std::multimap<int64_t, Datagram> under_way_;
  std::map<uint8_t, int64_t> free_ns_;
};

inline TestPeer::TestPeer(TestNetwork& net, uint8_t machine_number, PeerOptions options)
    : network(net), machine(machine_number) {
  static int64_t wall_ns = 0;
  options.wall_ns = [] { return ++wall_ns; };
  options.seed = net.random();
  options.cookie_key = {net.random(), net.random()};
  table = std::make_unique<PeerTable>(options, *this, metrics);
  net.add(*this);
}
inline PeerLink* TestPeer::open(const TestPeer& other) {
  PeerLink* link = table->open(other.listening(), 1, network.now_ns);
  if (link != nullptr) links.push_back(link);
  return link;
}
inline void TestPeer::send(uint32_t port, const UdpAddress& to, std::span<const std::byte> head,
                           std::span<const Slot> first, std::span<const Slot> second) {
  TestNetwork::Datagram datagram{port == 0 ? listening() : opening(), to, {head.begin(), head.end()}};
  for (std::span<const Slot> part : {first, second}) {
    const auto bytes = std::as_bytes(part);
    datagram.bytes.insert(datagram.bytes.end(), bytes.begin(), bytes.end());
  }
  ++sent;
  sent_bytes += datagram.bytes.size();
  network.carry(std::move(datagram));
}

}  // namespace drover::engine::testing
