#include "sim/runs/kv_programs.h"

namespace drover::sim {
namespace {

lines_kv::KeyValueLoadOptions load_options(uint32_t number, const CallOptions& options) {
  lines_kv::KeyValueLoadOptions load;
  load.number = number;
  load.scan_every = 20;
  load.timeout_ns = static_cast<int64_t>(options.timeout / kNanosecond);
  return load;
}

}  // namespace

KeyValueClientProgram::KeyValueClientProgram(uint32_t number, uint16_t connection, const CallOptions& options,
                                             LinePort* port, Core* core, CallBooks* books)
    : options_(options),
      port_(*port),
      core_(*core),
      books_(*books),
      client_(port, connection, {.window = options.window()}),
      load_(port, &client_, load_options(number, options), [this](int64_t began_ns) { ended(began_ns); }) {
  ++books_.clients_running;
}

void KeyValueClientProgram::run() {
  constexpr int kQuestions = 10;  // a network that loses lines may lose this one
  const auto timeout_ns = static_cast<int64_t>(options_.timeout / kNanosecond);
  lines::Status bound{lines::kStatusUnavailable};
  for (int i = 0; i < kQuestions && !client_.bound(); ++i) bound = client_.bind(timeout_ns);
  if (!bound.ok()) books_.fail(std::string("the client is not bound: ") + bound.reason);
  while (core_.now() < books_.ends && books_.error.empty()) {
    if (!load_.step(options_.outstanding)) port_.idle();
    if (!load_.error().empty()) books_.fail(load_.error());
  }
  constexpr Time kPatience = Time{1000} * 1000 * kNanosecond;
  const Time patience = core_.now() + kPatience + options_.timeout;
  while (client_.outstanding() != 0 && books_.error.empty()) {
    if (!load_.step(0)) port_.idle();
    if (core_.now() > patience) books_.fail("calls have had no answer for 1 ms");
  }
  if (!load_.error().empty()) books_.fail(load_.error());
  books_.lost += load_.expired();
  check_client(client_.counters(), options_, &books_);
  --books_.clients_running;
}

void KeyValueClientProgram::ended(int64_t began_ns) {
  ++books_.checked;
  const Time began = static_cast<Time>(began_ns) * kNanosecond;
  if (books_.within(core_.now())) ++books_.completed;
  if (!books_.within(began)) return;
  ++books_.offered;
  books_.latencies.push_back(static_cast<uint32_t>((core_.now() - began) / kNanosecond));
}

KeyValueServerProgram::KeyValueServerProgram(const CallOptions& options, lines_kv::KeyValueStore* store, LinePort* port,
                                             Core* core, Time handler, CallBooks* books)
    : options_(options), port_(*port), books_(*books), store_(store, core, handler), thread_(&server_, port) {
  store_.add_to(&server_);
}

void KeyValueServerProgram::run() {
  while (books_.clients_running != 0) {
    if (thread_.serve(options_.poll) == 0) port_.idle();
  }
  check_server(thread_.counters(), &books_);
}

}  // namespace drover::sim
