// transport_echo ADDRESS [SPIN_US [auto|uring|epoll [LOG_FILE [FILTER]]]]: one engine thread whose CallSink answers
// every call with the request's own bytes. No dispatcher, no host: measures what sockets, HTTP/2 and gRPC's framing
// cost, and takes odd clients for tests. Metadata is echoed: x-... as initial, y-... as trailing; "x-status: N" ends
// the call with status N. With LOG_FILE calls go to a binary log, by FILTER ("*").
#include <unistd.h>
#include <csignal>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "engine/base/log.h"
#include "engine/binary_log/call_logger.h"
#include "engine/grpc/echo_sink.h"
#include "engine/grpc/transport.h"
#include "engine/net/event_loop.h"
#include "engine/net/listeners.h"

using namespace drover::engine;

namespace {
EventLoop* g_loop = nullptr;
Transport* g_transport = nullptr;
}  // namespace

int main(int argc, char** argv) {
  std::string address = argc > 1 ? argv[1] : "0.0.0.0:50099";
  EventLoop::Options loop_options;
  loop_options.spin_ns = argc > 2 ? std::atoll(argv[2]) * 1000 : 0;
  if (argc > 3) loop_options.io = parse_io_kind(argv[3]).value_or(IoKind::kAuto);
  EventLoop loop(loop_options);
  ThreadMetrics metrics(0);
  TransportShared shared;
  Transport transport(loop, metrics, TransportOptions{}, shared);
  EchoSink sink(transport, metrics);
  transport.set_sink(&sink);
  g_loop = &loop;
  g_transport = &transport;
  signal(SIGTERM, [](int) { g_loop->stop(); });
  signal(SIGINT, [](int) { g_loop->stop(); });
  binary_log::Rules rules;
  if (std::string wrong = binary_log::Filter::parse(argc > 5 ? argv[5] : "*", &rules.filter); !wrong.empty()) {
    log::error(wrong);
    return 1;
  }
  binary_log::LogWriter writer(argc > 4 ? argv[4] : "", {64 << 20, 1, true}, metrics);
  binary_log::CallLogger logger(rules, {}, writer.add_ring(8 << 20), writer, metrics);
  if (argc > 4) {
    transport.log_calls(logger);
    writer.start();
  }
  Listeners listeners({{&loop, &transport.acceptor()}});
  ListenResult listening = listeners.listen(address, 1);
  if (!listening.error.empty()) {
    log::error(listening.error);
    return 1;
  }
  loop.run(nullptr, &transport, &metrics);
  MetricsExporter exporter;
  exporter.add(&metrics);
  if (std::getenv("DROVER_ECHO_METRICS")) std::fputs(exporter.text().c_str(), stderr);
  return 0;
}
