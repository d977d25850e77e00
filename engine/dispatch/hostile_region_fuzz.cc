// A hostile host: the fuzzer writes the bytes of its tx region and of its responses ring while the dispatcher polls. No
// crash, nothing read outside the region (ASan), no call answered twice, none forgotten.
//
// Input: a list of records, each { u8 kind, u8 length, u32 where, bytes }:
//   0 COMPLETE with 24 bytes of fields | 1 raw slot | 2 bytes into the chunks | 3 bytes anywhere in tx | 4 poll
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include <sys/epoll.h>

#include "engine/dispatch/dispatch_testing.h"
#include "testing/fuzz_input.h"

namespace drover::engine {
namespace {

class CountingTransport final : public ReplySink {
 public:
  void started(Call&) override {}
  void cut_off(Call&) override {}
  void consumed(Call&, size_t, size_t) override {}
  bool reply(Call& call, const Reply& reply) override {
    if (call.dispatch == nullptr) std::abort();
    for (const Piece& piece : reply.message) {
      for (size_t i = 0; i < piece.size; ++i) sum += static_cast<unsigned char>(piece.data[i]);
    }
    for (char c : reply.status_message) sum += static_cast<unsigned char>(c);
    ++replies;
    if (!reply.ends) {  // a step: every third is kept until the end
      --replies;
      if (++steps % 3 != 0) return true;
      ++kept[&call];
      return false;
    }
    for (; kept[&call] != 0; --kept[&call]) sink->reply_sent(call);
    sink->reply_sent(call);
    return false;
  }
  CallSink* sink = nullptr;
  size_t replies = 0, steps = 0;
  std::map<const Call*, size_t> kept;  // steps of replies that stream
  uint64_t sum = 0;
};

std::shared_ptr<HostAttachment> make_host() {
  auto host = std::make_shared<HostAttachment>();
  host->id = 1;
  host->name = "fuzz";
  std::string why;
  host->layout = RegionLayout::compute({1, 1, 16, 64 << 10, 64 << 10}, &why);
  RegionError error;
  host->region = Region::create(host->layout->sizes(), &error);
  if (!host->region) std::abort();
  if (!host->layout->write(*host->region)) std::abort();
  host->methods.push_back({"/test.Echo/Say", echo_type(), echo_type()});
  host->methods.push_back({"/test.Echo/Talk", echo_type(), echo_type(), kMethodRequestStreams | kMethodReplyStreams});
  host->methods.push_back({"/test.Echo/Raw", raw_type(), raw_type(), kMethodRaw});
  host->listeners = {1};
  host->bells.emplace_back(::epoll_create1(EPOLL_CLOEXEC));  // any descriptor that can be watched
  return host;
}

using Input = testing::FuzzInput;

void run(Input input) {
  const Peer peer;
  CountingTransport transport;
  ThreadMetrics metrics(0);
  Dispatcher dispatcher(0, transport, metrics, {}, nullptr);
  transport.sink = &dispatcher;
  auto host = make_host();
  RegionError error;
  auto mapped = Region::attach(UniqueFd(::dup(host->region->rx_fd())), UniqueFd(::dup(host->region->tx_fd())), &error);
  if (!mapped) std::abort();
  char* base = mapped->base();  // as the host has it: tx is for it to write
  dispatcher.attach(host);
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 10; ++i) {  // of which two are raw, and the last two stream: their slots fill the ring
    calls.push_back(std::make_unique<Call>());
    const bool streams = i >= 8;
    calls.back()->path = streams ? "/test.Echo/Talk" : i >= 6 ? "/test.Echo/Raw" : "/test.Echo/Say";
    calls.back()->peer = &peer;
    calls.back()->listener = 1;
    if (dispatcher.open(*calls.back()).code != StatusCode::kOk) std::abort();
    if (streams) {
      dispatcher.start(*calls.back());
      dispatcher.message(*calls.back(), echo_wire("first"), More::kMay);
    }
    dispatcher.message(*calls.back(), echo_wire("request"), More::kLast);
  }
  Area chunks = host->layout->tx_chunks(0), ring = host->layout->responses_ring(0);
  size_t tx_size = host->region->tx_size();
  uint32_t position = 0;
  while (input.more()) {
    uint8_t kind = input.take<uint8_t>() % 6, length = input.take<uint8_t>();
    uint32_t where = input.take<uint32_t>();
    char* slot = base + ring.offset + (position % 16) * kSlotSize;
    uint32_t sequence = position / 16 + 1;
    if (kind == 0) {
      CompleteSlot complete{};
      complete.type = 1;
      complete.flags = where & 1;
      complete.call = length % 16;
      complete.generation = 1;
      complete.status = input.take<uint8_t>() % 20;
      complete.response = chunks.offset + input.take<uint16_t>() % chunks.size;
      complete.trailer = (where & 2) != 0 ? chunks.offset + input.take<uint16_t>() % chunks.size : 0;
      complete.sequence = sequence;
      std::memcpy(slot, &complete, sizeof complete);
      ++position;
    } else if (kind == 1) {
      input.copy_to(slot + 4, 60);
      std::memcpy(slot, &sequence, 4);
      ++position;
    } else if (kind == 2) {
      size_t at = where % chunks.size;
      input.copy_to(base + chunks.offset + at, std::min<size_t>(length, chunks.size - at));
    } else if (kind == 3) {
      size_t at = where % tx_size;
      input.copy_to(base + host->region->rx_size() + at, std::min<size_t>(length, tx_size - at));
    } else if (kind == 4) {  // of a stream
      ReplyMessageSlot message{};
      message.type = (where & 4) != 0 ? 3 : 4;
      message.flags = where & 1;
      message.call = 8 + length % 2;
      message.generation = 1;
      message.tx_call = (where & 4) != 0 ? length : 1;  // of CONSUMED: how many
      message.consumed = (where & 8) != 0 ? 1 : 0;
      message.response = chunks.offset + input.take<uint16_t>() % chunks.size;
      message.trailer = (where & 2) != 0 ? chunks.offset + input.take<uint16_t>() % chunks.size : 0;
      message.sequence = sequence;
      std::memcpy(slot, &message, sizeof message);
      ++position;
    } else {
      dispatcher.poll(monotonic_ns());
      Call& one = *calls[where % calls.size()];
      if ((length & 7) == 0 && one.dispatch != nullptr) {  // its client goes
        dispatcher.abandon(one);
        transport.kept.erase(&one);
        ++transport.replies;
      }
    }
  }
  dispatcher.poll(monotonic_ns());
  dispatcher.detach(1);
  if (transport.replies != calls.size() || dispatcher.calls() != 0) std::abort();
}

}  // namespace
}  // namespace drover::engine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  drover::engine::run({data, size});
  return 0;
}
