// For the control server's tests: an engine thread without sockets (TestEngine) and a host inside the test process
// that speaks the real control protocol and the real rings (AttachedHost).
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
#include <set>
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
  ListenResult listen(std::string_view address, uint32_t listener, std::shared_ptr<const tls::Server>) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (address.starts_with("bad")) return {0, "not an address"};
    if (late.contains(std::string(address))) return {0, "it did not answer", true};
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
  std::set<std::string> late;  // addresses whose file system does not answer

 private:
  std::mutex mutex_;
  std::deque<std::pair<uint32_t, std::function<void(Dispatcher&)>>> mail_;
};

// One engine thread, its control server and its clients.
class TestEngine : public TestThread {
 public:
  explicit TestEngine(DispatchOptions dispatch = {}, ControlOptions control = small_control())
      : TestThread(dispatch),
        address("unix:@drover-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count_)),
        server(control, threads) {
    events.next = &server;
    threads.dispatchers.push_back(&dispatcher);
    ControlError error;
    EXPECT_TRUE(server.listen(address, &error)) << error.message;
    control_thread = std::thread([this] { server.run(); });
  }
  ~TestEngine() override {
    server.stop();
    control_thread.join();
    abandon_calls();
    threads.run_mail();
    events.next = nullptr;
  }

  static ControlOptions small_control() {
    ControlOptions options;
    options.ring_slots = 64;
    options.rx_bytes = 1 << 20;
    options.tx_bytes = 16 << 20;  // FakeHost never uses memory again
    return options;
  }

  bool pump() override {
    threads.run_mail();
    return TestThread::pump();
  }

  TestThreads threads;
  const std::string address;
  ControlServer server;
  std::thread control_thread;

 private:
  static inline int count_ = 0;
};

// A FakeHost that attaches over the control socket.
class AttachedHost final : public FakeHost {
 public:
  explicit AttachedHost(TestEngine& engine) : AttachedHost(engine, Options{}) {}
  AttachedHost(TestEngine& engine, const Options& options) : FakeHost(Unattached{}, options), engine_(engine) {
    attach();
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
  void die() override { socket.close(); }

  ControlSocket socket;
  std::vector<uint32_t> ports;

 private:
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
    map(std::move(fds[0]), std::move(fds[1]));
    fds.erase(fds.begin(), fds.begin() + 2);
    bells = std::move(fds);
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
  TestEngine& engine_;
};

}  // namespace drover::engine
