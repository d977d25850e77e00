// Fuzz target: any bytes as datagrams to an engine with links, from addresses of links and from others. The input is a
// list of records: how to send, a length, bytes. What it cannot know (keys, cookies) it may ask to have filled in, so
// that the code behind those checks is reached. The engine may count, drop and answer, with no more bytes than it got;
// every slot that it takes was sent to it in order. Seeds: tests/corpus/peer_fuzz.
#include <cstdlib>

#include "engine/datagram/peer_testing.h"

namespace {

using namespace drover;
using namespace drover::engine;
using drover::engine::testing::TestNetwork;
using drover::engine::testing::TestPeer;

void require(bool holds) {
  if (!holds) std::abort();
}

class Fuzz {
 public:
  Fuzz() : network_(1), a_(network_, 1, options()), b_(network_, 2, options()) {
    network_.recorder = [this](const TestNetwork::Datagram& datagram) {
      if (datagram.to == b_.listening()) last_ = datagram;
    };
    a_.keep = b_.keep = false;
    b_.echo = true;
    link_ = a_.open(b_);
    a_.push(*link_, 1);
    network_.run_for(5'000'000);
    require(b_.taken == 1);
  }
  // How: bits 0-1: what is filled in; 2: from another address; 3: the sender pushes a slot; 4: time passes; 5: to a_.
  void record(uint8_t how, std::span<const uint8_t> bytes) {
    if ((how & 8) != 0 && !a_.links.empty()) a_.push(*a_.links[0], how);
    if ((how & 16) != 0) network_.run_for((how & 128) != 0 ? 4'000'000'000 : 3'000'000);
    TestNetwork::Datagram datagram = last_;
    datagram.bytes.assign(reinterpret_cast<const std::byte*>(bytes.data()),
                          reinterpret_cast<const std::byte*>(bytes.data() + bytes.size()));
    fill(datagram, how & 3);
    if ((how & 4) != 0) datagram.from = testing::address_of(how, 99);
    if ((how & 32) != 0) {
      datagram.from = b_.listening();
      datagram.to = a_.opening();
    }
    const uint64_t before = a_.sent_bytes + b_.sent_bytes;
    network_.deliver(datagram);
    require(a_.sent_bytes + b_.sent_bytes - before <= datagram.bytes.size());
    require(b_.table->links() <= 4 && b_.table->memory().used <= b_.table->memory().limit);
  }
  void end() { network_.run_for(10'000'000'000); }

 private:
  static PeerOptions options() {
    PeerOptions options;
    options.max_peers = 4;
    options.memory = 4 << 20;
    options.window = 256;
    return options;
  }
  // 1: a right head but for kind, lines and delay. 2: only the key. 3: all of the last datagram but the given slots.
  void fill(TestNetwork::Datagram& datagram, int what) const {
    auto copy = [&](size_t from, size_t to) {
      for (size_t at = from; at < std::min({to, datagram.bytes.size(), last_.bytes.size()}); ++at) {
        datagram.bytes[at] = last_.bytes[at];
      }
    };
    if (what == 1) copy(0, 2), copy(6, kLinkHeadSize);
    if (what == 2) copy(0, 2), copy(6, 10);
    if (what == 3) copy(0, kLinkHeadSize);
  }

  TestNetwork network_;
  TestNetwork::Datagram last_;
  TestPeer a_, b_;
  PeerLink* link_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Fuzz fuzz;
  std::span<const uint8_t> rest(data, size);
  for (int records = 0; rest.size() >= 3 && records < 64; ++records) {
    const uint8_t how = rest[0];
    const size_t length = std::min<size_t>(rest[1] | rest[2] << 8, rest.size() - 3);
    fuzz.record(how, rest.subspan(3, length));
    rest = rest.subspan(3 + length);
  }
  fuzz.end();
  return 0;
}
