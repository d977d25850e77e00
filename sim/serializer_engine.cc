#include "sim/serializer_engine.h"

#include <deque>
#include <iterator>

#include "rtl/serializer/serializer_bench.h"
#include "sim/axi_bridge.h"

namespace drover::sim {
namespace {
constexpr uint64_t kHostBase = rtl::SerializerBench::kHostBase, kEngineBase = rtl::SerializerBench::kEngineBase;
// From the inbox what is there, the rest over the link.
ReadPath by_inbox(const SerializerSetup& setup) {
  return [inbox = setup.inbox, link = setup.link](Time now, uint64_t at, uint64_t bytes) {
    Link::Read read{};
    return inbox->read(now, at, bytes, &read) ? read : link->read(now, bytes, kHostBase + at);
  };
}

}  // namespace

const uint64_t SerializerEngine::kHostBus = kHostBase;

const char* serializer_error_name(uint8_t error) {
  static const char* const kNames[] = {"none",       "bad_record",   "truncated",  "bad_nesting", "out_of_bounds",
                                       "too_large",  "null_element", "misaligned", "left_arena",  "left_pieces",
                                       "left_depth", "left_object",  "left_field", "left_work",   "?",
                                       "bus"};
  return error < std::size(kNames) ? kNames[error] : "?";
}

class SerializerEngine::Parts {
 public:
  explicit Parts(const SerializerSetup& setup)
      : now_(*setup.now),
        simulation_(&top_),
        table_(top_),
        commands_(top_, rtl::Stalls()),
        completions_(top_, rtl::Stalls()),
        sink_(DROVER_AXI_STREAM_OUTPUT(top_, tx)),
        host_(DROVER_AXI_READ_PORT(top_, host), by_inbox(setup), setup.host, kHostBase, setup.now),
        engine_(DROVER_AXI_READ_PORT(top_, engine), setup.engine_link, setup.engine, kEngineBase, setup.now) {
    top_.host_base_i = kHostBase;
    top_.host_limit_i = kHostBase + setup.host.size();
    top_.engine_base_i = kEngineBase;
    top_.engine_size_i = setup.engine.size();
    for (rtl::Part* part :
         std::initializer_list<rtl::Part*>{&table_, &commands_, &completions_, &sink_, &host_, &engine_, &watch_}) {
      simulation_.add(part);
    }
    simulation_.reset();
  }
  ~Parts() { top_.final(); }

  // Looks at the handshakes of this cycle.
  class Watch final : public rtl::Part {
   public:
    explicit Watch(Parts* parts) : parts_(*parts) {}
    void drive() override {}
    void sample() override { parts_.look(); }

   private:
    Parts& parts_;
  };
  void look() {
    ports_.read_valid = top_.host_arvalid_o;
    ports_.data_valid = top_.host_rvalid_i;
    ports_.tx_valid = top_.tx_tvalid_o;
    ports_.done = top_.done_valid_o;
    ports_.request_stalls = host_.stalls().cycles;
    ports_.waiting = host_.waiting_cycles();
    if (top_.tx_tvalid_o && top_.tx_tready_i && top_.tx_tlast_o) packet_ends_.push_back(now_);
  }
  void cycle() {
    while (!waiting_.empty() && waiting_.front().first <= now_) {
      commands_.send(waiting_.front().second);
      waiting_.pop_front();
    }
    simulation_.cycle();
    while (next_ < completions_.all().size()) {
      const rtl::SerializerCompletion& completion = completions_.all()[next_];
      SerializerDone done{
          completion.cookie, static_cast<uint8_t>(completion.error), rtl::left_to_software(completion.error), now_, {}};
      if (done.error == 0) {
        if (packet_ends_.empty() || sink_.packets() == 0) break;  // its last beat is still to come
        done.packet = sink_.take();
        done.at = packet_ends_.front();
        packet_ends_.pop_front();
      }
      ++next_;
      if (callback_) callback_(std::move(done));
    }
  }

  const Time& now_;
  Vdrover_serializer top_;
  rtl::Simulation<Vdrover_serializer> simulation_;
  rtl::SchemaTable table_;
  rtl::SerializerCommands commands_;
  rtl::SerializerCompletions completions_;
  rtl::AxiStreamSink sink_;
  AxiReadBridge host_, engine_;
  Watch watch_{this};
  SerializerPorts ports_;
  std::deque<std::pair<Time, rtl::SerializerCommand>> waiting_;
  std::deque<Time> packet_ends_;
  size_t next_ = 0;
  std::function<void(SerializerDone)> callback_;
};

SerializerEngine::SerializerEngine(const SerializerSetup& setup) : parts_(std::make_unique<Parts>(setup)) {}
SerializerEngine::~SerializerEngine() = default;
void SerializerEngine::load(const schema::Image& image) { parts_->table_.load(image, true); }
void SerializerEngine::send(const SerializerSend& send) {
  rtl::SerializerCommand command;
  command.walk = send.walk;
  command.message = static_cast<uint16_t>(send.message_index);
  command.cookie = send.cookie;
  command.records = kHostBase + send.records;
  command.record_bytes = send.record_bytes;
  command.payload = kHostBase + send.payload;
  command.payload_bytes = send.payload_bytes;
  if (send.grpc_prefix) {
    command.header.assign(5, '\0');
    command.length_format = 1;
    command.length_at = 1;
  }
  parts_->waiting_.emplace_back(send.at, command);
}
void SerializerEngine::on_done(std::function<void(SerializerDone)> callback) {
  parts_->callback_ = std::move(callback);
}
void SerializerEngine::cycle() { parts_->cycle(); }
const SerializerPorts& SerializerEngine::ports() const { return parts_->ports_; }
uint64_t SerializerEngine::violations() const { return parts_->host_.violations() + parts_->engine_.violations(); }

}  // namespace drover::sim
