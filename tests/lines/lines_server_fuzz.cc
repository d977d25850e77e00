// Lines from a hostile client, at a server with generated functions: a handler sees only messages that its layout
// allows, answers are lines that a sender makes, and an honest client's call behind all that is served.
#include "host/lines/rpc_server.h"
#include "stub.lines.pb.h"
#include "tests/lines/line_fuzzing.h"

namespace drover::lines {
namespace {

class Service final : public lines_test::StubLines::Service {
 public:
  uint16_t Echo(const lines_test::SmallFixed& request, lines_test::SmallFixed* response) override {
    must(request.name().size() <= 20 && lines_test::Color_IsValid(request.color()));
    *response = request;
    return kStatusOk;
  }
  uint16_t Turn(const lines_test::LargeFixed& request, lines_test::LargeFixed* response) override {
    must(request.label().size() <= 40 && request.blob().size() <= 500);
    must(lines_test::Color_IsValid(request.color()));
    *response = request;
    return request.inner().on() ? kStatusNotFound : kStatusOk;
  }
  uint16_t Ping(const lines_test::NothingFixed&, lines_test::NothingFixed*) override { return kStatusOk; }
  uint16_t Search(const lines_test::Any& request, lines_test::Any* response) override {
    response->CopyFrom(request);
    return kStatusOk;
  }
};

void one_input(testing::FuzzInput input) {
  FuzzRings rings;
  Service service;
  RpcThreadedServer server;
  must(service.add_to(&server));
  RingPort client_port = rings.client(), server_port = rings.server();
  BasicServerThread<RingPort> thread(&server, &server_port, {.max_assemblies = 4});
  Slot answer;
  auto serve = [&] {
    while (thread.serve(16) != 0) {
      while (client_port.try_pop(answer)) must(well_formed(line_view(answer)));
    }
  };
  for (int lines = 0; input.more() && lines < 2000; ++lines) {
    must(client_port.try_push(fuzz_slot(&input, 0, 6, 4)));
    if (lines % 16 == 15) serve();
  }
  serve();
  serve();  // what waited for room
  while (client_port.try_pop(answer)) {
  }

  lines_test::SmallFixed request;
  request.set_id(77);
  must(request.set_name("honest"));
  LineHead head{100, 1, 1, 0};
  must(client_port.try_push(slot_view(line_of(head, fixed_bytes(request), 0))));
  must(thread.serve(1) == 1 && client_port.try_pop(answer));
  const LineSlot& line = line_view(answer);
  must(line.connection == 100 && line.call == 1 && line.flags == (kLineResponse | kLineLast));
  must(line.length == sizeof request && std::memcmp(line.arguments, &request, sizeof request) == 0);
}

}  // namespace
}  // namespace drover::lines

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  drover::lines::one_input({data, size});
  return 0;
}
