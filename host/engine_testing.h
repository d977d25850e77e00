// FakeEngine: the engine's end of a region, in the same process, for tests: it makes CALLs, and reads COMPLETEs. The
// host's side maps the same memory at another address, as a host process would; only under ThreadSanitizer, which
// cannot see that two addresses are one memory, both sides share a mapping.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "channel/call_records.h"
#include "channel/chunk_pool.h"
#include "channel/doorbell.h"
#include "channel/ring.h"
#include "host/crew.h"
#include "host/worker.h"

#if defined(__SANITIZE_THREAD__)
#define DROVER_TEST_ONE_MAPPING 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DROVER_TEST_ONE_MAPPING 1
#endif
#endif

namespace drover::host {

class FakeEngine {
 public:
  struct Options {
    uint32_t workers = 1;
    uint32_t ring_slots = 256;
    uint64_t rx_bytes = 8 << 20;
    uint64_t tx_bytes = 8 << 20;
    bool auto_release = true;
  };

  explicit FakeEngine(const Options& options) : options_(options) {
    ChannelOptions channel;
    channel.workers = options.workers;
    channel.ring_slots = options.ring_slots;
    channel.rx_bytes = options.rx_bytes;
    channel.tx_bytes = options.tx_bytes;
    std::string error;
    layout_ = RegionLayout::compute(channel, &error);
    RegionError region_error;
    RegionSizes sizes = layout_->sizes();
#if defined(DROVER_TEST_ONE_MAPPING)
    sizes.tx_shared = sizes.tx - kRegionHeaderSize;  // the host writes through the engine's mapping
#endif
    created_ = Region::create(sizes, &region_error);
    region_ = &*created_;
    if (!layout_->write(*region_)) throw std::runtime_error("no layout");
    for (uint32_t w = 0; w < options.workers; ++w) ends_.push_back(EngineChannel::open(*region_, *layout_, w));
    rx_ = std::make_unique<ChunkPool>(layout_->rx_chunks_of_thread(0));
  }

  // The host's side; attaches once.
  std::shared_ptr<EngineLink> link(const std::vector<grpc::internal::Method>* methods, int64_t spin_ns = 0) {
#if defined(DROVER_TEST_ONE_MAPPING)
    std::optional<Region> host_region = std::move(created_);
#else
    RegionError error;
    auto host_region = Region::attach(UniqueFd(::dup(region_->rx_fd())), UniqueFd(::dup(region_->tx_fd())), &error);
    if (!host_region) throw std::runtime_error(error.message);
#endif
    std::vector<UniqueFd> bells;
    bells.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    SpinPolicy::Options spin;
    spin.max_ns = spin_ns;
    link_ = std::make_shared<EngineLink>(std::move(*host_region), *layout_, std::move(bells), methods, spin);
#if defined(DROVER_TEST_ONE_MAPPING)
    region_ = &link_->region;
#endif
    return link_;
  }

  using Pairs = std::vector<std::pair<std::string, std::string>>;

  struct Answer {
    uint32_t status = 0;
    uint8_t flags = 0;
    uint32_t tx_call = 0;
    uint64_t response = 0;
    uint64_t trailer = 0;
  };

  // Pushes a CALL with a request of type T that `fill` fills in; its number.
  template <typename T>
  uint32_t call(uint16_t method, const std::function<void(T*)>& fill, int64_t deadline_ns = kNoDeadline,
                const Pairs& metadata = {}, uint32_t worker = 0, uint32_t chunks = 1) {
    uint64_t run = rx_->allocate(chunks);
    if (run == ChunkPool::kNone) throw std::runtime_error("no rx");
    Arena arena(heap_block_source(), region_->base() + run, size_t{chunks} * kChunkSize);
    T* request = arena.create<T>();
    fill(request);
    uint64_t record = write_metadata(arena, metadata);
    if (!arena.only_initial_block()) throw std::runtime_error("the request is larger than its run");
    *request->drover_owner() = kReceived;
    CallSlot slot{};
    slot.type = static_cast<uint8_t>(RequestSlotType::kCall);
    slot.method = method;
    slot.call = next_call_++;
    slot.generation = slot.call + 1000;
    slot.request = region_->offset_of(request);
    slot.metadata = record;
    slot.deadline_ns = deadline_ns;
    slot.rx_begin = run;
    slot.rx_chunks = chunks;
    runs_[slot.call] = {run, chunks};
    push(worker, to_slot(slot));
    return slot.call;
  }

  // A CALL whose request streams; with a record of metadata if there are pairs.
  uint32_t open(uint16_t method, int64_t deadline_ns = kNoDeadline, uint32_t worker = 0, const Pairs& metadata = {}) {
    CallSlot slot{};
    if (!metadata.empty()) {
      uint64_t run = rx_->allocate(1);
      Arena arena(heap_block_source(), region_->base() + run, kChunkSize);
      slot.metadata = write_metadata(arena, metadata);
      runs_[next_call_] = {run, 1};
    }
    slot.type = static_cast<uint8_t>(RequestSlotType::kCall);
    slot.flags = kCallStreams;
    slot.method = method;
    slot.call = next_call_++;
    slot.generation = slot.call + 1000;
    slot.deadline_ns = deadline_ns;
    push(worker, to_slot(slot));
    return slot.call;
  }
  // The next message of that call's request; waits while kMaxStreamMessages are not consumed.
  template <typename T>
  void send(uint32_t call, const std::function<void(T*)>& fill, bool last = false, uint32_t worker = 0,
            uint32_t chunks = 1) {
    std::deque<ChunkRun>& sent = sent_[call];
    while (sent.size() >= kMaxStreamMessages) poll(), std::this_thread::yield();
    uint64_t run = rx_->allocate(chunks);
    if (run == ChunkPool::kNone) throw std::runtime_error("no rx");
    Arena arena(heap_block_source(), region_->base() + run, size_t{chunks} * kChunkSize);
    T* request = arena.create<T>();
    fill(request);
    if (!arena.only_initial_block()) throw std::runtime_error("the message is larger than its run");
    *request->drover_owner() = kReceived;
    push_message(call, region_->offset_of(request), last, worker, {run, chunks});
  }
  void half_close(uint32_t call, uint32_t worker = 0) { push_message(call, 0, true, worker); }
  void push_message(uint32_t call, uint64_t offset, bool last, uint32_t worker = 0, ChunkRun run = {0, 0}) {
    if (offset != 0) sent_[call].push_back(run);
    RequestMessageSlot slot{};
    slot.type = static_cast<uint8_t>(RequestSlotType::kMessage);
    slot.flags = last ? kRequestMessageLast : 0;
    slot.call = call;
    slot.generation = call + 1000;
    slot.request = offset;
    push(worker, to_slot(slot));
  }
  // Of messages sent, how many the host has not consumed.
  size_t unconsumed(uint32_t call) { return poll(), sent_[call].size(); }

  struct Message {
    uint64_t response = 0;
    uint64_t trailer = 0;
    uint8_t flags = 0;
    uint32_t tx_call = 0;
  };
  // The next message of the call's reply; released at once if `auto_release`, after `look` has seen it.
  template <typename T>
  bool receive(uint32_t call, const std::function<void(const T*, const Message&)>& look, int timeout_ms = 5000) {
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    for (;;) {
      poll();
      std::deque<Message>& received = received_[call];
      if (!received.empty()) {
        Message message = received.front();
        received.pop_front();
        look(message.response == 0 ? nullptr : reinterpret_cast<const T*>(region_->at(message.response, sizeof(T))),
             message);
        if (options_.auto_release && !headers_alone(message.tx_call)) release(message.tx_call);
        return true;
      }
      if (answers_.count(call) != 0 || std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  // Messages of the reply that have come and were not received yet.
  size_t waiting(uint32_t call) { return poll(), received_[call].size(); }
  Pairs initial_metadata(const Message& message) const {
    return pairs({0, 0, 0, message.response, message.trailer}, true);
  }

  void cancel(uint32_t call, uint32_t worker = 0) {
    CancelSlot slot{};
    slot.type = static_cast<uint8_t>(RequestSlotType::kCancel);
    slot.call = call;
    slot.generation = call + 1000;
    slot.reason = static_cast<uint8_t>(CancelReason::kClient);
    push(worker, to_slot(slot));
  }

  void release(uint32_t tx_call, uint32_t worker = 0) {
    ReleaseSlot slot{};
    slot.type = static_cast<uint8_t>(RequestSlotType::kRelease);
    slot.count = 1;
    slot.tx_call[0] = tx_call;
    push(worker, to_slot(slot));
  }

  // Takes what has come; the answer of `call` if it has come within the time.
  std::optional<Answer> answer(uint32_t call, int timeout_ms = 5000) {
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    for (;;) {
      poll();
      auto found = answers_.find(call);
      if (found != answers_.end()) return found->second;
      if (std::chrono::steady_clock::now() > end) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  bool finished(uint32_t call, int timeout_ms = 5000) {
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    while (finished_.count(call) == 0 && std::chrono::steady_clock::now() < end) {
      poll();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return finished_.count(call) == 1;
  }

  void poll() {
    for (uint32_t w = 0; w < options_.workers; ++w) {
      Slot slot;
      while (ends_[w].responses.try_pop(slot)) take(slot, w);
    }
  }

  template <typename T>
  const T* reply(const Answer& answer) const {
    return reinterpret_cast<const T*>(region_->at(answer.response, sizeof(T)));
  }
  std::string message(const Answer& answer) const { return trailer(answer)->message.str(); }
  Pairs pairs(const Answer& answer, bool initial) const {
    CallTrailer* record = trailer(answer);
    uint32_t from = initial ? 0 : record->initial_count;
    uint32_t to = initial ? record->initial_count : record->initial_count + record->trailing_count;
    Pairs result;
    for (uint32_t i = from; i < to; ++i) result.emplace_back(record->pairs()[i].key, record->pairs()[i].value);
    return result;
  }

  const Region& region() { return *region_; }
  size_t answers() const { return answers_.size(); }
  uint64_t answered() const { return answered_; }
  bool answered_twice() const { return twice_; }
  // A MESSAGE came behind its call's COMPLETE.
  bool message_after_answer() const { return late_; }
  uint64_t consumed_slots() const { return consumed_slots_; }
  void set_auto_release(bool on) { options_.auto_release = on; }
  void push(uint32_t worker, const Slot& slot) {
    while (ends_[worker].requests.try_push(slot) != PushResult::kOk) {
      poll();
      std::this_thread::yield();
    }
    wake_worker(*reinterpret_cast<WorkerShared*>(region_->base() + layout_->worker_shared(worker)));
  }
  void forget_answers() { answers_.clear(); }

 private:
  CallTrailer* trailer(const Answer& answer) const {
    if (answer.trailer == 0) throw std::runtime_error("no trailer");
    return reinterpret_cast<CallTrailer*>(region_->at(answer.trailer, sizeof(CallTrailer)));
  }

  uint64_t write_metadata(Arena& arena, const Pairs& pairs) {
    auto* record =
        static_cast<CallMetadata*>(arena.allocate_zeroed(sizeof(CallMetadata) + pairs.size() * sizeof(MetadataPair)));
    record->authority.assign_in(&arena, "test.example");
    record->peer.assign_in(&arena, "ipv4:127.0.0.1:4711");
    record->count = static_cast<uint32_t>(pairs.size());
    auto* at = const_cast<MetadataPair*>(record->pairs());
    for (const auto& [key, value] : pairs) {
      at->key.assign_in(&arena, key);
      at->value.assign_in(&arena, value);
      ++at;
    }
    return region_->offset_of(record);
  }

  // Of a call without a stream; they are released at once.
  static bool headers_alone(uint32_t tx_call) { return (tx_call & Worker::kHeadersBit) != 0 && tx_call >> 31 == 0; }

  void take(const Slot& slot, uint32_t worker) {
    if (slot.type == static_cast<uint8_t>(ResponseSlotType::kFinished)) {
      end(slot_as<FinishedSlot>(slot).call);
      return;
    }
    if (slot.type == static_cast<uint8_t>(ResponseSlotType::kMessage)) {
      auto message = slot_as<ReplyMessageSlot>(slot);
      consume(message.call, message.consumed);
      received_[message.call].push_back({message.response, message.trailer, message.flags, message.tx_call});
      late_ = late_ || answers_.count(message.call) != 0;
      if (options_.auto_release && headers_alone(message.tx_call))
        release(message.tx_call, worker);  // as the engine does
      return;
    }
    if (slot.type == static_cast<uint8_t>(ResponseSlotType::kConsumed)) {
      auto consumed = slot_as<ConsumedSlot>(slot);
      ++consumed_slots_;
      if (consumed.count == 0) throw std::runtime_error("a CONSUMED of nothing");
      return consume(consumed.call, consumed.count);
    }
    auto complete = slot_as<CompleteSlot>(slot);
    twice_ = twice_ || answers_.count(complete.call) != 0;
    ++answered_;
    answers_[complete.call] = {complete.status, complete.flags, complete.tx_call, complete.response, complete.trailer};
    if ((complete.flags & kCompleteFinished) != 0) end(complete.call);
    if (options_.auto_release) release(complete.tx_call, worker);
  }

  void consume(uint32_t call, uint32_t count) {
    std::deque<ChunkRun>& sent = sent_[call];
    if (count > sent.size()) throw std::runtime_error("more is consumed than was sent");
    for (; count > 0; --count) {
      if (sent.front().chunks != 0) rx_->free(sent.front().offset, sent.front().chunks);
      sent.pop_front();
    }
  }

  void end(uint32_t call) {
    finished_[call] = true;
    consume(call, static_cast<uint32_t>(sent_[call].size()));
    auto run = runs_.find(call);
    if (run == runs_.end()) return;
    rx_->free(run->second.offset, run->second.chunks);
    runs_.erase(run);
  }

  Options options_;
  std::optional<RegionLayout> layout_;
  std::optional<Region> created_;
  const Region* region_ = nullptr;
  std::shared_ptr<EngineLink> link_;
  std::vector<EngineChannel> ends_;
  std::unique_ptr<ChunkPool> rx_;
  std::map<uint32_t, ChunkRun> runs_;
  std::map<uint32_t, Answer> answers_;
  std::map<uint32_t, bool> finished_;
  uint32_t next_call_ = 1;
  uint64_t answered_ = 0;
  bool twice_ = false;
  bool late_ = false;
  uint64_t consumed_slots_ = 0;
  std::map<uint32_t, std::deque<ChunkRun>> sent_;     // request messages that are with the host
  std::map<uint32_t, std::deque<Message>> received_;  // reply messages
};

// A crew whose monitor takes over nothing, however slow the machine is.
inline Crew::Options without_takeover() {
  Crew::Options options;
  options.takeover_ns = 60'000'000'000;
  return options;
}

// A crew that leads the workers of a FakeEngine, until it goes.
class FakeHost {
 public:
  FakeHost(FakeEngine& engine, const grpc::Service& service, const Crew::Options& options = {}, uint32_t workers = 1)
      : FakeHost(engine, service.drover_methods(), options, workers) {}
  FakeHost(FakeEngine& engine, std::vector<grpc::internal::Method> methods, const Crew::Options& options = {},
           uint32_t workers = 1)
      : methods_(std::move(methods)), link_(engine.link(&methods_)), crew_(std::make_unique<Crew>(options)) {
    for (uint32_t w = 0; w < workers; ++w) {
      workers_.push_back(std::make_shared<Worker>(link_, w));
      crew_->add(workers_.back());
    }
  }
  ~FakeHost() { stop(); }
  void stop() {
    kill_engine();
    crew_.reset();
  }
  void kill_engine() {
    link_->gone.store(true);
    for (auto& worker : workers_) worker->request_cancel_scan();
  }

  EngineLink& link() { return *link_; }
  Worker& worker(uint32_t i = 0) { return *workers_[i]; }
  Crew& crew() { return *crew_; }

 private:
  std::vector<grpc::internal::Method> methods_;
  std::shared_ptr<EngineLink> link_;
  std::unique_ptr<Crew> crew_;
  std::vector<std::shared_ptr<Worker>> workers_;
};

}  // namespace drover::host
