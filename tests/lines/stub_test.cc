// Generated clients and servers on two rings: every form of message, every way to call, and what hostile bytes get.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/lines/ring_port.h"
#include "older/stub_other.lines.pb.h"
#include "stub.lines.pb.h"

namespace lines_test {
namespace {

using drover::RingConsumer;
using drover::RingProducer;
using drover::Slot;
using namespace drover::lines;

// Two rings, and a port whose idle() lets the other side run.
class Rings {
 public:
  explicit Rings(uint32_t count) : a_(count), b_(count) {}
  RingPort client() { return {a_.producer(), b_.consumer()}; }
  RingPort server() { return {b_.producer(), a_.consumer()}; }
  RingProducer to_client() { return b_.producer(); }

 private:
  struct Memory {
    explicit Memory(uint32_t count) : slots(count) {}
    RingProducer producer() { return {slots.data(), static_cast<uint32_t>(slots.size()), &position}; }
    RingConsumer consumer() { return {slots.data(), static_cast<uint32_t>(slots.size()), &position}; }
    std::vector<Slot> slots;
    drover::ConsumerPosition position{};
  };
  Memory a_, b_;
};
struct TurnsPort : RingPort {
  TurnsPort(RingPort port, std::function<void()> run) : RingPort(port), other(std::move(run)) {}
  void idle() { other(); }
  std::function<void()> other;
};
using Client = StubLines::Client<TurnsPort>;

class Service final : public StubLines::Service {
 public:
  uint16_t Echo(const SmallFixed& request, SmallFixed* response) override {
    if (request.id() == 404) return kStatusNotFound;
    if (request.id() == 999) return 999;  // no status of gRPC's
    *response = request;
    return kStatusOk;
  }
  uint16_t Turn(const LargeFixed& request, LargeFixed* response) override {
    *response = request;
    response->set_real(-request.real());
    return kStatusOk;
  }
  uint16_t Ping(const NothingFixed&, NothingFixed*) override { return ++pings, kStatusOk; }
  uint16_t Search(const Any& request, Any* response) override {
    response->CopyFrom(request);
    if (request.names_size() == 1 && request.names(0) == "too long") response->add_names(std::string(20'000, 'x'));
    return kStatusOk;
  }
  uint16_t Mixed(const SmallFixed& request, Any* response) override {
    for (int32_t i = 0; i < request.step(); ++i) response->add_names(std::string(request.name()));
    return kStatusOk;
  }
  int pings = 0;
};

class StubTest : public ::testing::Test {
 protected:
  StubTest() {
    EXPECT_TRUE(service_.add_to(&server_));
    thread_.emplace(&server_, &server_port_);
  }
  void serve() {
    while (thread_->serve(8) != 0) {
    }
  }
  static SmallFixed small(uint64_t id, const std::string& name = "name") {
    SmallFixed message;
    message.set_id(id);
    message.set_step(static_cast<int32_t>(id) - 5);
    message.set_last(id % 2 == 1);
    message.set_color(BLUE);
    EXPECT_TRUE(message.set_name(name));
    return message;
  }
  static void expect_small(const SmallFixed& message, uint64_t id) {
    EXPECT_EQ(message.id(), id);
    EXPECT_EQ(message.step(), static_cast<int32_t>(id) - 5);
    EXPECT_EQ(message.last(), id % 2 == 1);
    EXPECT_EQ(message.name(), "name");
    EXPECT_EQ(message.color(), BLUE);
  }

  Rings rings_{1024};
  Service service_;
  RpcThreadedServer server_;
  RingPort server_port_ = rings_.server();
  std::optional<BasicServerThread<RingPort>> thread_;
  TurnsPort port_{rings_.client(), [this] { serve(); }};
  Client client_{&port_, 7};
};

TEST_F(StubTest, ASynchronousCallBringsTheMessageBack) {
  SmallFixed response;
  Status status = client_.Echo(small(12), &response);
  EXPECT_TRUE(status.ok()) << status.reason;
  expect_small(response, 12);
  NothingFixed nothing;
  EXPECT_TRUE(client_.Ping(nothing, &nothing).ok());
  EXPECT_EQ(service_.pings, 1);
}

TEST_F(StubTest, AMessageOfSeveralLinesHasAllItsMembers) {
  LargeFixed request, response;
  request.set_real(1.5);
  request.set_other(-2.25f);
  request.mutable_inner()->set_value(-99);
  request.mutable_inner()->set_on(false);
  ASSERT_TRUE(request.set_label("a label"));
  const std::string blob(500, '\xff');
  ASSERT_TRUE(request.set_blob(blob));
  request.set_color(GREEN);
  request.set_word(0xfefefefe);
  request.set_twelve(12);
  request.mutable_imported()->set_number(44);
  ASSERT_TRUE(client_.Turn(request, &response).ok());
  EXPECT_EQ(response.real(), -1.5);
  EXPECT_TRUE(response.has_other());
  EXPECT_EQ(response.other(), -2.25f);
  EXPECT_EQ(response.inner().value(), -99);
  EXPECT_TRUE(response.inner().has_on());
  EXPECT_FALSE(response.inner().on());
  EXPECT_EQ(response.label(), "a label");
  EXPECT_EQ(response.blob(), blob);
  EXPECT_EQ(response.color(), GREEN);
  EXPECT_EQ(response.word(), 0xfefefefeu);
  EXPECT_FALSE(response.has_count());
  EXPECT_FALSE(response.has_nine());
  EXPECT_TRUE(response.has_twelve());
  EXPECT_EQ(response.twelve(), 12);
  EXPECT_EQ(response.imported().number(), 44u);
}

TEST_F(StubTest, AbsentFieldsHaveTheirDefaultsWhateverTheirBytesAre) {
  LargeFixed message;
  std::memset(static_cast<void*>(&message), 0, sizeof message);
  message.set_nine(9);
  message.clear_nine();
  message.mutable_inner()->set_value(3);
  message.clear_inner();
  EXPECT_FALSE(message.has_nine());
  EXPECT_EQ(message.nine(), 0);
  EXPECT_FALSE(message.has_inner());
  EXPECT_EQ(message.inner().value(), 0);
  EXPECT_EQ(message.mutable_inner()->value(), 0);
}

TEST_F(StubTest, AStringLongerThanItsMaximumIsNotTaken) {
  SmallFixed message = small(1);
  EXPECT_FALSE(message.set_name(std::string(21, 'x')));
  EXPECT_EQ(message.name(), "name");
  EXPECT_TRUE(message.set_name(std::string(20, 'x')));
  EXPECT_TRUE(message.set_name(message.name().substr(3, 4)));  // of its own bytes
  EXPECT_EQ(message.name(), "xxxx");
  SmallFixed clean = small(1);
  ASSERT_TRUE(clean.set_name("xxxx"));
  EXPECT_EQ(std::memcmp(&message, &clean, sizeof message), 0) << "what lay behind the string's end would be sent";
}

TEST_F(StubTest, MessagesOfAnyShapeTravelAsWireBytes) {
  Any request, response;
  for (int i = 0; i < 100; ++i) request.add_names("name " + std::to_string(i));
  (*request.mutable_below())[3].add_names("below");
  ASSERT_TRUE(client_.Search(request, &response).ok());
  EXPECT_TRUE(response == request);
  ASSERT_TRUE(client_.Mixed(small(8), &response).ok());
  ASSERT_EQ(response.names_size(), 3);
  EXPECT_EQ(std::string(response.names(2)), "name");
}

TEST_F(StubTest, AMessageOverTheLimitIsRefusedWithAReason) {
  Any request, response;
  request.add_names(std::string(kMaxMessageBytes, 'x'));
  Status status = client_.Search(request, &response);
  EXPECT_EQ(status.code, kStatusResourceExhausted);
  EXPECT_STREQ(status.reason, kTooLongReason);
  request.Clear();
  request.add_names("too long");  // the answer is
  EXPECT_EQ(client_.Search(request, &response).code, kStatusResourceExhausted);
  EXPECT_EQ(client_.begin_bind(), BeginResult::kOk);  // and calls go on
}

TEST_F(StubTest, AServersStatusComesBack) {
  SmallFixed response;
  EXPECT_EQ(client_.Echo(small(404), &response).code, kStatusNotFound);
  EXPECT_EQ(client_.Echo(small(999), &response).code, kStatusUnknown);
  EXPECT_EQ(client_.Absent(small(1), &response).code, kStatusUnimplemented);
}

TEST_F(StubTest, CallsByTagEndInACompletionQueue) {
  EXPECT_EQ(client_.BeginEcho(small(1), 1), BeginResult::kNotBound);
  ASSERT_TRUE(client_.bind().ok());
  for (uint64_t tag = 0; tag < 50; ++tag) ASSERT_EQ(client_.BeginEcho(small(tag), tag), BeginResult::kOk);
  client_.flush();
  SmallFixed response;
  EXPECT_STREQ(client_.Echo(small(1), &response).reason, kBusyReason);
  serve();
  CompletionQueue queue;
  EXPECT_EQ(queue.poll(&client_, 1000), 50u);
  CompletedCall done;
  for (uint64_t tag = 0; tag < 50; ++tag) {
    ASSERT_TRUE(queue.pop(&done));
    ASSERT_EQ(done.tag(), tag);
    ASSERT_TRUE(Client::FinishEcho(done, &response).ok());
    expect_small(response, tag);
  }
  EXPECT_FALSE(queue.pop(&done));
}

TEST_F(StubTest, CallbacksAreToldOfTheirCalls) {
  ASSERT_TRUE(client_.bind().ok());
  std::vector<uint64_t> ended;
  std::vector<std::string> large_capture(1, "captured");
  std::array<uint64_t, 20> array{};  // more than a block holds
  array[19] = 77;
  for (uint64_t id = 0; id < 40; ++id) {
    auto begun = client_.AsyncEcho(small(id), [&, id](const Status& status, const SmallFixed& response) {
      EXPECT_TRUE(status.ok());
      expect_small(response, id);
      ended.push_back(id);
    });
    ASSERT_EQ(begun, BeginResult::kOk);
  }
  bool told = false;
  ASSERT_EQ(client_.AsyncEcho(small(404),
                              [&told, array, large_capture](const Status& status, const SmallFixed&) {
                                EXPECT_EQ(status.code, kStatusNotFound);
                                EXPECT_EQ(array[19], 77u);
                                EXPECT_EQ(large_capture[0], "captured");
                                told = true;
                              }),
            BeginResult::kOk);
  SmallFixed response;  // a synchronous call while they are outstanding
  EXPECT_TRUE(client_.Echo(small(5), &response).ok());
  expect_small(response, 5);
  client_.flush();
  serve();
  client_.poll(1000);
  EXPECT_EQ(ended.size(), 40u);
  EXPECT_TRUE(told);
}

TEST_F(StubTest, ACallbackMayBeginTheNextCall) {
  ASSERT_TRUE(client_.bind().ok());
  uint64_t count = 0;
  std::function<void()> next = [&] {
    ASSERT_EQ(client_.AsyncEcho(small(count),
                                [&](const Status& status, const SmallFixed&) {
                                  ASSERT_TRUE(status.ok());
                                  if (++count < 100) next();
                                }),
              BeginResult::kOk);
  };
  next();
  for (int i = 0; i < 1000 && count < 100; ++i) {
    client_.flush();
    serve();
    client_.poll(8);
  }
  EXPECT_EQ(count, 100u);
}

TEST_F(StubTest, CallbacksOfAClientThatEndsAreDestroyedAndNotCalled) {
  auto counted = std::make_shared<int>(0);
  {
    Client client(&port_, 8);
    ASSERT_TRUE(client.bind().ok());
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(client.AsyncEcho(small(1), [counted](const Status&, const SmallFixed&) { ++*counted; }),
                BeginResult::kOk);
    }
    EXPECT_EQ(counted.use_count(), 11);
  }
  EXPECT_EQ(counted.use_count(), 1);
  EXPECT_EQ(*counted, 0);
}

TEST_F(StubTest, ABatchMayBeLargerThanTheWindow) {
  std::vector<SmallFixed> requests, responses(300);
  std::vector<Status> statuses(300);
  for (uint64_t id = 0; id < 300; ++id) requests.push_back(small(id == 250 ? 404 : id));
  EXPECT_EQ(client_.EchoBatch(requests, responses, statuses), 299u);
  for (uint64_t id = 0; id < 300; ++id) {
    EXPECT_EQ(statuses[id].code, id == 250 ? kStatusNotFound : kStatusOk);
    if (id != 250) expect_small(responses[id], id);
  }
}

TEST_F(StubTest, ACallHasATimeOutOfItsOwn) {
  ASSERT_TRUE(client_.bind().ok());
  port_.other = [] {};  // the server stands still
  SmallFixed response;
  int64_t then = port_.now_ns();
  EXPECT_EQ(client_.Echo(small(1), &response, 2'000'000).code, kStatusDeadlineExceeded);
  EXPECT_GE(port_.now_ns() - then, 2'000'000);
  Client unbound(&port_, 8);
  EXPECT_EQ(unbound.Echo(small(1), &response, 1'000'000).code, kStatusDeadlineExceeded);
  EXPECT_FALSE(unbound.bound());
}

TEST_F(StubTest, AClosedConnectionHasAReason) {
  ASSERT_TRUE(client_.bind().ok());
  rings_.to_client();
  std::vector<uint16_t> ends;
  ASSERT_EQ(client_.AsyncEcho(small(1), [&](const Status& status, const SmallFixed&) { ends.push_back(status.code); }),
            BeginResult::kOk);
  ASSERT_TRUE(server_port_.try_push(drover::to_slot(drover::line_close(7))));
  client_.poll(8);
  EXPECT_EQ(ends, std::vector<uint16_t>{kStatusUnavailable});
  SmallFixed response;
  EXPECT_STREQ(client_.Echo(small(1), &response).reason, kClosedReason);
}

// ---- programs of another time

TEST_F(StubTest, AnotherLayoutIsNamedBeforeAnyCallAndWhatFitsIsServed) {
  using Other = older::lines_test::StubLines::Client<TurnsPort>;
  Other client(&port_, 9);
  Status bound = client.bind();
  EXPECT_EQ(bound.code, kStatusFailedPrecondition);
  EXPECT_STREQ(bound.reason, kOtherLayoutReason);
  EXPECT_TRUE(client.bound());
  older::lines_test::SmallFixed response;
  EXPECT_STREQ(client.Echo({}, &response).reason, kOtherLayoutReason);
  EXPECT_EQ(client.BeginEcho({}, 1), BeginResult::kNoFunction);
  older::lines_test::Any request, answer;
  request.add_names("both have it");
  ASSERT_TRUE(client.Search(request, &answer).ok());
  EXPECT_EQ(std::string(answer.names(0)), "both have it");
}

TEST_F(StubTest, AServerWithoutNamesOrWithoutTheFunctionSaysSo) {
  RpcThreadedServer bare;
  BasicServerThread<RingPort> thread(&bare, &server_port_);
  port_.other = [&] { thread.serve(8); };
  EXPECT_STREQ(client_.bind().reason, kNoDirectoryReason);
  struct OtherService : older::lines_test::StubLines::Service {
  } other;
  RpcThreadedServer old;
  ASSERT_TRUE(other.add_to(&old));
  EXPECT_FALSE(other.add_to(&old)) << "the names are there already";
  BasicServerThread<RingPort> old_thread(&old, &server_port_);
  port_.other = [&] { old_thread.serve(8); };
  Client client(&port_, 10);
  EXPECT_STREQ(client.bind().reason, kOtherLayoutReason);
  LargeFixed large;
  EXPECT_STREQ(client.Turn(large, &large).reason, kUnknownFunctionReason);
  NothingFixed nothing;
  EXPECT_EQ(client.Ping(nothing, &nothing).code, kStatusUnimplemented) << "its base class does not serve it";
}

// ---- hostile bytes

// What the server says to these bytes as arguments of the function.
class HostileStubTest : public StubTest {
 protected:
  uint16_t answer_to(std::span<const std::byte> bytes, uint16_t function) {
    BasicRpcClient<TurnsPort> raw(&port_, 11);
    std::byte unused[1];
    size_t size = 0;
    return raw.call(function, bytes, unused, &size);
  }
  template <typename M>
  uint16_t answer_to_changed(M message, size_t at, std::vector<uint8_t> bytes, uint16_t function) {
    std::memcpy(reinterpret_cast<char*>(&message) + at, bytes.data(), bytes.size());
    return answer_to(std::as_bytes(std::span(&message, 1)), function);
  }
};
// Small: id 0, step 8, color 12, last 16, name 17 (its size) to 37, padding 38 and 39.
constexpr size_t kStep = 8, kColor = 12, kLast = 16, kName = 17;
constexpr uint16_t kEcho = 1, kTurn = 2, kSearch = 4;

TEST_F(HostileStubTest, BytesThatAreNoMessageAreInvalidArguments) {
  EXPECT_EQ(answer_to_changed(small(1), kStep, {0xff}, kEcho), kStatusOk);
  EXPECT_EQ(answer_to_changed(small(1), kColor, {2}, kEcho), kStatusInvalidArgument);
  EXPECT_EQ(answer_to_changed(small(1), kColor, {5, 0, 0, 0x80}, kEcho), kStatusInvalidArgument);
  EXPECT_EQ(answer_to_changed(small(1), kLast, {2}, kEcho), kStatusInvalidArgument);
  EXPECT_EQ(answer_to_changed(small(1), kName, {21}, kEcho), kStatusInvalidArgument);
  EXPECT_EQ(answer_to_changed(small(1), kName, {255}, kEcho), kStatusInvalidArgument);
  EXPECT_EQ(answer_to_changed(small(1), kName, {2, 0xc0, 0x80}, kEcho), kStatusInvalidArgument) << "not UTF-8";
  EXPECT_EQ(answer_to_changed(small(1), 38, {7, 7}, kEcho), kStatusOk) << "padding has no meaning";
  EXPECT_EQ(answer_to(fixed_bytes(small(1)).first(39), kEcho), kStatusInvalidArgument);
  EXPECT_EQ(answer_to({}, kEcho), kStatusInvalidArgument);
  LargeFixed large;
  EXPECT_EQ(answer_to(fixed_bytes(large), kTurn), kStatusOk);
  const std::string wire = "\x0a\xff";  // a length that no bytes follow
  EXPECT_EQ(answer_to(std::as_bytes(std::span(wire)), kSearch), kStatusInvalidArgument);
}

TEST_F(HostileStubTest, QuestionsAboutFunctionsThatAreNoneAreInvalidArguments) {
  const std::vector<std::byte> bytes(kMaxMessageBytes, std::byte{0x5a});
  for (size_t size : {size_t{0}, size_t{1}, size_t{15}, size_t{17}, kMaxMessageBytes - 1}) {
    EXPECT_EQ(answer_to(std::span(bytes).first(size), 0), kStatusInvalidArgument) << size;
  }
  EXPECT_EQ(answer_to(bytes, 0), kStatusOk) << "768 questions about unknown functions";
}

// The other way round: a server that answers what is no response of that type.
TEST_F(StubTest, AResponseThatIsNoMessageEndsTheCallWithAReason) {
  ASSERT_TRUE(client_.bind().ok());
  RpcThreadedServer hostile;
  SmallFixed wrong = small(1);
  reinterpret_cast<uint8_t*>(&wrong)[kLast] = 9;
  hostile.handle(kEcho, [&](const Request&, Response& response) {
    response.copy(fixed_bytes(wrong));
    return kStatusOk;
  });
  hostile.handle(kTurn, [&](const Request&, Response& response) { return response.copy({}), kStatusOk; });
  BasicServerThread<RingPort> thread(&hostile, &server_port_);
  port_.other = [&] { thread.serve(8); };
  SmallFixed response = small(5);
  Status status = client_.Echo(small(1), &response);
  EXPECT_EQ(status.code, kStatusInternal);
  EXPECT_STREQ(status.reason, "lines_test.Small.last: a bool that is neither 0 nor 1");
  LargeFixed large;
  EXPECT_STREQ(client_.Turn(large, &large).reason, LargeFixed::kWrongSize);
  std::string reason;
  ASSERT_EQ(client_.AsyncEcho(small(1), [&](const Status& end, const SmallFixed&) { reason = end.reason; }),
            BeginResult::kOk);
  client_.flush();
  thread.serve(8);
  client_.poll(8);
  EXPECT_EQ(reason, "lines_test.Small.last: a bool that is neither 0 nor 1");
}

TEST_F(StubTest, AServersLiesAboutItsFunctionsAreNoticed) {
  for (std::vector<uint8_t> lie : std::vector<std::vector<uint8_t>>{
           {}, {1, 0, 1}, std::vector<uint8_t>(24, 0), std::vector<uint8_t>(24, 9), std::vector<uint8_t>(28, 1)}) {
    RpcThreadedServer hostile;
    hostile.handle(0, [&](const Request&, Response& response) {
      response.copy(std::as_bytes(std::span(lie)));
      return kStatusOk;
    });
    BasicServerThread<RingPort> thread(&hostile, &server_port_);
    port_.other = [&] { thread.serve(8); };
    Client client(&port_, 12);
    EXPECT_STREQ(client.bind().reason, kBadDirectoryReason) << lie.size();
    EXPECT_FALSE(client.bound());
  }
}

// Any bytes: what drover_check() takes can be read by every accessor, and comes back the same.
TEST(FixedMessages, BytesThatPassTheCheckAreReadableInFull) {
  EXPECT_TRUE(rc::check("any bytes", [] {
    alignas(16) std::array<uint8_t, LargeFixed::kFixedBytes> bytes;
    for (uint8_t& byte : bytes) byte = *rc::gen::weightedElement<uint8_t>({{8, 0}, {3, 1}, {1, 5}, {1, 255}});
    const char* why = nullptr;
    const LargeFixed* message = view_fixed<LargeFixed>(std::as_bytes(std::span(bytes)), &why);
    RC_ASSERT((message == nullptr) == (why != nullptr));
    if (message == nullptr) return;
    RC_ASSERT(message->label().size() <= 40u);
    RC_ASSERT(message->blob().size() <= 500u);
    RC_ASSERT(Color_IsValid(message->color()));
    LargeFixed copy;
    RC_ASSERT(from_bytes(fixed_bytes(*message), &copy) == nullptr);
    RC_ASSERT(copy.inner().value() == message->inner().value());
    RC_ASSERT(copy.has_count() == message->has_count());
  }));
}

}  // namespace
}  // namespace lines_test
