#include "sim/platform/platform.h"

#include <algorithm>
#include <utility>

#include "sim/platform/inbox.h"

namespace drover::sim {
namespace {

constexpr uint64_t kPacketBuffers = uint64_t{6} << 36, kPacketBufferBytes = uint64_t{1} << 24;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kLine = Inbox::kLine;  // a doorbell is one

}  // namespace

uint64_t Platform::packet_buffer(uint64_t bytes) {
  uint64_t at = bytes > kPacketBufferBytes - buffers_ ? 0 : buffers_;
  buffers_ = (at + bytes + kPage - 1) / kPage * kPage % kPacketBufferBytes;
  return kPacketBuffers + at;
}

Time Platform::on_cpu(Transfer* transfer, Time cost, Time copies, std::function<void()> what) {
  Time begins = std::max(now(), cpu_free_);
  cpu_free_ = begins + cost;
  transfer->leg.cpu += cost;
  transfer->leg.copies += copies;
  cpu_busy_ = true;
  at(cpu_free_, [this] { cpu_busy_ = cpu_free_ > now(); });
  at(begins + std::max(cost, copies), std::move(what));
  return begins + cost;
}

void Platform::decode_on_cpu(Transfer* transfer) {
  on_cpu(transfer, setup_.costs.costs[transfer->message].decode, 0, [this, transfer] { finish(transfer); });
}

void Platform::encode_on_cpu(Transfer* transfer) {
  const MessageCost& cost = setup_.costs.costs[transfer->message];
  on_cpu(transfer, cost.encode + options().cpu.line_cost(), cost.encode_copies, [this, transfer] {
    at(nic_link().push(now(), kLine).arrived, [this, transfer] {
      uint64_t bytes = message(*transfer).wire.size();
      at(nic_link().read(now(), bytes, packet_buffer(bytes)).done, [this, transfer] { finish(transfer); });
    });
  });
}

void Platform::hand_over(Transfer* transfer, std::vector<Time>* pushed, std::function<void()> then) {
  const MessageCost& cost = setup_.costs.costs[transfer->message];
  bool stream = !prepared(*transfer).source.walk;
  Time line = options().cpu.line_cost();
  Time work = (stream ? cost.preserialize : 0) + line;
  // The records of a stream have just been written; an object is read to be pushed.
  Time each = line + (stream ? 0 : line_copy_cost(options().cpu));
  if (pushed != nullptr) work += pushed->size() * each;
  Time end = on_cpu(transfer, work, stream ? cost.copies : 0,
                    [this, then = std::move(then)] { at(link_.push(now(), kLine).arrived, then); });
  if (pushed == nullptr) return;
  // Stores follow each other, the doorbell's last; each line is on its way when it is full.
  for (size_t i = 0; i < pushed->size(); ++i) {
    at(end - line - (pushed->size() - 1 - i) * each,
       [this, pushed, i] { (*pushed)[i] = link_.push(now(), kLine).arrived; });
  }
}

}  // namespace drover::sim
