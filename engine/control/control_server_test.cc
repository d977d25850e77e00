// The control server against hosts that speak out of turn, send nonsense, or leave.
#include "engine/control/control_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "channel/raw_packet_testing.h"
#include "engine/control/control_testing.h"

namespace drover::engine {
namespace {

// A host that says what the test wants.
class Talker {
 public:
  explicit Talker(TestEngine& engine) : engine_(engine) {
    ControlError error;
    auto connected = ControlSocket::connect(engine.address, 1000, &error);
    EXPECT_TRUE(connected) << error.message;
    if (connected) socket_ = std::move(*connected);
  }
  void say(const ControlMessage& message, std::vector<int> fds = {}) {
    ControlError error;
    EXPECT_TRUE(socket_.send(message, fds, 1000, &error)) << error.message;
  }
  // The engine may have hung up.
  void try_to_say(const ControlMessage& message, std::vector<int> fds) {
    ControlError error;
    socket_.send(message, fds, 1000, &error);
  }
  void say_raw(std::string bytes, const std::vector<int>& fds) { send_raw_packet(socket_.fd(), std::move(bytes), fds); }
  void say_bytes(std::string_view bytes) { EXPECT_GT(::write(socket_.fd(), bytes.data(), bytes.size()), 0); }
  template <typename T>
  T hear() {
    std::vector<UniqueFd> fds;
    for (int i = 0; i < 2000; ++i) {
      ControlError error;
      auto message = socket_.receive(&fds, 1, &error);
      engine_.pump();
      if (!message) {
        if (error.code == ControlCode::kWouldBlock || error.code == ControlCode::kTimeout) continue;
        ADD_FAILURE() << error.message;
        return {};
      }
      if (auto* wanted = std::get_if<T>(&*message)) return *wanted;
      ADD_FAILURE() << control_type_name(control_type(*message));
      if (auto* refusal = std::get_if<Error>(&*message)) ADD_FAILURE() << refusal->text;
      return {};
    }
    ADD_FAILURE() << "no answer";
    return {};
  }
  bool cut_off() {
    std::vector<UniqueFd> fds;
    ControlError error;
    while (socket_.receive(&fds, 1000, &error)) {
    }
    return error.code == ControlCode::kClosed;
  }
  void greet() {
    Hello hello;
    hello.name = "talker";
    hello.cpus = {-1, -1};
    say(hello);
    hear<Welcome>();
  }
  void offer_image() {
    ControlError error;
    std::string_view image(reinterpret_cast<const char*>(echo_image().image().data()), echo_image().image().size());
    UniqueFd fd = make_image_fd(image, &error);
    say(RegisterImage{image.size()}, {fd.get()});
  }

 private:
  TestEngine& engine_;
  ControlSocket socket_;
};

TEST(ControlServer, AWelcomeDescribesTheRegionThatComesWithIt) {
  TestEngine engine;
  Talker host(engine);
  Hello hello;
  hello.name = "x";
  hello.cpus = {-1, 3};
  hello.ring_slots = 128;
  host.say(hello);
  Welcome welcome = host.hear<Welcome>();
  EXPECT_EQ(welcome.channel.workers, 2u);
  EXPECT_EQ(welcome.channel.engine_threads, 1u);
  EXPECT_EQ(welcome.channel.ring_slots, 128u);
  EXPECT_EQ(welcome.cpus.size(), 1u);
}

ControlOptions described() {
  ControlOptions options = TestEngine::small_control();
  options.description = {0, "0.1.0", std::string(64, 'a'), std::string(64, 'b'), "/etc/orders.toml", "", 1'790'000'000};
  return options;
}

TEST(ControlServer, AHostIsToldWhatTheEngineRunsOn) {
  TestEngine engine({}, described());
  Talker host(engine);
  host.greet();
  host.say(Describe{});
  const Description told = host.hear<Description>();
  EXPECT_EQ(told.flags, 0u) << "a service: its log is its own";
  EXPECT_EQ(told.build, std::string(64, 'a'));
  EXPECT_EQ(told.config, std::string(64, 'b'));
  EXPECT_EQ(told.config_file, "/etc/orders.toml");
  EXPECT_EQ(told.started, 1'790'000'000u);
  Talker early(engine);
  early.say(Describe{});
  EXPECT_EQ(early.hear<Error>().code, ControlCode::kUnexpectedMessage) << "before its Hello";
}

// What a LogTo of that descriptor is answered with.
ControlCode log_to(Talker& host, int fd) {
  host.say(LogTo{0}, {fd});
  return host.hear<Error>().code;
}

TEST(ControlServer, OnlyAChildWhoseHostHasGoneLetsAnotherTakeItsLog) {
  const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC)), read_only(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  {
    TestEngine service({}, described());
    Talker host(service);
    host.greet();
    EXPECT_EQ(log_to(host, null.get()), ControlCode::kPermissionDenied);
  }
  ControlOptions options = described();
  options.child = true;
  options.description.log_file = "/var/log/orders.log";
  {
    TestEngine with_file({}, options);
    {
      Talker(with_file).greet();
    }
    Talker host(with_file);
    host.greet();
    EXPECT_EQ(log_to(host, null.get()), ControlCode::kPermissionDenied) << "it has a file";
  }
  options.description.log_file.clear();
  TestEngine child({}, options);
  auto first = std::make_unique<Talker>(child);
  first->greet();
  {
    Talker second(child);
    second.greet();
    second.say(Describe{});
    EXPECT_EQ(second.hear<Description>().flags, kEngineIsChild);
    EXPECT_EQ(log_to(second, null.get()), ControlCode::kPermissionDenied) << "the first is there";
  }
  first.reset();
  for (int i = 0; i < 100; ++i) child.pump();
  Talker third(child);
  third.greet();
  third.say(Describe{});
  EXPECT_EQ(third.hear<Description>().flags, kEngineIsChild | kEngineTakesLog);
  EXPECT_EQ(log_to(third, read_only.get()), ControlCode::kBadDescriptor);
}

TEST(ControlServer, WishesOutOfRangeAreRefusedByName) {
  TestEngine engine;
  for (int what = 0; what < 3; ++what) {
    Talker host(engine);
    Hello hello;
    hello.name = "x";
    hello.cpus = {-1};
    if (what == 0) hello.ring_slots = 17;
    if (what == 1) hello.rx_bytes = uint64_t{1} << 39;
    if (what == 2) hello.tx_bytes = 4097;
    host.say(hello);
    Error error = host.hear<Error>();
    EXPECT_TRUE(error.code == ControlCode::kBadValue || error.code == ControlCode::kResourceExhausted) << what;
    EXPECT_TRUE(host.cut_off());
  }
}

TEST(ControlServer, MessagesOutOfTurnAreRefused) {
  TestEngine engine;
  Talker early(engine);
  early.say(Start{});
  EXPECT_EQ(early.hear<Error>().code, ControlCode::kUnexpectedMessage);
  EXPECT_TRUE(early.cut_off());
  Talker twice(engine);
  twice.greet();
  Hello hello;
  hello.cpus = {-1};
  hello.name = "again";
  twice.say(hello);
  EXPECT_EQ(twice.hear<Error>().code, ControlCode::kUnexpectedMessage);
  Talker confused(engine);
  confused.greet();
  confused.say(Started{});
  EXPECT_EQ(confused.hear<Error>().code, ControlCode::kUnexpectedMessage);
}

TEST(ControlServer, GarbageIsRefusedAndOthersGoOn) {
  TestEngine engine;
  AttachedHost good(engine);
  Talker bad(engine);
  bad.say_bytes("this is no control packet at all, but it is long enough for a header");
  bad.hear<Error>();
  EXPECT_TRUE(bad.cut_off());
  Call& call = engine.call("x");
  good.serve();
  engine.pump();
  EXPECT_TRUE(engine.transport.answered(call));
}

TEST(ControlServer, ASchemaImageThatDoesNotLoadIsRefusedByName) {
  TestEngine engine;
  Talker host(engine);
  host.greet();
  std::string image(reinterpret_cast<const char*>(echo_image().image().data()), echo_image().image().size());
  image[100] ^= 1;
  ControlError error;
  UniqueFd fd = make_image_fd(image, &error);
  host.say(RegisterImage{image.size()}, {fd.get()});
  Error answer = host.hear<Error>();
  EXPECT_EQ(answer.code, ControlCode::kBadImage);
  EXPECT_NE(answer.text.find("image 0"), std::string::npos);
}

TEST(ControlServer, MethodsThatCannotBeAreRefusedByName) {
  TestEngine engine;
  auto refused = [&](RegisterMethods::Method method, int times = 1) {
    Talker host(engine);
    host.greet();
    host.offer_image();
    host.say(RegisterMethods{std::vector<RegisterMethods::Method>(static_cast<size_t>(times), method)});
    Error error = host.hear<Error>();
    EXPECT_EQ(error.code, ControlCode::kBadMethod);
    return error.text;
  };
  EXPECT_NE(refused({"/a.B/C", 1, 0, 0, 0, 0}).find("no such image"), std::string::npos);
  EXPECT_NE(refused({"/a.B/C", 0, 99, 0, 0, 0}).find("request"), std::string::npos);
  EXPECT_NE(refused({"/a.B/C", 0, 0, 0, 99, 0}).find("response"), std::string::npos);
  EXPECT_NE(refused({"/a.B/C", 0, 0, 0, 0, 0}, 2).find("twice"), std::string::npos);
  for (const char* path : {"a.B/C", "/a.B", "/a.B/", "//C", "/a/b/c", "/a b/c", "/"}) {
    ControlError error;  // most of them have no packet at all
    if (encode_control(RegisterMethods{{{path, 0, 0, 0, 0, 0}}}, &error).empty()) continue;
    EXPECT_NE(refused({path, 0, 0, 0, 0, 0}).find("form"), std::string::npos) << path;
  }
}

TEST(ControlServer, AnAddressThatCannotBeHadIsAnErrorTheHostMaySurvive) {
  TestEngine engine;
  Talker host(engine);
  host.greet();
  host.say(Listen{"bad address", 0});
  EXPECT_EQ(host.hear<Error>().code, ControlCode::kAddressInvalid);
  host.say(Listen{"0.0.0.0:0", 0});
  EXPECT_NE(host.hear<Listening>().port, 0u);
  host.say(Start{});
  host.hear<Started>();
}

TEST(ControlServer, HostsAtOneAddressShareItsListenerWhichClosesWhenTheLastHasLeft) {
  TestEngine engine;
  auto one = std::make_unique<AttachedHost>(engine);
  auto two = std::make_unique<AttachedHost>(engine);
  EXPECT_EQ(one->ports, two->ports);
  EXPECT_EQ(engine.threads.open_listeners(), 1u);
  one->send(Detach{});
  ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 1; }));
  EXPECT_EQ(engine.threads.open_listeners(), 1u);
  two->send(Detach{});
  EXPECT_TRUE(engine.pump_until([&] { return engine.threads.open_listeners() == 0; }));
}

TEST(ControlServer, TheListenerOfAHostThatDiedStaysOpenForTheNext) {
  TestEngine engine;
  AttachedHost::Options options;
  options.addresses = {"127.0.0.1:0"};
  auto first = std::make_unique<AttachedHost>(engine, options);
  uint32_t port = first->ports[0];
  first->die();
  ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 0; }));
  EXPECT_EQ(engine.threads.open_listeners(), 1u);
  options.addresses = {"127.0.0.1:" + std::to_string(port)};
  AttachedHost second(engine, options);
  EXPECT_EQ(second.ports[0], port);
  EXPECT_EQ(engine.threads.open_listeners(), 1u);
}

TEST(ControlServer, AFailedListenAndAHostThatDiesBeforeStartLeaveNoListenerAndNoRoute) {
  TestEngine engine;
  {
    Talker host(engine);
    host.greet();
    host.offer_image();
    host.say(RegisterMethods{{{"/test.Echo/Say", 0, 0, 0, 0}}});
    host.say(Listen{"bad address", 0});
    EXPECT_EQ(host.hear<Error>().code, ControlCode::kAddressInvalid);
    EXPECT_TRUE(engine.pump_until([&] { return engine.dispatcher.routes() == 0; }));
    host.say(Listen{"0.0.0.0:1", 0});
    host.hear<Listening>();
    EXPECT_TRUE(engine.pump_until([&] { return engine.dispatcher.routes() == 1; }));
  }
  EXPECT_TRUE(engine.pump_until([&] { return engine.threads.open_listeners() == 0; }));
  EXPECT_TRUE(engine.pump_until([&] { return engine.dispatcher.routes() == 0; }));
}

TEST(ControlServer, ListenersOfAllHostsTogetherAreLimited) {
  ControlOptions options = TestEngine::small_control();
  options.max_open_listeners = 1;
  TestEngine engine({}, options);
  AttachedHost first(engine);
  Talker host(engine);
  host.greet();
  host.say(Listen{"0.0.0.0:1", 0});
  EXPECT_EQ(host.hear<Error>().code, ControlCode::kResourceExhausted);
}

TEST(ControlServer, CallsThatComeBetweenListenAndStartWait) {
  TestEngine engine;
  Talker host(engine);
  host.greet();
  host.offer_image();
  host.say(RegisterMethods{{{"/test.Echo/Say", 0, 0, 0, 0}}});
  host.say(Listen{"0.0.0.0:1", 0});
  host.hear<Listening>();
  Call& call = engine.call("early");
  EXPECT_EQ(engine.opened.code, StatusCode::kOk);
  EXPECT_EQ(engine.dispatcher.waiting_calls(), 1u);
  host.say(Start{});
  host.hear<Started>();
  engine.pump();
  EXPECT_EQ(engine.dispatcher.waiting_calls(), 0u);
  engine.dispatcher.abandon(call);
}

TEST(ControlServer, AHostThatDoesNotStartInTimeIsCutOff) {
  ControlOptions options = TestEngine::small_control();
  options.handshake_timeout_ns = 50'000'000;
  TestEngine engine({}, options);
  Talker host(engine);
  host.greet();
  EXPECT_EQ(host.hear<Error>().code, ControlCode::kTimeout);
  EXPECT_TRUE(host.cut_off());
}

TEST(ControlServer, MoreHostsThanAllowedAreRefused) {
  ControlOptions options = TestEngine::small_control();
  options.max_hosts = 2;
  TestEngine engine({}, options);
  Talker one(engine), two(engine);
  one.greet();
  two.greet();
  Talker three(engine);
  EXPECT_EQ(three.hear<Error>().code, ControlCode::kResourceExhausted);
}

TEST(ControlServer, AnEngineThatGoesDownTakesNoHosts) {
  TestEngine engine;
  engine.server.drain(10);
  Talker host(engine);
  Hello hello;
  hello.name = "late";
  hello.cpus = {-1};
  host.say(hello);
  EXPECT_EQ(host.hear<Error>().code, ControlCode::kShuttingDown);
}

TEST(ControlServer, AChildEndsWhenItsLastHostHasBeenGoneForAWhile) {
  ControlOptions options = TestEngine::small_control();
  options.child = true;
  options.orphan_timeout_ns = 60'000'000;
  TestEngine engine({}, options);
  {
    AttachedHost host(engine);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    EXPECT_FALSE(engine.server.orphaned());
  }
  EXPECT_TRUE(engine.pump_until([&] { return engine.server.orphaned(); }));
}

// ---- what would hold up the control thread

// One end of a TCP connection that lingers on its last close: the peer reads nothing.
struct LingeringSocket {
  LingeringSocket() {
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    peer.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::string bytes(1 << 20, 'x');
    while (::send(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    linger last{1, kSeconds};
    EXPECT_EQ(::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &last, sizeof last), 0);
  }
  static constexpr int kSeconds = 4;
  UniqueFd fd, peer;
};

// How long another host waits for the answer to its Hello.
double seconds_to_greet(TestEngine& engine) {
  auto began = std::chrono::steady_clock::now();
  Talker host(engine);
  host.greet();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

TEST(ControlServer, ASocketThatLingersDelaysNoOtherHostWhenItComesInsteadOfAnImage) {
  TestEngine engine;
  LingeringSocket lingering;
  Talker host(engine);
  host.greet();
  auto began = std::chrono::steady_clock::now();
  host.say(RegisterImage{100}, {lingering.fd.get()});
  lingering.fd.reset();  // whichever side has the last one, none waits
  EXPECT_EQ(host.hear<Error>().code, ControlCode::kBadDescriptor);
  seconds_to_greet(engine);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
}

TEST(ControlServer, SocketsThatLingerDelayNoOtherHostInPacketsThatAreNeverRead) {
  TestEngine engine;
  LingeringSocket lingering;
  {
    Talker host(engine);
    host.greet();
    host.say(Start{}, {});
    host.try_to_say(RegisterImage{100}, {lingering.fd.get()});  // at the wrong time, and behind it another
    host.try_to_say(RegisterImage{100}, {lingering.fd.get()});
    lingering.fd.reset();
  }
  EXPECT_LT(seconds_to_greet(engine), 1);
}

TEST(ControlServer, MoreDescriptorsThanAnyMessageHasDelayNoOtherHost) {
  TestEngine engine;
  LingeringSocket lingering;
  Talker host(engine);
  host.greet();
  std::vector<int> many(250, lingering.fd.get());
  host.say_raw("garbage", many);
  lingering.fd.reset();
  host.hear<Error>();
  EXPECT_LT(seconds_to_greet(engine), 1);
}

TEST(ControlServer, OutOfDescriptorsItPausesToAcceptInsteadOfSpinning) {
  TestEngine engine;
  AttachedHost good(engine);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  UniqueFd waiting(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(waiting.get()) + 1;
  std::vector<UniqueFd> rest;  // no descriptor below the limit is free
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  for (;;) {
    UniqueFd one(::dup(waiting.get()));
    if (!one) break;
    rest.push_back(std::move(one));
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string name = engine.address.substr(6);  // behind "unix:@"
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::connect(waiting.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  clockid_t clock;
  ASSERT_EQ(::pthread_getcpuclockid(engine.control_thread.native_handle(), &clock), 0);
  auto cpu = [clock] {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  };
  double used = cpu();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  used = cpu() - used;
  // The host that is attached is served meanwhile.
  good.send(Drain{1000});
  EXPECT_TRUE(good.receive());
  rest.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(used, 0.03);
  EXPECT_LT(seconds_to_greet(engine), 1);
}

// Many hosts send as much as they may; another is answered between them.
TEST(ControlServer, ImagesOfOneHostDoNotKeepAnotherFromItsAnswer) {
  TestEngine engine;
  std::string image(32 << 20, 'x');  // no image, but it has to be copied to find out
  ControlError error;
  UniqueFd fd = make_image_fd(image, &error);
  ASSERT_TRUE(fd) << error.message;
  std::vector<std::unique_ptr<Talker>> hosts;
  for (int i = 0; i < 16; ++i) {
    hosts.push_back(std::make_unique<Talker>(engine));
    hosts.back()->greet();
  }
  auto began = std::chrono::steady_clock::now();
  hosts[0]->say(RegisterImage{image.size()}, {fd.get()});
  hosts[0]->hear<Error>();
  std::chrono::duration<double> one = std::chrono::steady_clock::now() - began;
  for (size_t i = 1; i < hosts.size(); ++i) hosts[i]->say(RegisterImage{image.size()}, {fd.get()});
  double greeted = seconds_to_greet(engine);
  EXPECT_LT(greeted, 0.2 + 3 * one.count());  // not behind all of them
}

TEST(ControlServer, AHostThatDetachesIsToldThatOthersStay) {
  TestEngine engine;
  auto one = std::make_unique<AttachedHost>(engine);
  auto two = std::make_unique<AttachedHost>(engine);
  one->send(Detach{});
  auto answer = one->receive();
  ASSERT_TRUE(answer);
  ASSERT_TRUE(std::holds_alternative<HostStatus>(*answer));
  EXPECT_EQ(std::get<HostStatus>(*answer).state, HostStatus::State::kEngineStays);
  EXPECT_FALSE(one->receive());
  two->send(Detach{});
  EXPECT_FALSE(two->receive());  // the last one is not
}

}  // namespace
}  // namespace drover::engine
