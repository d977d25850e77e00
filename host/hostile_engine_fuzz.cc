// A hostile engine: the fuzzer writes the bytes of rx while a Worker serves what lies in its requests ring. No crash,
// and nothing that a handler is shown lies outside rx; with checked requests, nothing lies inside the region.
//
// Input: u8 (bit 0: requests are checked), then records, each { u8 kind, u8 length, u32 where, bytes }:
//   0 CALL with 8 bytes of fields | 1 raw slot | 2 bytes into the chunks | 3 bytes anywhere in rx | 4 serve
//   5 MESSAGE | 6 RELEASE of a message of a stream
#include <sys/eventfd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "channel/call_records.h"
#include "host/worker.h"
#include "host_test.grpc.pb.h"
#include "testing/fuzz_input.h"

namespace drover::host {
namespace {

using hosttest::Reply;
using hosttest::Request;

constexpr uint32_t kRingSlots = 16;

using Base = hosttest::Testing::WithCallbackMethod_Collect<hosttest::Testing::WithCallbackMethod_Spread<
    hosttest::Testing::WithCallbackMethod_Talk<hosttest::Testing::Service>>>;

class Service final : public Base {
 public:
  // Sends each message back; ends with the client, or when that has left. Objects are trusted unless requests are
  // checked: then nothing is read.
  class Talker final : public grpc::ServerBidiReactor<Request, Reply> {
   public:
    explicit Talker(Service* service) : service_(service) {
      if (service->link->check_requests) StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return finish();
      service_->look_at(request_);
      reply_.set_number(request_.number());
      StartWrite(&reply_);
    }
    void OnWriteDone(bool ok) override { ok ? StartRead(&request_) : finish(); }
    void OnCancel() override { finish(); }
    void OnDone() override { delete this; }

   private:
    void finish() {
      if (!std::exchange(finished_, true)) Finish(grpc::Status::OK);
    }
    Service* service_;
    bool finished_ = false;
    Request request_;
    Reply reply_;
  };
  class Collector final : public grpc::ServerReadReactor<Request> {
   public:
    explicit Collector(Service* service) : service_(service) {
      if (service->link->check_requests) StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return finish();
      service_->look_at(request_);
      StartRead(&request_);
    }
    void OnCancel() override { finish(); }
    void OnDone() override { delete this; }

   private:
    void finish() {
      if (!std::exchange(finished_, true)) Finish(grpc::Status::OK);
    }
    Service* service_;
    bool finished_ = false;
    Request request_;
  };
  class Spreader final : public grpc::ServerWriteReactor<Reply> {
   public:
    Spreader() {
      reply_.set_payload(std::string(3000, 'x'));
      StartWrite(&reply_);
    }
    void OnWriteDone(bool ok) override {
      if (!ok || ++written_ == 100) return Finish(grpc::Status::OK);
      StartWrite(&reply_);
    }
    void OnDone() override { delete this; }

   private:
    int written_ = 0;
    Reply reply_;
  };
  grpc::ServerBidiReactor<Request, Reply>* Talk(grpc::CallbackServerContext*) override { return new Talker(this); }
  grpc::ServerReadReactor<Request>* Collect(grpc::CallbackServerContext*, Reply*) override {
    return new Collector(this);
  }
  grpc::ServerWriteReactor<Reply>* Spread(grpc::CallbackServerContext*, const Request*) override {
    return new Spreader();
  }

  grpc::Status Echo(grpc::ServerContext* context, const Request* request, Reply* reply) override {
    show(context->ExperimentalGetAuthority());
    for (const auto& [key, value] : context->client_metadata()) show(key), show(value);
    sum += context->peer().size() + static_cast<size_t>(context->deadline().time_since_epoch().count());
    if (!link->check_requests) return grpc::Status::OK;  // objects are trusted
    if (link->region.contains(request)) std::abort();
    sum += request->DebugString().size() + request->SerializeAsString().size();
    if (!request->text().empty()) show_private(request->text());
    reply->set_payload(request->payload());
    for (const auto& part : request->parts()) *reply->add_parts() = part;
    for (const auto& [key, value] : request->counts()) (*reply->mutable_counts())[key] = value;
    return grpc::Status::OK;
  }

  EngineLink* link = nullptr;
  size_t sum = 0;

 private:
  // A message of a stream: the application's own, copied and, where requests are checked, checked.
  void look_at(const Request& request) {
    if (link->region.contains(&request)) std::abort();
    if (link->check_requests) sum += request.SerializeAsString().size();
  }
  void show(grpc::string_ref text) {
    if (text.size() == 0) return;
    if (link->check_requests) return show_private({text.data(), text.size()});
    uint64_t at = link->region.offset_of(text.data());
    if (link->region.at_rx(at, text.size()) == nullptr) std::abort();
    for (char c : text) sum += static_cast<unsigned char>(c);
  }
  void show_private(std::string_view text) {
    if (link->region.contains(text.data())) std::abort();
    for (char c : text) sum += static_cast<unsigned char>(c);
  }
};

using Input = testing::FuzzInput;

// The engine's side of a region, and a host's worker on it.
struct Attached {
  explicit Attached(bool check_requests) : methods(service.drover_methods()) {
    std::string why;
    RegionError error;
    layout = RegionLayout::compute({1, 1, kRingSlots, 64 << 10, 64 << 10}, &why);
    engine = Region::create(layout->sizes(), &error);
    if (!engine || !layout->write(*engine)) std::abort();
    auto host = Region::attach(UniqueFd(::dup(engine->rx_fd())), UniqueFd(::dup(engine->tx_fd())), &error);
    if (!host) std::abort();
    std::vector<UniqueFd> bells;
    bells.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    SpinPolicy::Options spin;
    spin.max_ns = 0;
    link = std::make_shared<EngineLink>(std::move(*host), *layout, std::move(bells), &methods, spin);
    link->check_requests = check_requests;
    link->reply_memory_wait_ns = 0;
    service.link = link.get();
    worker = std::make_unique<Worker>(link, 0);
  }

  Service service;
  std::vector<grpc::internal::Method> methods;
  std::optional<RegionLayout> layout;
  std::optional<Region> engine;
  std::shared_ptr<EngineLink> link;
  std::unique_ptr<Worker> worker;
};

void run(Input input) {
  Attached one((input.take<uint8_t>() & 1) != 0);
  char* base = one.engine->base();
  Area chunks = one.layout->rx_chunks(0), ring = one.layout->requests_ring(0);
  size_t rx_size = one.engine->rx_size();
  uint32_t position = 0;
  while (input.more()) {
    uint8_t kind = input.take<uint8_t>() % 7, length = input.take<uint8_t>();
    uint32_t where = input.take<uint32_t>();
    char* slot = base + ring.offset + (position % kRingSlots) * kSlotSize;
    uint32_t sequence = position / kRingSlots + 1;
    if (kind == 0) {
      CallSlot call{};
      call.type = static_cast<uint8_t>(RequestSlotType::kCall);
      call.method = length % 6;
      call.flags = (where & 8) != 0 ? kCallStreams : 0;
      if (call.flags != 0) call.method = (length & 1) != 0 ? 4 : 2;
      call.call = length % 16;
      call.request = chunks.offset + 8 * (input.take<uint16_t>() % (chunks.size / 8));
      call.metadata = (where & 1) != 0 ? chunks.offset + 8 * (input.take<uint16_t>() % (chunks.size / 8)) : 0;
      call.deadline_ns = (where & 2) != 0 ? static_cast<int64_t>(uint64_t{input.take<uint16_t>()} << 48) : kNoDeadline;
      call.rx_begin = chunks.offset + kChunkSize * (input.take<uint8_t>() % 16);
      call.rx_chunks = (where >> 2) % 18;
      call.sequence = sequence;
      std::memcpy(slot, &call, sizeof call);
      ++position;
    } else if (kind == 5) {
      RequestMessageSlot message{};
      message.type = static_cast<uint8_t>(RequestSlotType::kMessage);
      message.flags = where & 1;
      message.call = length % 16;
      message.request = (where & 2) != 0 ? 0 : chunks.offset + 8 * ((where >> 2) % (chunks.size / 8));
      message.sequence = sequence;
      std::memcpy(slot, &message, sizeof message);
      ++position;
    } else if (kind == 6) {
      ReleaseSlot release{};
      release.type = static_cast<uint8_t>(RequestSlotType::kRelease);
      release.count = length % (kMaxReleases + 1);
      for (uint32_t i = 0; i < release.count; ++i) release.tx_call[i] = Streams::kMessageBit | ((where + i) % 512);
      release.sequence = sequence;
      std::memcpy(slot, &release, sizeof release);
      ++position;
    } else if (kind == 1) {
      input.copy_to(slot + 4, 60);
      std::memcpy(slot, &sequence, 4);
      ++position;
    } else if (kind == 2) {
      size_t at = where % chunks.size;
      input.copy_to(base + chunks.offset + at, std::min<size_t>(length, chunks.size - at));
    } else if (kind == 3) {
      size_t at = where % rx_size;
      input.copy_to(base + at, std::min<size_t>(length, rx_size - at));
    } else if (!one.worker->serve()) {
      std::abort();  // there is no other thread that could take the lead
    }
  }
  if (!one.worker->serve()) std::abort();
  one.link->gone = true;
  one.worker->request_cancel_scan();
  if (one.worker->lead() != Worker::Lead::kDone) std::abort();
}

}  // namespace
}  // namespace drover::host

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  drover::host::run({data, size});
  return 0;
}
