// Lines from a hostile server, at a generated client with calls of each kind outstanding: each call ends at most once,
// a message that is handed on is one that its layout allows, and the end of the connection ends them all.
#include <string>

#include "host/lines/service_client.h"
#include "stub.lines.pb.h"
#include "tests/lines/line_fuzzing.h"

namespace drover::lines {
namespace {

using Client = lines_test::StubLines::Client<RingPort>;
constexpr uint16_t kConnection = 3;

void check(const lines_test::SmallFixed& message) {
  must(message.name().size() <= 20 && lines_test::Color_IsValid(message.color()));
}
void check(const lines_test::LargeFixed& message) {
  must(message.label().size() <= 40 && message.blob().size() <= 500);
  must(lines_test::Color_IsValid(message.color()));
}

class Calls {
 public:
  explicit Calls(Client* client) : client_(*client) {}

  void begin(uint8_t kind) {
    BeginResult result = BeginResult::kOk;
    if (kind % 4 == 0) {
      result = client_.BeginEcho({}, 1);
    } else if (kind % 4 == 1) {
      result = client_.AsyncEcho({}, [this](const Status& status, const lines_test::SmallFixed& response) {
        ++ended_;
        if (status.ok()) check(response);
      });
    } else if (kind % 4 == 2) {
      result = client_.AsyncTurn({}, [this](const Status& status, const lines_test::LargeFixed& response) {
        ++ended_;
        if (status.ok()) check(response);
      });
    } else {
      lines_test::Any request;
      request.add_names("any");
      result = client_.AsyncSearch(request, [this](const Status& status, const lines_test::Any& response) {
        ++ended_;
        must(!status.ok() || response.ByteSizeLong() <= (1 << 20));
      });
    }
    if (result == BeginResult::kOk) ++begun_;
  }
  void poll() {
    client_.poll(4096, [this](const Completion& done) {
      must(done.tag == 1);
      ++ended_;
      lines_test::SmallFixed response;
      if (Client::FinishEcho(done, &response).ok()) check(response);
    });
    must(ended_ <= begun_);
  }
  uint64_t begun() const { return begun_; }
  uint64_t ended() const { return ended_; }

 private:
  Client& client_;
  uint64_t begun_ = 0, ended_ = 0;
};

// The answer of an honest server about its functions, or the fuzzer's.
void answer_question(testing::FuzzInput* input, RingPort* server) {
  Slot question;
  LineHead head{kConnection, 0, 0, kLineResponse};
  while (server->try_pop(question)) head.call = line_view(question).call;
  std::vector<std::byte> answer;
  const bool honest = input->take<uint8_t>() % 4 != 0;
  for (uint16_t i = 0; i < lines_test::StubLines::functions().size(); ++i) {
    FunctionAnswer each{static_cast<uint16_t>(i + 1), static_cast<uint8_t>(FunctionFound::kKnown), 0};
    if (!honest) each = input->take<FunctionAnswer>();
    const auto bytes = std::as_bytes(std::span(&each, 1));
    answer.insert(answer.end(), bytes.begin(), bytes.end());
  }
  must(server->try_push(slot_view(line_of(head, answer, 0))));
}

void one_input(testing::FuzzInput input) {
  FuzzRings rings;
  RingPort client_port = rings.client(), server_port = rings.server();
  Client client(&client_port, kConnection, {.window = 4});
  must(client.begin_bind() == BeginResult::kOk);
  answer_question(&input, &server_port);
  Calls calls(&client);
  calls.poll();
  for (int lines = 0; input.more() && lines < 1000; ++lines) {
    calls.begin(input.take<uint8_t>());
    // Places of the window, used a few times.
    must(server_port.try_push(fuzz_slot(&input, kLineResponse, 5, 32)));
    calls.poll();
    Slot request;
    while (server_port.try_pop(request)) must(well_formed(line_view(request)));
  }
  must(server_port.try_push(to_slot(line_close(kConnection))));
  calls.poll();
  must(client.closed() && calls.ended() == calls.begun() && client.outstanding() == 0);
}

}  // namespace
}  // namespace drover::lines

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  drover::lines::one_input({data, size});
  return 0;
}
