// Listeners and acceptors over real sockets, on several engine threads.
#include "engine/net/listeners.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fanotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "engine/net/net_testing.h"

namespace drover::engine {
namespace {

using testing::HasSubstr;

// Greets each connection and closes it.
struct Greeter final : ConnectionSink {
  void adopt_connection(Accepted connection) override {
    ++accepted;
    const std::string& peer = connection.peer;
    EXPECT_EQ(::send(connection.fd.get(), peer.data(), peer.size(), MSG_NOSIGNAL), static_cast<ssize_t>(peer.size()));
  }
  std::atomic<uint32_t> accepted{0};
};

struct Thread final : TurnEnd {
  Thread() : loop({0, -1, "t"}), acceptor(loop, greeter) {}
  void start() {
    thread = std::thread([this] { loop.run(nullptr, this, nullptr); });
  }
  bool end_turn(int64_t now_ns) override {
    if (now_ns >= acceptor.resume_ns()) acceptor.resume();
    return false;
  }
  int64_t next_turn_ns() const override { return acceptor.resume_ns(); }

  EventLoop loop;
  Greeter greeter;
  Acceptor acceptor;
  std::thread thread;
};

struct Engine {
  explicit Engine(uint32_t threads) {
    std::vector<Listeners::Thread> refs;
    for (uint32_t i = 0; i < threads; ++i) {
      all.push_back(std::make_unique<Thread>());
      refs.push_back({&all.back()->loop, &all.back()->acceptor});
    }
    listeners = std::make_unique<Listeners>(refs);
    for (auto& one : all) one->start();
  }
  ~Engine() {
    for (auto& one : all) one->loop.stop();
    for (auto& one : all) one->thread.join();
  }
  uint32_t accepted() const {
    uint32_t sum = 0;
    for (auto& one : all) sum += one->greeter.accepted;
    return sum;
  }
  std::vector<std::unique_ptr<Thread>> all;
  std::unique_ptr<Listeners> listeners;
};

TEST(Listeners, AllThreadsShareThePortThatTheKernelPicked) {
  Engine engine(3);
  ListenResult first = engine.listeners->listen("127.0.0.1:0", 1);
  ASSERT_EQ(first.error, "");
  EXPECT_NE(first.port, 0);
  EXPECT_EQ(engine.listeners->listen("127.0.0.1:0", 1).port, first.port) << "the same id is the same listener";
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 60; ++i) {
    clients.push_back(connect_to("127.0.0.1:" + std::to_string(first.port)));
    ASSERT_TRUE(clients.back());
  }
  for (auto& client : clients) EXPECT_NE(hello(client), "");
  for (auto& thread : engine.all) EXPECT_GT(thread->greeter.accepted.load(), 0u);
  EXPECT_EQ(engine.accepted(), 60u);
}

TEST(Listeners, TheWildcardTakesIpv4AndIpv6) {
  Engine engine(1);
  ListenResult listening = engine.listeners->listen("0.0.0.0:0", 1);
  ASSERT_EQ(listening.error, "");
  EXPECT_NE(hello(connect_to("127.0.0.1:" + std::to_string(listening.port))), "");
  UniqueFd six = connect_to("[::1]:" + std::to_string(listening.port));
  if (six) {
    EXPECT_NE(hello(six), "");
  }
}

TEST(Listeners, AnActivatedSocketServesOneListener) {
  constexpr int kAt = 200;
  sockaddr_in any{};
  any.sin_family = AF_INET;
  {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
    ASSERT_EQ(::listen(socket.get(), 8), 0);
    ASSERT_EQ(::dup2(socket.get(), kAt), kAt);
  }
  socklen_t size = sizeof any;
  ::getsockname(kAt, reinterpret_cast<sockaddr*>(&any), &size);
  const std::string port = std::to_string(ntohs(any.sin_port));
  std::vector<std::string> wrong;
  Engine engine(2);
  engine.listeners->use(ActivatedSockets::take(kAt, 1, "", &wrong));
  ASSERT_EQ(engine.listeners->listen("0.0.0.0:" + port, 1).error, "");
  EXPECT_THAT(engine.listeners->listen("[::]:" + port, 2).error, HasSubstr("already in use"));
  engine.listeners->close(1);
  EXPECT_EQ(engine.listeners->listen("[::]:" + port, 2).error, "");
}

TEST(Listeners, AnAddressThatSomebodyListensOnIsAnError) {
  Engine one(2), other(2);
  ListenResult listening = one.listeners->listen("127.0.0.1:0", 1);
  ASSERT_EQ(listening.error, "");
  ListenResult second = other.listeners->listen("127.0.0.1:" + std::to_string(listening.port), 1);
  EXPECT_THAT(second.error, HasSubstr("Address already in use"));
  one.listeners->close(1);
  EXPECT_TRUE(eventually(
      [&] { return other.listeners->listen("127.0.0.1:" + std::to_string(listening.port), 1).error.empty(); }));
}

TEST(Listeners, WrongAddressesAreRefusedWithAReason) {
  Engine engine(1);
  for (const char* bad : {"", "nonsense", "127.0.0.1", "127.0.0.1:99999", "[::1", "::1:80", "unix:", "1.2.3.4:x"}) {
    EXPECT_NE(engine.listeners->listen(bad, 9).error, "") << bad;
  }
  EXPECT_THAT(engine.listeners->listen("192.0.2.1:0", 9).error, HasSubstr("bind"));
}

TEST(Listeners, UnixSocketsWorkAndAreRemoved) {
  std::string path = testing::TempDir() + "/drover_listeners_" + std::to_string(getpid());
  Engine engine(2);
  ASSERT_EQ(engine.listeners->listen("unix:" + path, 1).error, "");
  EXPECT_NE(hello(connect_to("unix:" + path)), "");
  engine.listeners->close(1);
  EXPECT_TRUE(eventually([&] { return ::access(path.c_str(), F_OK) != 0; }));
}

// A directory whose opens wait until they are answered, as on a file system that another process serves (fanotify:
// needs CAP_SYS_ADMIN).
class SlowDirectory {
 public:
  SlowDirectory() : path(testing::TempDir() + "/drover_slow_" + std::to_string(getpid())) {
    ::mkdir(path.c_str(), 0700);
    events_ = UniqueFd(::fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY | O_CLOEXEC));
    works =
        events_ && ::fanotify_mark(events_.get(), FAN_MARK_ADD, FAN_OPEN_PERM | FAN_ONDIR, AT_FDCWD, path.c_str()) == 0;
  }
  ~SlowDirectory() {
    answer();
    ::rmdir(path.c_str());
  }
  // Lets all go on that wait, now and later.
  void answer() { events_.reset(); }

  const std::string path;
  bool works = false;

 private:
  UniqueFd events_;
};

TEST(Listeners, APathWhoseFileSystemDoesNotAnswerIsRefusedInTimeAndLeavesNothing) {
  SlowDirectory directory;
  if (!directory.works) GTEST_SKIP() << "fanotify is not allowed here";
  Engine engine(2);
  auto began = std::chrono::steady_clock::now();
  ListenResult slow = engine.listeners->listen("unix:" + directory.path + "/socket", 1);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10 * Errands::kPatience);
  EXPECT_TRUE(slow.late);
  EXPECT_THAT(slow.error, HasSubstr("did not answer in time"));
  EXPECT_EQ(engine.listeners->listen("127.0.0.1:0", 2).error, "") << "others are opened meanwhile";
  directory.answer();
  EXPECT_TRUE(eventually([&] { return ::rmdir(directory.path.c_str()) == 0; })) << "a socket file stayed";
}

TEST(Listeners, AUnixAddressThatNamesSomethingElseThanASocketIsAnErrorAndStays) {
  std::string path = testing::TempDir() + "/drover_listeners_file_" + std::to_string(getpid());
  std::ofstream(path) << "precious";
  Engine engine(2);
  EXPECT_THAT(engine.listeners->listen("unix:" + path, 1).error, HasSubstr("is not a socket; it stays as it is"));
  std::string content;
  std::ifstream(path) >> content;
  EXPECT_EQ(content, "precious");
  ::unlink(path.c_str());
  // What another process put in the place of our socket stays, too.
  ASSERT_EQ(engine.listeners->listen("unix:" + path, 2).error, "");
  ::unlink(path.c_str());
  std::ofstream(path) << "precious";
  engine.listeners->close(2);
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  ::unlink(path.c_str());
}

TEST(Listeners, AnEngineWithoutDescriptorsForAllThreadsListensNowhere) {
  std::string path = testing::TempDir() + "/drover_listeners_fds_" + std::to_string(getpid());
  Engine engine(3);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // One for the directory, one for the socket and one for its inode, which is what a single thread would need.
  std::vector<UniqueFd> free_ones;
  for (int i = 0; i < 3; ++i) free_ones.emplace_back(::dup(0));
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(free_ones.back().get()) + 1;
  free_ones.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  ListenResult result = engine.listeners->listen("unix:" + path, 1);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(result.error, HasSubstr("Too many open files"));
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_EQ(engine.listeners->listen("unix:" + path, 1).error, "");
  EXPECT_NE(hello(connect_to("unix:" + path)), "");
}

}  // namespace
}  // namespace drover::engine
