// The key-value service on droverd, as RPC lines.
//
//   kv_server [LANES]     serves lines_kv.KeyValue on so many threads (1) until it is ended or the engine goes
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include "host/lines/engine/lines_engine.h"
#include "kv_store.h"

namespace {
volatile std::sig_atomic_t stopped = 0;
}

int main(int argc, char** argv) {
  std::signal(SIGTERM, [](int) { stopped = 1; });
  std::signal(SIGINT, [](int) { stopped = 1; });
  drover::lines::LinesEngineOptions options;
  options.serves = {lines_kv::KeyValueLines::service_full_name()};
  options.lanes = argc > 1 ? static_cast<uint32_t>(std::max(1, std::atoi(argv[1]))) : 1;
  std::string error;
  auto engine = drover::lines::LinesEngine::start(options, &error);
  if (engine == nullptr) {
    std::cerr << "kv_server: " << error << std::endl;
    return 1;
  }
  lines_kv::KeyValueStore store;
  drover::lines::RpcThreadedServer server;
  store.add_to(&server);
  std::vector<std::thread> threads;
  for (uint32_t lane = 0; lane < engine->lanes(); ++lane) {
    threads.emplace_back([&, lane] {
      drover::lines::ServerThread thread(&server, &engine->port(lane));
      while (stopped == 0 && !engine->gone()) {
        if (thread.serve(64) == 0) engine->port(lane).idle();
      }
    });
  }
  std::cout << "serving " << options.serves[0] << " on " << threads.size() << " lanes" << std::endl;
  for (std::thread& thread : threads) thread.join();
  if (stopped == 0) std::cerr << "kv_server: " << engine->failure() << std::endl;
  return stopped == 0 ? 1 : 0;
}
