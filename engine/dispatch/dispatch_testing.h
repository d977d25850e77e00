// For the dispatcher's tests: the echo schema, an engine thread without sockets (FakeTransport, TestThread), and a
// host inside the test process that uses the real rings (FakeHost). Everything runs on the test's thread: `pump` is one
// turn of the engine thread's loop.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "channel/control.h"
#include "channel/ring.h"
#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "engine/dispatch/dispatcher.h"
#include "schema/proto_text.h"

namespace drover::engine {

inline constexpr const char* kEchoProto = R"(
  syntax = "proto3"; package test;
  message Echo { string text = 1; bytes blob = 2; int32 number = 3; Echo inner = 4; repeated Echo items = 5; }
  message Raw { optional bytes data = 1; }
)";

inline const schema::OwnedImage& echo_image() {
  static const schema::OwnedImage image = schema::image_of(kEchoProto);
  return image;
}
inline schema::MessageType echo_type() {
  return {&echo_image().image(), static_cast<uint32_t>(echo_image().image().find_message("test.Echo", 9))};
}
inline schema::MessageType raw_type() {
  return {&echo_image().image(), static_cast<uint32_t>(echo_image().image().find_message("test.Raw", 8))};
}
// test.Echo with that `text`, as wire bytes. Also a test.Raw with these bytes.
inline std::string echo_wire(std::string_view text, int field = 1) {
  std::string wire(1, static_cast<char>(field << 3 | 2));
  for (size_t n = text.size();; n >>= 7) {
    wire.push_back(static_cast<char>(n >= 128 ? (n & 127) | 128 : n));
    if (n < 128) break;
  }
  return wire.append(text);
}

struct Answer {
  StatusCode code;
  std::string message;
  bool has_body;
  std::string body;
  std::vector<Header> initial, trailing;
};

// Takes replies. With `send_at_once`, each is "sent" before reply() returns; otherwise sent(call) says when.
class FakeTransport final : public ReplySink {
 public:
  bool reply(Call& call, const Reply& reply) override {
    if (!reply.ends) return step(call, reply);
    EXPECT_EQ(answers.count(&call), 0u) << "answered twice";
    Answer& answer = answers[&call];
    answer = {reply.code, std::string(reply.status_message), reply.has_message, {}, {}, {}};
    for (const Piece& piece : reply.message) answer.body.append(piece.data, piece.size);
    EXPECT_EQ(answer.body.size(), reply.message_size);
    answer.initial.assign(reply.initial.begin(), reply.initial.end());
    answer.trailing.assign(reply.trailing.begin(), reply.trailing.end());
    if (send_at_once) sink->reply_sent(call);
    return false;
  }
  void consumed(Call& call, size_t messages, size_t bytes) override {
    consumed_messages[&call] += messages;
    consumed_bytes[&call] += bytes;
  }
  void started(Call& call) override { begun.push_back(&call); }
  void cut_off(Call& call) override { cut.push_back(&call); }
  bool answered(const Call& call) const { return answers.count(&call) != 0; }
  const Answer& answer(const Call& call) { return answers.at(&call); }

  CallSink* sink = nullptr;
  bool send_at_once = true;
  std::vector<const Call*> begun, cut;  // as `started` and `cut_off` say
  std::map<const Call*, Answer> answers;

  // ---- streams
  struct Step {
    bool has_message;
    std::string body;
    std::vector<Header> initial;
  };
  bool copies = true;  // steps; otherwise sent(call) says when each is sent
  std::map<const Call*, std::vector<Step>> steps;
  std::map<const Call*, size_t> consumed_messages, consumed_bytes;

 private:
  bool step(Call& call, const Reply& reply) {
    EXPECT_EQ(answers.count(&call), 0u) << "a message behind the end";
    Step& step = steps[&call].emplace_back(Step{reply.has_message, {}, {}});
    for (const Piece& piece : reply.message) step.body.append(piece.data, piece.size);
    EXPECT_EQ(step.body.size(), reply.message_size);
    step.initial.assign(reply.initial.begin(), reply.initial.end());
    return copies;
  }
};

// A host of one engine thread that serves the echo messages; 0: small defaults.
inline std::shared_ptr<HostAttachment> make_attachment(uint32_t workers, const std::vector<std::string>& paths,
                                                       std::vector<uint32_t> listeners, uint64_t rx_bytes = 0,
                                                       uint32_t ring_slots = 0, uint64_t tx_bytes = 0) {
  static uint64_t next_id = 1'000'000;
  auto host = std::make_shared<HostAttachment>();
  host->id = next_id++;
  host->name = "fake";
  ChannelOptions channel;
  channel.engine_threads = 1;
  channel.workers = workers;
  channel.ring_slots = ring_slots != 0 ? ring_slots : 64;
  channel.rx_bytes = rx_bytes != 0 ? rx_bytes : 1 << 20;
  channel.tx_bytes = tx_bytes != 0 ? tx_bytes : 16 << 20;  // FakeHost never uses memory again
  std::string why;
  host->layout = RegionLayout::compute(channel, &why);
  RegionError error;
  if (host->layout) host->region = Region::create(host->layout->sizes(), &error);
  if (!host->region) {
    ADD_FAILURE() << why << error.message;
    return nullptr;
  }
  EXPECT_TRUE(host->layout->write(*host->region));
  for (const std::string& path : paths) host->methods.push_back({path, echo_type(), echo_type()});
  host->listeners = std::move(listeners);
  host->bells.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return host;
}

// What the dispatcher tells the control server: kept here, and handed on to `next` if there is one.
class RecordedEvents final : public HostEvents {
 public:
  void host_attached(uint64_t host, uint32_t thread) override {
    ++attached;
    if (next != nullptr) next->host_attached(host, thread);
  }
  void host_failed(uint64_t host, uint32_t thread, std::string why) override {
    failed[host] = why;
    if (next != nullptr) next->host_failed(host, thread, std::move(why));
  }
  void host_drained(uint64_t host, uint32_t thread, uint64_t calls_ended) override {
    drained[host] = calls_ended;
    if (next != nullptr) next->host_drained(host, thread, calls_ended);
  }
  void host_let_go(uint64_t host, uint32_t thread) override {
    let_go += let_go_of.insert(host).second;
    if (next != nullptr) next->host_let_go(host, thread);
  }

  void connection_opened(uint64_t host, uint32_t thread, const Opened& opened) override {
    connections[opened.request] = opened;
    if (next != nullptr) next->connection_opened(host, thread, opened);
  }

  HostEvents* next = nullptr;
  std::map<uint64_t, std::string> failed;  // by host, why
  std::map<uint64_t, uint64_t> drained;    // by host, its completed calls
  int attached = 0;
  std::map<uint32_t, Opened> connections;  // by the number of the question
  int let_go = 0;                          // hosts
  std::set<uint64_t> let_go_of;
};

// One engine thread and its clients.
class TestThread {
 public:
  explicit TestThread(DispatchOptions options = {}, const LedgerLimits& limits = {})
      : metrics(0),
        ledger(limits, metrics),
        client(ledger.open_connection("client")),
        dispatcher(0, transport, metrics, patient(options), &events) {
    transport.sink = &dispatcher;
  }
  virtual ~TestThread() { abandon_calls(); }

  // One turn of the loop.
  virtual bool pump() {
    bool did = dispatcher.poll(monotonic_ns() + ahead_ns);
    if (events.next == nullptr) {  // as the control server would
      for (const auto& [host, why] : events.failed) dispatcher.detach(host);
    }
    return did;
  }
  // Pumps until `done()`; false after two seconds.
  bool pump_until(const std::function<bool()>& done) {
    int64_t end = monotonic_ns() + 2'000'000'000;
    while (!done()) {
      pump();
      if (monotonic_ns() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
  // The id of the listener at that address; 1 for the first.
  uint32_t listener(const std::string& address) {
    return listeners_.emplace(address, static_cast<uint32_t>(listeners_.size()) + 1).first->second;
  }

  // A new call; `opened` says how open took it.
  Call& begin(std::string_view path = "/test.Echo/Say", int64_t timeout_ns = 0, uint32_t listener = 1) {
    calls.push_back(std::make_unique<Call>());
    Call& call = *calls.back();
    call.path = path;
    call.authority = "test.example";
    call.peer = &peer;
    call.listener = listener;
    call.start_ns = monotonic_ns();
    if (timeout_ns != 0) call.deadline_ns = call.start_ns + timeout_ns;
    call.metadata = metadata;
    call.account = client.get();
    opened = dispatcher.open(call);
    return call;
  }
  // A call whose request arrived whole.
  Call& call(std::string_view text, int64_t timeout_ns = 0, std::string_view path = "/test.Echo/Say") {
    Call& begun = begin(path, timeout_ns);
    if (opened.code == StatusCode::kOk) dispatcher.message(begun, echo_wire(text), More::kLast);
    return begun;
  }
  void abandon_calls() {
    for (auto& call : calls) {
      if (call->dispatch != nullptr) dispatcher.abandon(*call);
    }
  }

  const Peer peer{"ipv4:127.0.0.1:4711", {}};
  const std::vector<Header> metadata = {{"user-agent", "test"}, {"key-bin", std::string("\0\1", 2)}};
  FakeTransport transport;
  ThreadMetrics metrics;
  Ledger ledger;
  AccountRef client;  // whom new calls are charged to
  RecordedEvents events;
  Dispatcher dispatcher;
  std::vector<std::unique_ptr<Call>> calls;
  Status opened;
  int64_t ahead_ns = 0;  // turns happen so much later than they do: a test need not wait, and the machine may

 private:
  // A large request is parsed at once, however slow the machine is, unless a test wants slices from the beginning.
  static DispatchOptions patient(DispatchOptions options) {
    if (options.parses.at_once_ns != 0) options.parses.at_once_ns = 60'000'000'000;
    return options;
  }
  std::map<std::string, uint32_t> listeners_;
};

// A host with `workers` workers that serves the echo messages, attached without a control socket.
class FakeHost {
 public:
  struct Options {
    uint32_t workers = 1;
    std::vector<std::string> paths = {"/test.Echo/Say"};
    std::vector<std::string> addresses = {"0.0.0.0:50051"};
    uint64_t rx_bytes = 0;
    uint32_t ring_slots = 0;
    uint64_t tx_bytes = 0;
    uint32_t flags = 0;  // of MethodFlag, of each method
    std::vector<std::string> line_names = {};
    uint32_t user = 0;
  };
  // A CALL that a worker took.
  struct Taken {
    CallSlot slot;
    uint32_t worker;
    std::string wire;  // the request, encoded again
  };

  // A MESSAGE that a worker took.
  struct Message {
    RequestMessageSlot slot;
    uint32_t worker;
    std::string wire;  // the message, encoded again
  };

  explicit FakeHost(TestThread& thread) : FakeHost(thread, Options{}) {}
  FakeHost(TestThread& thread, const Options& options) : options_(options) { attach(thread); }
  virtual ~FakeHost() = default;

  // Takes everything that lies in the requests rings.
  void take() {
    for (uint32_t worker = 0; worker < channels.size(); ++worker) {
      Slot slot;
      while (channels[worker].requests.try_pop(slot)) {
        switch (static_cast<RequestSlotType>(slot.type)) {
          case RequestSlotType::kCall:
            take_call(worker, slot_as<CallSlot>(slot));
            break;
          case RequestSlotType::kCancel:
            cancels.push_back(slot_as<CancelSlot>(slot));
            break;
          case RequestSlotType::kRelease: {
            auto release = slot_as<ReleaseSlot>(slot);
            ASSERT_GE(release.count, 1);
            ASSERT_LE(release.count, kMaxReleases);
            for (int i = 0; i < release.count; ++i) released.push_back(release.tx_call[i]);
            break;
          }
          case RequestSlotType::kMessage: {
            auto message = slot_as<RequestMessageSlot>(slot);
            messages.push_back({message, worker, message.request != 0 ? encode_again(message.request) : ""});
            break;
          }
          case RequestSlotType::kDrain:
            ++drains;
            break;
          default:
            ADD_FAILURE() << "slot of type " << int{slot.type};
        }
      }
    }
  }
  // The object that `wire` describes, in tx; its region offset.
  uint64_t build(std::string_view wire) {
    arenas_.push_back(std::make_unique<TxArena>(*tx_pool, region->base()));
    Arena& arena = arenas_.back()->arena;
    auto* object = static_cast<char*>(arena.allocate_zeroed(type().entry().object_size));
    EXPECT_TRUE(decode(type(), reinterpret_cast<drover::Message*>(object), wire, arena).ok());
    return region->offset_of(object);
  }
  static CompleteSlot completion(const Taken& call) {
    CompleteSlot slot{};
    slot.type = static_cast<uint8_t>(ResponseSlotType::kComplete);
    slot.flags = kCompleteFinished;
    slot.call = call.slot.call;
    slot.generation = call.slot.generation;
    return slot;
  }
  void push(uint32_t worker, const Slot& slot) {
    ASSERT_EQ(channels[worker].responses.try_push(slot), PushResult::kOk);
  }
  void answer(const Taken& call, std::string_view wire, uint32_t tx_call = 0) {
    CompleteSlot slot = completion(call);
    slot.tx_call = tx_call;
    slot.response = build(wire);
    push(call.worker, to_slot(slot));
  }

  // ---- streams
  static ReplyMessageSlot message_of(const Taken& call) {
    ReplyMessageSlot slot{};
    slot.type = static_cast<uint8_t>(ResponseSlotType::kMessage);
    slot.call = call.slot.call;
    slot.generation = call.slot.generation;
    return slot;
  }
  struct ReplyOptions {
    uint32_t consumed = 0;
    uint32_t tx_call = UINT32_MAX;  // the next
  };
  void reply(const Taken& call, std::string_view wire) { reply(call, wire, ReplyOptions()); }
  void reply(const Taken& call, std::string_view wire, const ReplyOptions& options) {
    ReplyMessageSlot slot = message_of(call);
    slot.tx_call = options.tx_call != UINT32_MAX ? options.tx_call : next_tx_call++;
    slot.consumed = options.consumed;
    slot.response = build(wire);
    replied[{slot.call, slot.generation}].push_back(slot.tx_call);
    push(call.worker, to_slot(slot));
  }
  void headers(const Taken& call, const std::vector<Header>& initial) {
    ReplyMessageSlot slot = message_of(call);
    slot.flags = kReplyMessageHeadersOnly;
    slot.tx_call = next_tx_call++;
    slot.trailer = build_trailer(initial);
    push(call.worker, to_slot(slot));
  }
  void consume(const Taken& call, uint32_t count) {
    ConsumedSlot slot{};
    slot.type = static_cast<uint8_t>(ResponseSlotType::kConsumed);
    slot.call = call.slot.call;
    slot.generation = call.slot.generation;
    slot.count = count;
    push(call.worker, to_slot(slot));
  }
  void end(const Taken& call, StatusCode code, uint32_t tx_call = UINT32_MAX) {
    CompleteSlot slot = completion(call);
    slot.status = static_cast<uint32_t>(code);
    slot.tx_call = tx_call != UINT32_MAX ? tx_call : next_tx_call++;
    push(call.worker, to_slot(slot));
  }
  // Messages of the call that no RELEASE has named.
  size_t unreleased(const Taken& call) const {
    auto known = replied.find({call.slot.call, call.slot.generation});
    if (known == replied.end()) return 0;
    return static_cast<size_t>(std::count_if(known->second.begin(), known->second.end(), [this](uint32_t tx_call) {
      return std::find(released.begin(), released.end(), tx_call) == released.end();
    }));
  }

  // Takes and answers everything with its own bytes.
  void serve() {
    take();
    while (!calls.empty()) {
      answer(calls.front(), calls.front().wire, next_tx_call++);
      calls.pop_front();
    }
  }
  // The engine notices that its process has ended.
  virtual void die() { thread_->dispatcher.detach(id); }

  uint64_t id = 0;
  std::optional<Region> region;
  std::optional<RegionLayout> layout;
  std::vector<HostChannel> channels;
  std::unique_ptr<ChunkPool> tx_pool;
  std::deque<Taken> calls;
  std::vector<Message> messages;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> replied;  // tx_calls, by call and generation
  std::vector<CancelSlot> cancels;
  std::vector<uint32_t> released;
  int drains = 0;
  uint32_t next_tx_call = 0;
  std::vector<UniqueFd> bells;

 protected:
  struct Unattached {};
  FakeHost(Unattached, const Options& options) : options_(options) {}

  // The host's own mapping of the region.
  void map(UniqueFd rx, UniqueFd tx) {
    RegionError error;
    region = Region::attach(std::move(rx), std::move(tx), &error);
    ASSERT_TRUE(region) << error.message;
    std::string why;
    layout = RegionLayout::read(*region, &why);
    ASSERT_TRUE(layout) << why;
    for (uint32_t worker = 0; worker < options_.workers; ++worker) {
      channels.push_back(HostChannel::open(*region, *layout, layout->channel(0, worker)));
    }
    tx_pool = std::make_unique<ChunkPool>(layout->tx_chunks_of_host());
  }

  const Options options_;
  schema::MessageType type() const { return (options_.flags & kMethodRaw) != 0 ? raw_type() : echo_type(); }

 private:
  struct TxArena {
    TxArena(ChunkPool& pool, char* base) : source(pool, base), arena(source) {}
    ChunkBlockSource source;
    Arena arena;
  };

  void attach(TestThread& thread) {
    thread_ = &thread;
    std::vector<uint32_t> listeners;
    for (const std::string& address : options_.addresses) listeners.push_back(thread.listener(address));
    auto host = make_attachment(options_.workers, options_.paths, std::move(listeners), options_.rx_bytes,
                                options_.ring_slots, options_.tx_bytes);
    ASSERT_TRUE(host);
    for (HostMethod& method : host->methods) {
      method = HostMethod(method.path, type(), type(), options_.flags);
    }
    host->line_names = options_.line_names;
    host->user = options_.user;
    id = host->id;
    bells.emplace_back(::dup(host->bells[0].get()));
    map(UniqueFd(::dup(host->region->rx_fd())), UniqueFd(::dup(host->region->tx_fd())));
    thread.dispatcher.attach(std::move(host));
  }
  void take_call(uint32_t worker, const CallSlot& slot) {
    calls.push_back({slot, worker, slot.request != 0 ? encode_again(slot.request) : ""});
  }
  std::string encode_again(uint64_t request) {
    Encoded encoded;
    const char* object = region->at(request, type().entry().object_size);
    EXPECT_NE(object, nullptr);
    EXPECT_TRUE(encode(type(), reinterpret_cast<const drover::Message*>(object), {}, &encoded).ok());
    std::string wire(encoded.size(), 0);
    encoded.copy_to(wire.data());
    return wire;
  }

 public:
  // A CallTrailer with that initial metadata, in tx.
  uint64_t build_trailer(const std::vector<Header>& initial) {
    arenas_.push_back(std::make_unique<TxArena>(*tx_pool, region->base()));
    Arena& arena = arenas_.back()->arena;
    auto* memory =
        static_cast<char*>(arena.allocate_zeroed(sizeof(CallTrailer) + initial.size() * sizeof(MetadataPair)));
    auto* trailer = new (memory) CallTrailer;
    trailer->initial_count = static_cast<uint32_t>(initial.size());
    auto* pair = reinterpret_cast<MetadataPair*>(memory + sizeof(CallTrailer));
    auto put = [&](String* at, const std::string& text) {
      auto* bytes = static_cast<char*>(arena.allocate(text.size() + 1));
      std::memcpy(bytes, text.c_str(), text.size() + 1);
      at->borrow(bytes, text.size(), true);
    };
    for (const auto& [name, value] : initial) {
      new (pair) MetadataPair;
      put(&pair->key, name);
      put(&pair->value, value);
      ++pair;
    }
    return region->offset_of(memory);
  }

 private:
  TestThread* thread_ = nullptr;
  std::vector<std::unique_ptr<TxArena>> arenas_;
};

}  // namespace drover::engine
