#include "sim/runs/call_programs.h"

#include <cmath>

namespace drover::sim {

void check_client(const lines::ClientCounters& counters, const CallOptions& options, CallBooks* books) {
  if (counters.malformed != 0) books->fail("a client was given a line that no sender makes");
  if (counters.incomplete != 0 && books->reliable) books->fail("a client was given a response with a line missing");
  if (counters.unknown != 0 && options.timeout == 0) books->fail("a client was given a response to no call of its own");
}

void check_server(const lines::ServerCounters& counters, CallBooks* books) {
  if (counters.malformed != 0) books->fail("a server was given a line that no sender makes");
  if (counters.incomplete != 0 && books->reliable) books->fail("a server was given a request with a line missing");
}

// ---- client

bool ConnectionPort::try_pop(Slot& taken) {
  if (lines_.empty()) return false;
  taken = lines_.front();
  lines_.pop_front();
  return true;
}

ClientProgram::ClientProgram(uint32_t number, uint16_t first, const CallOptions& options, CallContent* content,
                             LinePort* port, Core* core, CallBooks* books)
    : number_(number),
      options_(options),
      content_(*content),
      port_(*port),
      core_(*core),
      books_(*books),
      first_(first),
      random_(options.seed * 64 + number) {
  const lines::RpcClientOptions client{.window = options.window(),
                                       .timeout_ns = static_cast<int64_t>(options.timeout / kNanosecond)};
  for (uint32_t i = 0; i < options.connections; ++i) {
    Connection& each = connections_.emplace_back();
    if (options.connections > 1) each.port = std::make_unique<ConnectionPort>(port);
    LinePort* own = each.port ? each.port.get() : port;
    each.client = std::make_unique<lines::BasicRpcClient<LinePort>>(own, static_cast<uint16_t>(first + i), client);
  }
  ++books_.clients_running;
}

void ClientProgram::run() {
  next_due_ = next_gap();
  while (core_.now() < books_.ends) {
    offer();
    port_.flush();
    uint32_t came = take();
    bool may_begin = options_.load == Load::kClosed ? outstanding() < options_.outstanding : !waiting_.empty();
    if (came == 0 && !may_begin) port_.idle();
  }
  // What is outstanding ends; calls that were due and have not begun show the load to be too high.
  books_.waiting += waiting_.size();
  constexpr Time kPatience = Time{1000} * 1000 * kNanosecond;
  Time patience = core_.now() + kPatience + options_.timeout;
  while (outstanding() != 0 && books_.error.empty()) {
    if (take() == 0) port_.idle();
    if (core_.now() > patience) {
      books_.fail("client " + std::to_string(number_) + ": " + std::to_string(outstanding()) +
                  " calls have had no answer for 1 ms");
    }
  }
  for (const Connection& each : connections_) check_client(each.client->counters(), options_, &books_);
  --books_.clients_running;
}

uint32_t ClientProgram::take() {
  auto done = [this](const lines::Completion& completion) { ended(completion); };
  uint32_t came = 0;
  if (connections_.size() == 1) {
    came = connections_[0].client->poll(options_.poll, done);
  } else {
    Slot slot;
    for (uint32_t i = 0; i < options_.poll && port_.try_pop(slot); ++i) {
      uint32_t at = line_view(slot).connection - uint32_t{first_};
      if (at >= connections_.size()) return books_.fail("a client was given a line of another's connection"), came;
      connections_[at].port->offer(slot);
      came += connections_[at].client->poll(1, done);
    }
  }
  if (options_.timeout == 0) return came;
  for (Connection& each : connections_) came += each.client->expire(done);
  return came;
}

void ClientProgram::offer() {
  if (options_.load == Load::kClosed) {
    while (outstanding() < options_.outstanding && core_.now() < books_.ends && begin(core_.now())) {
    }
    return;
  }
  for (; next_due_ <= core_.now(); next_due_ += next_gap()) {
    waiting_.push_back(next_due_);
    if (books_.within(next_due_)) ++books_.offered;
  }
  while (!waiting_.empty() && outstanding() < options_.outstanding && begin(waiting_.front())) {
    waiting_.pop_front();
  }
}

bool ClientProgram::begin(Time due) {
  uint64_t id = uint64_t{number_} << 40 | next_id_;
  if (std::exchange(made_, id) != id) content_.request(id, &core_, &request_);
  lines::BasicRpcClient<LinePort>& client = *connections_[next_id_ % connections_.size()].client;
  if (client.begin(content_.function(id), request_, id) != lines::BeginResult::kOk) return false;
  if (options_.load == Load::kClosed && books_.within(due)) ++books_.offered;
  due_times_[id] = due;
  ++next_id_;
  return true;
}

void ClientProgram::ended(const lines::Completion& done) {
  auto due = due_times_.extract(done.tag).mapped();
  if (done.status == lines::kStatusDeadlineExceeded) {
    ++books_.lost;
    return;
  }
  if (done.status != lines::kStatusOk) {
    return books_.fail("a call ended in status " + std::to_string(done.status));
  }
  std::string wrong = content_.check(done.tag, done.response, &core_);
  if (!wrong.empty()) return books_.fail(wrong);
  ++books_.checked;
  if (books_.within(core_.now())) ++books_.completed;
  if (books_.within(due)) books_.latencies.push_back(static_cast<uint32_t>((core_.now() - due) / kNanosecond));
}

// Between two calls of this client.
Time ClientProgram::next_gap() {
  double mean = 1e6 * options_.clients / options_.rate;  // ps
  if (options_.arrivals == Arrivals::kFixed) return static_cast<Time>(mean);
  return static_cast<Time>(std::exponential_distribution<>(1 / mean)(random_)) + 1;
}

// ---- server

ServerProgram::ServerProgram(const CallOptions& options, CallContent* content, LinePort* port, Core* core, Time handler,
                             CallBooks* books)
    : options_(options),
      content_(*content),
      port_(*port),
      core_(*core),
      handler_(handler),
      books_(*books),
      thread_(&server_, port) {
  for (uint16_t function = content->first_function(); function < content->end_function(); ++function) {
    server_.handle(function, [this](const lines::Request& request, lines::Response& response) {
      return handle(request, response);
    });
  }
}

void ServerProgram::run() {
  while (books_.clients_running != 0) {
    if (thread_.serve(options_.poll) == 0) port_.idle();
  }
  check_server(thread_.counters(), &books_);
}

uint16_t ServerProgram::handle(const lines::Request& request, lines::Response& response) {
  core_.spend(Work::kHandler, handler_);
  uint64_t call = 0;
  std::string wrong = content_.serve(request, &core_, &call, &response_);
  if (!wrong.empty()) {
    books_.fail(wrong);
    return lines::kStatusInternal;
  }
  if (!books_.served.insert(call).second) books_.fail("a call was served twice");
  response.copy(response_);
  return lines::kStatusOk;
}

}  // namespace drover::sim
