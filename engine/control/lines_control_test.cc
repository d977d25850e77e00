// Names that are served with RPC lines: who may serve them, who of several servers gets a connection, and what a
// connection is refused for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include "engine/control/control_server.h"
#include "engine/control/control_testing.h"

namespace drover::engine {
namespace {

using testing::HasSubstr;

// A host that serves names and opens connections.
class LineHost {
 public:
  struct NotStarted {
    explicit NotStarted() = default;
  };
  LineHost(TestEngine& engine, NotStarted) : engine_(engine) { greet(1); }
  LineHost(TestEngine& engine, const std::vector<std::string>& names, uint32_t workers = 1) : engine_(engine) {
    if (!greet(workers)) return;
    for (const std::string& name : names) say(ServeLines{name, 0});
    say(Start{});
    served_ = hear<Started>().has_value();
  }

  bool served() const { return served_; }
  const Error& refusal() const { return refusal_; }
  void say(const ControlMessage& message) {
    ControlError error;
    socket_.send(message, 1000, &error);
  }
  ConnectionOpened open(const std::string& name, uint32_t worker = 0) {
    say(OpenConnection{++question_, worker, name});
    auto answer = hear<ConnectionOpened>();
    if (!answer) return {0, ControlCode::kClosed, 0, ""};
    EXPECT_EQ(answer->request, question_);
    return *answer;
  }
  void die() { socket_.close(); }

 private:
  bool greet(uint32_t workers) {
    ControlError error;
    auto connected = ControlSocket::connect(engine_.address, 1000, &error);
    if (!connected) {
      ADD_FAILURE() << error.message;
      return false;
    }
    socket_ = std::move(*connected);
    Hello hello;
    hello.name = "lines";
    hello.cpus.assign(workers, -1);
    say(hello);
    return hear<Welcome>().has_value();
  }
  template <typename T>
  std::optional<T> hear() {
    for (int i = 0; i < 2000; ++i) {
      ControlError error;
      auto message = socket_.receive(&fds_, 1, &error);
      engine_.pump();
      if (!message && error.code == ControlCode::kClosed) return std::nullopt;
      if (!message) continue;
      if (auto* wanted = std::get_if<T>(&*message)) return std::move(*wanted);
      if (auto* refusal = std::get_if<Error>(&*message)) return refusal_ = *refusal, std::nullopt;
    }
    ADD_FAILURE() << "no answer";
    return std::nullopt;
  }

  TestEngine& engine_;
  ControlSocket socket_;
  std::vector<UniqueFd> fds_;
  Error refusal_;
  uint32_t question_ = 0;
  bool served_ = false;
};

ControlOptions with_policy(const std::string& rules) {
  ControlOptions options = TestEngine::small_control();
  EXPECT_EQ(HostPolicy::parse(rules, &options.policy), "");
  return options;
}

TEST(LinesControl, AConnectionIsOpenedToTheHostThatServesTheName) {
  TestEngine engine;
  LineHost server(engine, {"stock", "orders"}), client(engine, {});
  ASSERT_TRUE(server.served());
  ASSERT_TRUE(client.served());
  EXPECT_EQ(client.open("orders").code, ControlCode::kNone);
  EXPECT_EQ(engine.dispatcher.line_connections(), 1u);
  EXPECT_EQ(server.open("stock").code, ControlCode::kNone);  // to itself
  EXPECT_EQ(engine.dispatcher.line_connections(), 2u);
}

TEST(LinesControl, ANameThatIsNotServedIsSaidToBeSo) {
  TestEngine engine;
  LineHost server(engine, {"stock"}), client(engine, {});
  EXPECT_EQ(client.open("stocks").code, ControlCode::kNotServed);
  server.die();
  ASSERT_TRUE(engine.pump_until([&] { return engine.events.let_go == 1; }));
  EXPECT_EQ(client.open("stock").code, ControlCode::kNotServed);
}

TEST(LinesControl, HostsThatServeOneNameTakeTurns) {
  TestEngine engine;
  LineHost first(engine, {"stock"}), second(engine, {"other", "stock"}), client(engine, {});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(client.open("stock").code, ControlCode::kNone);
  first.die();
  ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.line_connections() == 2; }));
  EXPECT_EQ(client.open("stock").code, ControlCode::kNone);
}

TEST(LinesControl, ANameBelongsToTheFirstHostWithoutSharing) {
  ControlOptions options = TestEngine::small_control();
  options.sharing = Sharing::kFirstCome;
  TestEngine engine({}, options);
  LineHost first(engine, {"stock"});
  ASSERT_TRUE(first.served());
  LineHost second(engine, {"orders", "stock"});
  EXPECT_FALSE(second.served());
  EXPECT_EQ(second.refusal().code, ControlCode::kPermissionDenied);
  EXPECT_THAT(second.refusal().text, HasSubstr("lines:stock"));
  LineHost third(engine, {"orders"});
  EXPECT_TRUE(third.served());
}

TEST(LinesControl, AHostServesTheNamesThatItsUserMayServe) {
  TestEngine engine({}, with_policy(std::to_string(::getuid()) + "=lines:shop.*"));
  LineHost allowed(engine, {"shop.Stock"});
  EXPECT_TRUE(allowed.served());
  LineHost refused(engine, {"mail.Stock"});
  EXPECT_FALSE(refused.served());
  EXPECT_EQ(refused.refusal().code, ControlCode::kPermissionDenied);
  EXPECT_THAT(refused.refusal().text, HasSubstr("lines:mail.Stock (hosts.allow)"));
}

TEST(LinesControl, AHostServesAFewNamesAndEachOnce) {
  ControlOptions options = TestEngine::small_control();
  options.max_line_names = 2;
  TestEngine engine({}, options);
  LineHost two(engine, {"a", "b"});
  EXPECT_TRUE(two.served());
  LineHost three(engine, {"a", "b", "c"});
  EXPECT_EQ(three.refusal().code, ControlCode::kResourceExhausted);
  EXPECT_THAT(three.refusal().text, HasSubstr("lines.max_names"));
  LineHost twice(engine, {"a", "a"});
  EXPECT_EQ(twice.refusal().code, ControlCode::kBadValue);
}

TEST(LinesControl, AWorkerThatTheHostDoesNotHaveEndsItsAttachment) {
  TestEngine engine;
  LineHost host(engine, {"stock"}, 2);
  EXPECT_EQ(host.open("stock", 1).code, ControlCode::kNone);
  EXPECT_EQ(host.open("stock", 2).code, ControlCode::kClosed);
  EXPECT_EQ(host.refusal().code, ControlCode::kBadValue);
}

TEST(LinesControl, NothingIsOpenedBeforeStartAndNothingServedAfterIt) {
  TestEngine engine;
  LineHost late(engine, {"stock"});
  late.say(ServeLines{"more", 0});
  EXPECT_EQ(late.open("stock").code, ControlCode::kClosed);
  EXPECT_EQ(late.refusal().code, ControlCode::kUnexpectedMessage);
  LineHost early(engine, LineHost::NotStarted{});
  EXPECT_EQ(early.open("stock").code, ControlCode::kClosed);
  EXPECT_EQ(early.refusal().code, ControlCode::kUnexpectedMessage);
}

// Thousands of questions without a look at the answers: the host is cut off, and the engine goes on.
TEST(LinesControl, AHostThatDoesNotReadItsAnswersIsCutOff) {
  TestEngine engine;
  LineHost server(engine, {"stock"}), flood(engine, {});
  ControlError error;
  for (uint32_t i = 0; i < 100'000 && engine.events.let_go == 0; ++i) {
    flood.say(OpenConnection{i, 0, "stock"});
    engine.pump();
  }
  EXPECT_EQ(engine.events.let_go, 1);
  LineHost other(engine, {"orders"}), client(engine, {});  // the first server has not read that connections have ended
  EXPECT_EQ(client.open("orders").code, ControlCode::kNone);
}

}  // namespace
}  // namespace drover::engine
