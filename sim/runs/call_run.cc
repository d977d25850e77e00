#include "sim/runs/call_run.h"

#include <algorithm>
#include <memory>
#include <systemc>

#include "sim/runs/call_programs.h"
#include "sim/runs/due_list.h"
#include "sim/runs/kv_programs.h"

namespace drover::sim {
namespace {

// Of a frame: what Ethernet adds around it, preamble and start 8, check sequence 4, gap 12.
uint64_t bytes_on_wire(const Frame& frame) { return frame.size() + 24; }

class SimulatedCore final : public Core {
 public:
  explicit SimulatedCore(const CallBooks* books) : books_(*books) {}
  void spend(Work what, Time time) override {
    if (time == 0) return;
    if (books_.within(now())) count(what, time);
    sc_core::wait(sc_core::sc_time::from_value(time));
  }
  Time now() const override { return DueList::now(); }

 private:
  const CallBooks& books_;
};

class CallRun final : public sc_core::sc_module, public Timeline {
 public:
  CallRun(const System& system, const CallMessages& messages);

  CallResult result();

  Time now() const override { return DueList::now(); }
  void at(Time when, std::function<void()> what) override { due_.at(when, std::move(what)); }

 private:
  // A host: its memory and NIC, and the cores of its programs.
  struct Host {
    std::string name;
    std::unique_ptr<HostNode> node;
    std::unique_ptr<CallEngine> engine;
    std::vector<std::unique_ptr<SimulatedCore>> cores;
    std::vector<std::unique_ptr<LinePort>> ports;
  };

  Host make_host(const std::string& name, uint32_t threads, Endpoint* endpoint);
  void join(uint32_t from, uint32_t to);
  std::string refused(const Host& host) const;
  void tick() {
    for (Host& host : hosts_) host.engine->tick();
  }
  void run_due() { due_.run_due(); }
  // A program in a thread of its own.
  void start(const std::string& name, std::function<void()> program);

  const System& system_;
  const CallMessages& messages_;
  const CallOptions& options_;
  CallBooks books_;
  DueList due_;
  Endpoint endpoint_;
  Network network_;
  std::vector<Host> hosts_;  // the clients', the servers'
  std::unique_ptr<Program> client_program(uint32_t number, uint16_t connection);
  std::unique_ptr<Program> server_program(uint32_t number);

  std::unique_ptr<CallContent> content_;
  lines_kv::KeyValueStore store_;  // of all servers
  std::vector<std::unique_ptr<Program>> programs_;
  std::unique_ptr<sc_core::sc_clock> clock_;
  uint32_t running_ = 0;
};

CallRun::CallRun(const System& system, const CallMessages& messages)
    : sc_module(sc_core::sc_module_name("calls")),
      system_(system),
      messages_(messages),
      options_(system.calls),
      endpoint_(system.platform.coherent.interval),
      network_(system.platform.network, 2) {
  books_.begins = options_.warm_up;
  books_.ends = options_.warm_up + options_.time;
  hosts_.reserve(2);
  hosts_.push_back(make_host("clients", options_.clients, &endpoint_));
  hosts_.push_back(make_host("servers", options_.servers, &endpoint_));
  join(0, 1);
  join(1, 0);
  books_.reliable = system.reliable();
  content_ = make_content(options_, messages, hosts_[0].engine->objects(), hosts_[1].engine->objects());
  for (uint32_t i = 0; i < options_.clients; ++i) {
    for (uint32_t k = 0; k < options_.connections; ++k) {
      auto number = static_cast<uint16_t>(i * options_.connections + k);
      hosts_[0].engine->connect({.number = number, .flow = static_cast<uint8_t>(i), .other = 1});
      hosts_[1].engine->connect(
          {.number = number, .flow = static_cast<uint8_t>(i % options_.servers), .other = 0, .serves = true});
    }
    programs_.push_back(client_program(i, static_cast<uint16_t>(i * options_.connections)));
    start("client_" + std::to_string(i), [program = programs_.back().get()] { program->run(); });
  }
  for (uint32_t i = 0; i < options_.servers; ++i) {
    programs_.push_back(server_program(i));
    start("server_" + std::to_string(i), [program = programs_.back().get()] { program->run(); });
  }
  using SC_CURRENT_USER_MODULE = CallRun;
  clock_ = std::make_unique<sc_core::sc_clock>("clock", sc_core::sc_time::from_value(hosts_[0].engine->period()));
  SC_METHOD(tick);
  sensitive << clock_->posedge_event();
  dont_initialize();
  SC_METHOD(run_due);
  sensitive << due_.due_event();
  dont_initialize();
}

std::unique_ptr<Program> CallRun::client_program(uint32_t number, uint16_t connection) {
  LinePort* port = hosts_[0].ports[number].get();
  Core* core = hosts_[0].cores[number].get();
  if (options_.program == Calls::kLinesKv) {
    return std::make_unique<KeyValueClientProgram>(number, connection, options_, port, core, &books_);
  }
  return std::make_unique<ClientProgram>(number, connection, options_, content_.get(), port, core, &books_);
}

std::unique_ptr<Program> CallRun::server_program(uint32_t number) {
  LinePort* port = hosts_[1].ports[number].get();
  Core* core = hosts_[1].cores[number].get();
  const Time handler = system_.platform.cores.handler;
  if (options_.program == Calls::kLinesKv) {
    return std::make_unique<KeyValueServerProgram>(options_, &store_, port, core, handler, &books_);
  }
  return std::make_unique<ServerProgram>(options_, content_.get(), port, core, handler, &books_);
}

CallRun::Host CallRun::make_host(const std::string& name, uint32_t threads, Endpoint* endpoint) {
  constexpr uint64_t kMemory = 64 << 20;  // a table of connections, rings of 64 flows of 4,096 lines, and more
  Host host;
  host.name = name;
  host.node = std::make_unique<HostNode>(static_cast<uint32_t>(hosts_.size()), this, system_.platform, messages_,
                                         endpoint, kMemory);
  host.engine = system_.engine_type().make_for_calls({.options = system_.engine_options(),
                                                      .base = system_.base_options(),
                                                      .host = host.node.get(),
                                                      .window = options_.window()});
  for (uint32_t i = 0; i < threads; ++i) {
    host.cores.push_back(std::make_unique<SimulatedCore>(&books_));
    host.ports.push_back(host.engine->open_flow(static_cast<uint8_t>(i), host.cores.back().get()));
  }
  return host;
}

// What one host's NIC sends goes to the other's.
void CallRun::join(uint32_t from, uint32_t to) {
  hosts_[from].engine->on_frame([this, from, to](Frame frame, uint64_t key) {
    Network::Sent way = network_.send(now(), from, to, bytes_on_wire(frame), key);
    if (way.lost) return;
    at(way.there, [this, to, frame = std::move(frame)]() mutable { hosts_[to].engine->deliver(std::move(frame)); });
  });
}

void CallRun::start(const std::string& name, std::function<void()> program) {
  ++running_;
  sc_core::sc_spawn_options options;
  options.set_stack_size(256 << 10);
  sc_core::sc_spawn(
      [this, program = std::move(program)] {
        program();
        if (--running_ == 0) sc_core::sc_stop();
      },
      name.c_str(), &options);
}

// What a host's NIC had to drop, as a reason for calls without an answer; or empty.
std::string CallRun::refused(const Host& host) const {
  for (const auto& [name, value] : host.engine->figures()) {
    if (name == "rx_refused" && value != 0 && !system_.reliable()) {
      return "; the " + host.name + "' NIC had no room for " + std::to_string(value) +
             " lines, and the transport is unreliable: set calls.timeout, or offer less";
    }
  }
  return "";
}

CallResult CallRun::result() {
  CallResult result;
  result.measured = options_.time;
  result.offered = books_.offered;
  result.completed = books_.completed;
  result.waiting = books_.waiting;
  result.lost = books_.lost;
  result.checked = books_.checked;
  result.latencies = std::move(books_.latencies);
  std::sort(result.latencies.begin(), result.latencies.end());
  result.network = network_.counters();
  result.endpoint_passed = endpoint_.passed();
  result.endpoint_busy = endpoint_.busy();
  result.whole = now();
  result.error = books_.error;
  for (Host& host : hosts_) {
    for (size_t i = 0; i < host.cores.size(); ++i) {
      std::string name = host.name == "clients" ? "client " : "server ";
      result.cores.push_back({name + std::to_string(i), host.cores[i]->spent()});
    }
    if (result.ok()) result.error = host.engine->violation();
    if (!books_.error.empty()) result.error += refused(host);
    result.engines.push_back({host.name + "' NIC", host.engine->figures(), host.node->link().counters()});
  }
  return result;
}

// Of a message that is a request on its way from the client's core.
size_t most_message_bytes(const System& system) {
  if (system.engine_options().has_codec()) return lines::kMaxMessageBytes;
  return size_t{system.engine_options().most_request_lines()} * kLineArguments;
}

}  // namespace

CallResult simulate_calls(const System& system) {
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);  // "stopped by user"
  sc_core::sc_set_time_resolution(1, sc_core::SC_PS);
  CallMessages messages;
  if (system.calls.messages != "none") {
    messages = call_messages(system.platform, system.calls.messages, system.calls.cut, most_message_bytes(system));
    if (!messages.error.empty()) {
      CallResult result;
      result.error = messages.error;
      return result;
    }
  }
  CallRun run(system, messages);
  sc_core::sc_start();
  CallResult result = run.result();
  result.messages = messages.size();
  result.messages_left_out = messages.left_out;
  return result;
}

}  // namespace drover::sim
