// What hosts may have and serve: by user, beside other hosts, and all together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/control/control_server.h"
#include "engine/control/control_testing.h"

namespace drover::engine {
namespace {

using testing::HasSubstr;

// A host that wants to serve, and how far it comes.
class Applicant {
 public:
  struct Wish {
    std::vector<std::string> paths = {"/test.Echo/Say"};
    std::vector<std::string> addresses = {"0.0.0.0:50051"};
    uint64_t rx_bytes = 0;
    uint32_t workers = 1;
  };
  explicit Applicant(TestEngine& engine) : Applicant(engine, Wish{}) {}
  Applicant(TestEngine& engine, const Wish& wish) : engine_(engine) {
    ControlError error;
    auto connected = ControlSocket::connect(engine.address, 1000, &error);
    if (!connected) {
      ADD_FAILURE() << error.message;
      return;
    }
    socket_ = std::move(*connected);
    served_ = greet(wish) && offer(wish) && listen(wish) && say_and_hear<Started>(Start{});
  }

  bool served() const { return served_; }
  ControlCode code() const { return refusal_.code; }
  const std::string& text() const { return refusal_.text; }
  void detach() { say(Detach{}); }
  void drain() { say(Drain{1000}); }
  void die() { socket_.close(); }

 private:
  void say(const ControlMessage& message, std::vector<int> fds = {}) {
    ControlError error;
    socket_.send(message, fds, 1000, &error);
  }
  template <typename T>
  bool hear() {
    std::vector<UniqueFd> fds;
    for (int i = 0; i < 2000; ++i) {
      ControlError error;
      auto message = socket_.receive(&fds, 1, &error);
      engine_.pump();
      if (!message && error.code == ControlCode::kClosed) return false;
      if (!message) continue;
      if (std::holds_alternative<T>(*message)) return true;
      if (auto* refusal = std::get_if<Error>(&*message)) return refusal_ = *refusal, false;
    }
    ADD_FAILURE() << "no answer";
    return false;
  }
  template <typename T>
  bool say_and_hear(const ControlMessage& message) {
    return say(message), hear<T>();
  }
  bool greet(const Wish& wish) {
    Hello hello;
    hello.name = "applicant";
    hello.cpus.assign(wish.workers, -1);
    hello.rx_bytes = wish.rx_bytes;
    return say_and_hear<Welcome>(hello);
  }
  bool offer(const Wish& wish) {
    ControlError error;
    std::string_view image(reinterpret_cast<const char*>(echo_image().image().data()), echo_image().image().size());
    UniqueFd fd = make_image_fd(image, &error);
    say(RegisterImage{image.size()}, {fd.get()});
    RegisterMethods methods;
    for (const std::string& path : wish.paths) methods.methods.push_back({path, 0, 0, 0, 0, 0});
    say(methods);
    // A refusal must be read before more is said: it goes with a connection that is closed on unread words.
    for (int i = 0; i < 10; ++i) {
      std::vector<UniqueFd> fds;
      auto message = socket_.receive(&fds, 1, &error);
      if (message && std::holds_alternative<Error>(*message)) return refusal_ = std::get<Error>(*message), false;
    }
    return true;
  }
  bool listen(const Wish& wish) {
    for (const std::string& address : wish.addresses) {
      if (!say_and_hear<Listening>(Listen{address, 0})) return false;
    }
    return true;
  }

  TestEngine& engine_;
  ControlSocket socket_;
  Error refusal_{};
  bool served_ = false;
};

ControlOptions with_rules(const std::string& rules) {
  ControlOptions options = TestEngine::small_control();
  EXPECT_EQ(HostPolicy::parse(rules, &options.policy), "");
  return options;
}

const std::string kOwn = std::to_string(::geteuid());

TEST(HostLimits, AHostServesWhatTheRulesOfItsUserNameAndNothingElse) {
  TestEngine engine({}, with_rules(kOwn + "=/test.Echo/*,0.0.0.0:50051"));
  EXPECT_TRUE(Applicant(engine).served());
  Applicant method(engine, {.paths = {"/test.Echo/Say", "/test.Other/Say"}});
  EXPECT_FALSE(method.served());
  EXPECT_EQ(method.code(), ControlCode::kPermissionDenied);
  EXPECT_EQ(method.text(), "hosts of user " + kOwn + " may not serve /test.Other/Say (hosts.allow)");
  Applicant address(engine, {.addresses = {"0.0.0.0:80"}});
  EXPECT_FALSE(address.served());
  EXPECT_EQ(address.text(), "hosts of user " + kOwn + " may not listen at 0.0.0.0:80 (hosts.allow)");
}

TEST(HostLimits, AHostOfAUserWithoutARuleMayNotAttach) {
  TestEngine engine({}, with_rules("4711=*"));
  Applicant host(engine);
  EXPECT_FALSE(host.served());
  EXPECT_EQ(host.code(), ControlCode::kPermissionDenied);
  EXPECT_EQ(host.text(), "hosts of user " + kOwn + " may not attach (hosts.allow)");
}

TEST(HostLimits, HostsShareAMethodUnlessItBelongsToTheFirst) {
  for (Sharing sharing : {Sharing::kShared, Sharing::kFirstCome}) {
    ControlOptions options = TestEngine::small_control();
    options.sharing = sharing;
    TestEngine engine({}, options);
    Applicant first(engine), second(engine);
    EXPECT_TRUE(first.served());
    EXPECT_EQ(second.served(), sharing == Sharing::kShared);
    if (sharing == Sharing::kShared) continue;
    EXPECT_EQ(second.code(), ControlCode::kPermissionDenied);
    EXPECT_THAT(second.text(), HasSubstr("/test.Echo/Say is served by applicant"));
    EXPECT_THAT(second.text(), HasSubstr("hosts.sharing=first-come"));
  }
}

TEST(HostLimits, OtherMethodsAndOtherAddressesAreFreeForOthers) {
  ControlOptions options = TestEngine::small_control();
  options.sharing = Sharing::kFirstCome;
  TestEngine engine({}, options);
  Applicant first(engine);
  EXPECT_TRUE(Applicant(engine, {.paths = {"/test.Other/Say"}}).served());
  EXPECT_TRUE(Applicant(engine, {.addresses = {"0.0.0.0:80"}}).served());
}

TEST(HostLimits, WhatBelongedToAHostIsFreeWhenItDrainsLeavesOrDies) {
  ControlOptions options = TestEngine::small_control();
  options.sharing = Sharing::kFirstCome;
  for (int how = 0; how < 3; ++how) {
    TestEngine engine({}, options);
    Applicant first(engine);
    ASSERT_TRUE(first.served());
    how == 0 ? first.drain() : how == 1 ? first.detach() : first.die();
    bool served = false;
    for (int i = 0; i < 200 && !served; ++i) served = Applicant(engine).served();
    EXPECT_TRUE(served) << how;
  }
}

TEST(HostLimits, RegionsOfAllHostsTogetherAreLimitedUntilTheyAreGone) {
  ControlOptions options = TestEngine::small_control();
  options.max_total_region_bytes = 40 << 20;  // each has 17 MiB and a little
  TestEngine engine({}, options);
  Applicant one(engine), two(engine), three(engine);
  EXPECT_TRUE(one.served());
  EXPECT_TRUE(two.served());
  EXPECT_FALSE(three.served());
  EXPECT_EQ(three.code(), ControlCode::kResourceExhausted);
  EXPECT_THAT(three.text(), HasSubstr("hosts.max_total_region_bytes"));
  one.die();
  bool served = false;
  for (int i = 0; i < 200 && !served; ++i) served = Applicant(engine).served();
  EXPECT_TRUE(served);
}

TEST(HostLimits, MethodsTimesAddressesAreLimited) {
  ControlOptions options = TestEngine::small_control();
  options.max_routes = 6;
  TestEngine engine({}, options);
  std::vector<std::string> three = {"/a.A/A", "/a.A/B", "/a.A/C"};
  EXPECT_TRUE(Applicant(engine, {.paths = three, .addresses = {"0.0.0.0:1", "0.0.0.0:2"}}).served());
  Applicant many(engine, {.paths = three, .addresses = {"0.0.0.0:1", "0.0.0.0:2", "0.0.0.0:3"}});
  EXPECT_FALSE(many.served());
  EXPECT_EQ(many.code(), ControlCode::kResourceExhausted);
  EXPECT_EQ(many.text(), "3 methods at 3 addresses; at most 6 of both together are allowed (hosts.max_routes)");
}

TEST(HostLimits, RoutesOfAllHostsTogetherAreLimited) {
  ControlOptions options = TestEngine::small_control();
  options.max_routes = 2;
  options.max_total_routes = 3;
  TestEngine engine({}, options);
  Applicant one(engine, {.paths = {"/a.A/A", "/a.A/B"}}), two(engine, {.paths = {"/b.B/A", "/b.B/B"}});
  EXPECT_TRUE(one.served());
  EXPECT_FALSE(two.served());
  EXPECT_THAT(two.text(), HasSubstr("all hosts would have 4; at most 3"));
  EXPECT_TRUE(Applicant(engine, {.paths = {"/b.B/A"}}).served());
}

}  // namespace
}  // namespace drover::engine
