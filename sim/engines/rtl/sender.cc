#include "sim/engines/rtl/sender.h"

#include <deque>

#include "rtl/model/serializer.h"
#include "sim/platform/axi_bridge.h"

namespace drover::sim {
namespace {
constexpr uint64_t kHostBase = rtl::Serializer::kHostBase, kEngineBase = rtl::Serializer::kEngineBase;
// From the inbox if all of it is there, else over the link.
ReadPath by_inbox(const SenderSetup& setup) {
  return [inbox = setup.inbox, link = setup.link](Time now, uint64_t at, uint64_t bytes) {
    Link::Read read{};
    return inbox->read(now, at, bytes, &read) ? read : link->read(now, bytes, kHostBase + at);
  };
}

ReadPath engine_or_inbox(const SenderSetup& setup) {
  return [inbox = setup.inbox, link = setup.engine_link, pushed_from = setup.pushed_from](Time now, uint64_t at,
                                                                                          uint64_t bytes) {
    Link::Read read{};
    bool is_pushed = at >= pushed_from && inbox->read(now, RtlSender::kEngineInInbox + at, bytes, &read);
    return is_pushed ? read : link->read(now, bytes, kEngineBase + at);
  };
}

}  // namespace

const uint64_t RtlSender::kHostBus = kHostBase;

class RtlSender::Parts final : public rtl::Part {
 public:
  explicit Parts(const SenderSetup& setup)
      : now_(*setup.now),
        device_({.host_bytes = setup.host.size(), .engine_bytes = setup.engine.size()}),
        host_(device_.host_port(), by_inbox(setup), setup.host, kHostBase, setup.now),
        engine_(device_.engine_port(), engine_or_inbox(setup), setup.engine, kEngineBase, setup.now) {
    for (rtl::Part* part : std::initializer_list<rtl::Part*>{&host_, &engine_, this}) device_.add(part);
    device_.reset();
  }

  // Looks at the handshakes of this cycle.
  void drive() override {}
  void sample() override {
    const Vdrover_serializer& top = device_.top();
    ports_.read_valid = top.host_arvalid_o;
    ports_.data_valid = top.host_rvalid_i;
    ports_.tx_valid = top.tx_tvalid_o;
    ports_.done = top.done_valid_o;
    ports_.request_stalls = host_.stalls().cycles;
    ports_.waiting = host_.waiting_cycles();
    if (top.tx_tvalid_o && top.tx_tready_i && top.tx_tlast_o) packet_ends_.push_back(now_);
  }
  void cycle() {
    while (!waiting_.empty() && waiting_.front().first <= now_) {
      device_.send(waiting_.front().second);
      waiting_.pop_front();
    }
    device_.cycle();
    while (next_ < device_.completions().size()) {
      const rtl::SerializerCompletion& completion = device_.completions()[next_];
      SendDone done{
          completion.cookie, static_cast<uint8_t>(completion.error), rtl::left_to_software(completion.error), now_, {}};
      if (done.error == 0) {
        if (packet_ends_.empty() || device_.packets().packets() == 0) break;  // its last beat is still to come
        done.packet = device_.packets().take();
        done.at = packet_ends_.front();
        packet_ends_.pop_front();
      }
      ++next_;
      if (callback_) callback_(std::move(done));
    }
  }

  const Time& now_;
  rtl::Serializer device_;
  AxiReadBridge host_, engine_;
  SenderPorts ports_;
  std::deque<std::pair<Time, rtl::SerializerCommand>> waiting_;
  std::deque<Time> packet_ends_;
  size_t next_ = 0;
  std::function<void(SendDone)> callback_;
};

RtlSender::RtlSender(const SenderSetup& setup) : parts_(std::make_unique<Parts>(setup)) {}
RtlSender::~RtlSender() = default;
void RtlSender::load(const schema::Image& image) { parts_->device_.load(image); }
void RtlSender::send(const SendCommand& send) {
  rtl::SerializerCommand command;
  command.walk = send.source.walk;
  command.message = static_cast<uint16_t>(send.source.message_index);
  command.cookie = send.cookie;
  command.pushed = send.pushed;
  command.records = send.pushed ? kEngineBase + send.pushed_at : kHostBase + send.source.records;
  command.record_bytes = send.source.record_bytes;
  command.payload = kHostBase + send.source.payload;
  command.payload_bytes = send.source.payload_bytes;
  if (send.grpc_prefix) {
    command.header.assign(5, '\0');
    command.length_format = rtl::LengthFormat::kBigEndian;
    command.length_at = 1;
  }
  parts_->waiting_.emplace_back(send.at, command);
}
void RtlSender::on_done(std::function<void(SendDone)> callback) { parts_->callback_ = std::move(callback); }
void RtlSender::cycle() { parts_->cycle(); }
const SenderPorts& RtlSender::ports() const { return parts_->ports_; }
uint64_t RtlSender::violations() const { return parts_->host_.violations() + parts_->engine_.violations(); }

}  // namespace drover::sim
