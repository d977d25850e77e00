// dispatch_bench [calls] [payload] [at a time] [idle hosts]: what the dispatcher costs a call, without sockets: open to
// reply_sent with a host that answers each request with itself, on the same thread, beside hosts of 1,024 workers that
// have no calls. Prints nanoseconds a call, for the engine's part and for the host's stand-in. Also what callgrind is
// run on.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/epoll.h>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

class DroppingTransport final : public ReplySink {
 public:
  void started(Call&) override {}
  void cut_off(Call&) override {}
  bool reply(Call& call, const Reply& reply) override {
    bytes += reply.message_size;
    sink->reply_sent(call);
    return false;
  }
  void consumed(Call&, size_t, size_t) override {}
  CallSink* sink = nullptr;
  uint64_t bytes = 0;
};

std::shared_ptr<HostAttachment> make_host(const char* path, const ChannelOptions& channel) {
  static uint64_t last_id = 0;
  auto host = std::make_shared<HostAttachment>();
  host->id = ++last_id;
  host->name = "bench";
  std::string why;
  host->layout = RegionLayout::compute(channel, &why);
  RegionError error;
  host->region = Region::create(host->layout->sizes(), &error);
  if (!host->region || !host->layout->write(*host->region)) return nullptr;
  host->methods.push_back({path, echo_type(), echo_type()});
  host->listeners = {1};
  host->bells.emplace_back(::epoll_create1(EPOLL_CLOEXEC));
  return host;
}

int run(int rounds, size_t payload, size_t batch, int idle_hosts) {
  DroppingTransport transport;
  ThreadMetrics metrics(0);
  Dispatcher dispatcher(0, transport, metrics, {}, nullptr);
  transport.sink = &dispatcher;
  auto host = make_host("/drover.examples.echo.Echo/Unary", {1, 1, 1024, 16 << 20, 16 << 20});
  if (host == nullptr) return 1;
  dispatcher.attach(host);
  for (int i = 0; i < idle_hosts; ++i) {
    auto idle = make_host("/drover.examples.echo.Idle/Unary", {1, 1024, 16, 4096, 4096});
    if (idle == nullptr) return 1;
    dispatcher.attach(idle);
  }
  RegionError error;
  auto region = Region::attach(UniqueFd(::dup(host->region->rx_fd())), UniqueFd(::dup(host->region->tx_fd())), &error);
  if (!region) return 1;
  HostChannel channel = HostChannel::open(*region, *host->layout, 0);
  uint64_t object = host->layout->tx_chunks(0).offset;
  char* memory = region->base() + object;
  ChunkPool pool(host->layout->tx_chunks(0));
  ChunkBlockSource source(pool, region->base());
  Arena arena(source);
  object = region->offset_of(arena.allocate_zeroed(echo_type().entry().object_size));
  memory = region->base() + object;
  std::string wire = echo_wire(std::string(payload, 'p'), 2);
  if (!decode(echo_type(), reinterpret_cast<Message*>(memory), wire, arena).ok()) return 1;

  const Peer peer{"ipv4:127.0.0.1:40000", {}};
  const std::vector<Header> metadata = {{"user-agent", "bench/1"}};
  Ledger ledger({}, metrics);
  AccountRef client = ledger.open_connection("192.0.2.1");
  std::vector<Call> calls(batch);
  for (Call& call : calls) {
    call.account = client.get();
    call.path = "/drover.examples.echo.Echo/Unary";
    call.authority = "127.0.0.1:50051";
    call.peer = &peer;
    call.listener = 1;
    call.metadata = metadata;
  }
  int64_t engine_ns = 0, host_ns = 0;
  for (int round = 0; round < rounds; ++round) {
    int64_t t0 = monotonic_ns();
    for (Call& call : calls) {
      dispatcher.open(call);
      dispatcher.message(call, wire, More::kLast);
    }
    dispatcher.poll(t0);
    int64_t t1 = monotonic_ns();
    Slot slot;
    while (channel.requests.try_pop(slot)) {
      if (slot.type != static_cast<uint8_t>(RequestSlotType::kCall)) continue;
      auto call = slot_as<CallSlot>(slot);
      CompleteSlot complete{};
      complete.type = static_cast<uint8_t>(ResponseSlotType::kComplete);
      complete.flags = kCompleteFinished;
      complete.call = call.call;
      complete.generation = call.generation;
      complete.response = object;
      channel.responses.try_push(complete);
    }
    int64_t t2 = monotonic_ns();
    do {
      dispatcher.poll(t2);  // again if the host's time in a turn was over, as when the thread was not running
    } while (dispatcher.calls() != 0);
    int64_t t3 = monotonic_ns();
    engine_ns += (t1 - t0) + (t3 - t2);
    host_ns += t2 - t1;
  }
  double count = static_cast<double>(batch) * rounds;
  std::printf("payload %zu: engine %.0f ns a call, ring ends of the host %.0f ns, %llu bytes answered\n", payload,
              static_cast<double>(engine_ns) / count, static_cast<double>(host_ns) / count,
              static_cast<unsigned long long>(transport.bytes));
  return 0;
}

}  // namespace
}  // namespace drover::engine

int main(int argc, char** argv) {
  int calls = argc > 1 ? std::atoi(argv[1]) : 1'000'000;
  size_t payload = argc > 2 ? static_cast<size_t>(std::atol(argv[2])) : 32;
  int batch = argc > 3 ? std::max(1, std::min(std::atoi(argv[3]), 1000)) : 64;
  int idle_hosts = argc > 4 ? std::atoi(argv[4]) : 0;
  return drover::engine::run(calls / batch + 1, payload, static_cast<size_t>(batch), idle_hosts);
}
