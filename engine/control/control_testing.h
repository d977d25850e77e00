// For the control server's tests: an engine thread without sockets (TestEngine) and a host inside the test process
// that speaks the real control protocol and the real rings (FakeHost).
//
// Everything runs on the test's thread but the ControlServer, which has its own: `pump` is one turn of the engine
// thread's loop.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "channel/control_socket.h"
#include "channel/ring.h"
#include "engine/control/control_server.h"
#include "engine/control/dispatch_threads.h"
#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {

class TestThreads final : public DispatchThreads {
 public:
  uint32_t count() const override { return static_cast<uint32_t>(dispatchers.size()); }
  int cpu(uint32_t) const override { return -1; }
  void post(uint32_t thread, std::function<void(Dispatcher&)> work) override {
    std::lock_guard<std::mutex> lock(mutex_);
    mail_.push_back({thread, std::move(work)});
  }
  ListenResult listen(std::string_view address, uint32_t listener) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (address.starts_with("bad")) return {0, "not an address"};
    opened[listener] = std::string(address);
    return {static_cast<uint16_t>(5000 + listener), ""};
  }
  void close(uint32_t listener) override {
    std::lock_guard<std::mutex> lock(mutex_);
    opened.erase(listener);
  }
  void run_mail() {
    for (;;) {
      std::pair<uint32_t, std::function<void(Dispatcher&)>> work;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (mail_.empty()) return;
        work = std::move(mail_.front());
        mail_.pop_front();
      }
      work.second(*dispatchers[work.first]);
    }
  }
  size_t open_listeners() {
    std::lock_guard<std::mutex> lock(mutex_);
    return opened.size();
  }

  std::vector<Dispatcher*> dispatchers;
  std::map<uint32_t, std::string> opened;

 private:
  std::mutex mutex_;
  std::deque<std::pair<uint32_t, std::function<void(Dispatcher&)>>> mail_;
};

// One engine thread, its control server and its clients.
class TestEngine {
 public:
  explicit TestEngine(DispatchOptions dispatch = {}, ControlOptions control = small_control())
      : metrics(0),
        address("unix:@drover-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count_)),
        server(control, threads),
        dispatcher(0, transport, metrics, dispatch, &server) {
    transport.sink = &dispatcher;
    threads.dispatchers.push_back(&dispatcher);
    ControlError error;
    EXPECT_TRUE(server.listen(address, &error)) << error.message;
    control_thread = std::thread([this] { server.run(); });
  }
  ~TestEngine() {
    server.stop();
    control_thread.join();
    for (auto& call : calls) {
      if (call->dispatch != nullptr) dispatcher.abandon(*call);
    }
    threads.run_mail();
  }

  static ControlOptions small_control() {
    ControlOptions options;
    options.ring_slots = 64;
    options.rx_bytes = 1 << 20;
    options.tx_bytes = 16 << 20;  // FakeHost never uses memory again
    return options;
  }

  bool pump() {
    threads.run_mail();
    return dispatcher.poll(monotonic_ns());
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

  // A new call, begun; `start` says how begin_call took it.
  Call& begin(std::string_view path = "/test.Echo/Say", int64_t timeout_ns = 0, uint32_t listener = 1) {
    calls.push_back(std::make_unique<Call>());
    Call& call = *calls.back();
    call.path = path;
    call.authority = "test.example";
    call.peer = "ipv4:127.0.0.1:4711";
    call.listener = listener;
    call.start_ns = monotonic_ns();
    if (timeout_ns != 0) call.deadline_ns = call.start_ns + timeout_ns;
    call.metadata = {{"user-agent", "test"}, {"key-bin", std::string("\0\1", 2)}};
    start = dispatcher.begin_call(call);
    return call;
  }
  // A call whose request arrived whole.
  Call& call(std::string_view text, int64_t timeout_ns = 0, std::string_view path = "/test.Echo/Say") {
    Call& begun = begin(path, timeout_ns);
    if (start.code == GrpcCode::kOk) dispatcher.request_complete(begun, echo_wire(text));
    return begun;
  }

  FakeTransport transport;
  ThreadMetrics metrics;
  TestThreads threads;
  const std::string address;
  ControlServer server;
  Dispatcher dispatcher;
  std::vector<std::unique_ptr<Call>> calls;
  CallSink::Start start;
  std::thread control_thread;

 private:
  static inline int count_ = 0;
};

// A host with `workers` workers that serves the echo messages.
class FakeHost {
 public:
  struct Options {
    uint32_t workers = 1;
    std::vector<std::string> paths = {"/test.Echo/Say"};
    std::vector<std::string> addresses = {"0.0.0.0:50051"};
    uint64_t rx_bytes = 0;
    uint32_t ring_slots = 0;
  };
  // A CALL that a worker took.
  struct Taken {
    CallSlot slot;
    uint32_t worker;
    std::string wire;  // the request, encoded again
  };

  explicit FakeHost(TestEngine& engine) : FakeHost(engine, Options{}) {}
  FakeHost(TestEngine& engine, const Options& options) : engine_(engine), options_(options) { attach(); }

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
    arenas_.push_back(std::make_unique<TxArena>(*tx, region->base()));
    Arena& arena = arenas_.back()->arena;
    auto* object = static_cast<char*>(arena.allocate_zeroed(echo_type().entry().object_size));
    EXPECT_TRUE(decode(echo_type(), reinterpret_cast<Message*>(object), wire, arena).ok());
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
  // Takes and answers everything with its own bytes.
  void serve() {
    take();
    while (!calls.empty()) {
      answer(calls.front(), calls.front().wire, next_tx_call++);
      calls.pop_front();
    }
  }
  void send(const ControlMessage& message) {
    ControlError error;
    ASSERT_TRUE(socket.send(message, 1000, &error)) << error.message;
  }
  // The next message from the engine; pumps meanwhile.
  std::optional<ControlMessage> receive(std::vector<UniqueFd>* fds = nullptr) {
    std::vector<UniqueFd> ignored;
    for (int i = 0; i < 2000; ++i) {
      ControlError error;
      auto message = socket.receive(fds != nullptr ? fds : &ignored, 1, &error);
      if (message) return message;
      if (error.code == ControlCode::kClosed) return std::nullopt;
      engine_.pump();
    }
    ADD_FAILURE() << "the engine does not answer";
    return std::nullopt;
  }
  void die() { socket.close(); }

  ControlSocket socket;
  std::optional<Region> region;
  std::optional<RegionLayout> layout;
  std::vector<HostChannel> channels;
  std::unique_ptr<ChunkPool> tx;
  std::deque<Taken> calls;
  std::vector<CancelSlot> cancels;
  std::vector<uint32_t> released;
  int drains = 0;
  uint32_t next_tx_call = 0;
  std::vector<UniqueFd> bells;
  std::vector<uint32_t> ports;

 private:
  struct TxArena {
    TxArena(ChunkPool& pool, char* base) : source(pool, base), arena(source) {}
    ChunkBlockSource source;
    Arena arena;
  };

  template <typename T>
  T expect(std::vector<UniqueFd>* fds = nullptr) {
    auto message = receive(fds);
    if (message && std::holds_alternative<T>(*message)) return std::get<T>(*message);
    if (message && std::holds_alternative<Error>(*message)) ADD_FAILURE() << std::get<Error>(*message).text;
    ADD_FAILURE() << "another message, or none";
    return {};
  }

  void attach() {
    ControlError error;
    auto connected = ControlSocket::connect(engine_.address, 1000, &error);
    ASSERT_TRUE(connected) << error.message;
    socket = std::move(*connected);
    Hello hello;
    hello.name = "fake";
    hello.cpus.assign(options_.workers, -1);
    hello.rx_bytes = options_.rx_bytes;
    hello.ring_slots = options_.ring_slots;
    send(hello);
    std::vector<UniqueFd> fds;
    expect<Welcome>(&fds);
    ASSERT_EQ(fds.size(), 2 + engine_.threads.count());
    RegionError region_error;
    region = Region::attach(std::move(fds[0]), std::move(fds[1]), &region_error);
    ASSERT_TRUE(region) << region_error.message;
    fds.erase(fds.begin(), fds.begin() + 2);
    bells = std::move(fds);
    std::string why;
    layout = RegionLayout::read(*region, &why);
    ASSERT_TRUE(layout) << why;
    for (uint32_t worker = 0; worker < options_.workers; ++worker) {
      channels.push_back(HostChannel::open(*region, *layout, layout->channel(0, worker)));
    }
    tx = std::make_unique<ChunkPool>(layout->tx_chunks_of_host());
    register_all();
  }
  void register_all() {
    ControlError error;
    std::string_view image(reinterpret_cast<const char*>(echo_image().image().data()), echo_image().image().size());
    UniqueFd fd = make_image_fd(image, &error);
    int raw = fd.get();
    ASSERT_TRUE(socket.send(RegisterImage{image.size()}, std::span<const int>(&raw, 1), 1000, &error));
    RegisterMethods methods;
    for (const std::string& path : options_.paths) {
      methods.methods.push_back({path, 0, echo_type().index, 0, echo_type().index, 0});
    }
    send(methods);
    for (const std::string& address : options_.addresses) {
      send(Listen{address, 0});
      ports.push_back(expect<Listening>().port);
    }
    send(Start{});
    expect<Started>();
  }
  void take_call(uint32_t worker, const CallSlot& slot) {
    Encoded encoded;
    const char* object = region->at(slot.request, echo_type().entry().object_size);
    ASSERT_NE(object, nullptr);
    ASSERT_TRUE(encode(echo_type(), reinterpret_cast<const Message*>(object), {}, &encoded).ok());
    std::string wire(encoded.size(), 0);
    encoded.copy_to(wire.data());
    calls.push_back({slot, worker, std::move(wire)});
  }

  TestEngine& engine_;
  const Options options_;
  std::vector<std::unique_ptr<TxArena>> arenas_;
};

}  // namespace drover::engine
