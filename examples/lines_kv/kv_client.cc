// A client of the key-value service on droverd.
//
//   kv_client get KEY | set KEY VALUE | scan PREFIX
//   kv_client load CALLS [THREADS [OUTSTANDING]]      calls whose answers are checked, and how many a second
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "host/lines/engine/lines_engine.h"
#include "kv_load.h"

namespace {

using drover::lines::LanePort;
using drover::lines::LinesEngine;
using drover::lines::Status;
using Client = lines_kv::KeyValueLines::Client<LanePort>;

constexpr int64_t kWaitForServer = 10'000'000'000;
constexpr int64_t kTimeout = 2'000'000'000;

int fail(const std::string& why) {
  std::cerr << "kv_client: " << why << std::endl;
  return 1;
}
int fail(const Status& status) {
  return fail(std::string(drover::lines::status_name(status.code)) + " " + status.reason);
}

int one_call(Client* client, const std::vector<std::string>& words) {
  if (words[0] == "get") {
    lines_kv::GetRequestFixed request;
    lines_kv::GetResponseFixed response;
    if (!request.set_key(words[1])) return fail("a key has at most 15 bytes");
    Status status = client->Get(request, &response, kTimeout);
    if (!status.ok()) return fail(status);
    std::cout << response.value() << " (version " << response.version() << ")" << std::endl;
    return 0;
  }
  if (words[0] == "set") {
    lines_kv::SetRequestFixed request;
    lines_kv::SetResponseFixed response;
    if (!request.set_key(words[1]) || !request.set_value(words[2])) return fail("15 bytes of key, 31 of value");
    Status status = client->Set(request, &response, kTimeout);
    if (!status.ok()) return fail(status);
    std::cout << "version " << response.version() << std::endl;
    return 0;
  }
  lines_kv::ScanRequest request;
  lines_kv::ScanResponse response;
  request.set_prefix(words[1]);
  request.set_limit(100);
  Status status = client->Scan(request, &response, kTimeout);
  if (!status.ok()) return fail(status);
  for (const auto& entry : response.entries()) {
    std::cout << std::string_view(entry.key()) << " " << std::string_view(entry.value()) << std::endl;
  }
  return 0;
}

int load(LinesEngine* engine, const std::vector<uint16_t>& connections, uint64_t calls, uint32_t outstanding) {
  std::vector<LanePort*> ports;
  for (uint32_t lane = 0; lane < engine->lanes(); ++lane) ports.push_back(&engine->port(lane));
  lines_kv::KeyValueLines::ClientPool<LanePort> pool(ports, connections);
  std::vector<std::string> errors(ports.size());
  std::vector<std::thread> threads;
  auto began = std::chrono::steady_clock::now();
  for (uint32_t lane = 0; lane < ports.size(); ++lane) {
    threads.emplace_back([&, lane] {
      Client& client = pool.client(lane);
      Status bound = client.bind(kTimeout);
      if (!bound.ok()) {
        errors[lane] = bound.reason;
        return;
      }
      // A client's number is its process's and its lane's, so that clients beside it have other keys.
      const auto number = static_cast<uint32_t>(::getpid()) * 16 + lane;
      lines_kv::KeyValueLoad<LanePort> run(ports[lane], &client, {.number = number, .scan_every = 50});
      while (run.ended() < calls && run.error().empty()) {
        if (!run.step(outstanding)) ports[lane]->idle();
      }
      run.finish();
      errors[lane] = run.error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) {
    if (!error.empty()) return fail(error);
  }
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const double all = static_cast<double>(calls) * static_cast<double>(ports.size());
  std::cout << all << " calls, all as they should be, " << all / took.count() << " a second" << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool loads = words.size() >= 2 && words[0] == "load";
  const bool calls =
      words.size() >= 2 && (words[0] == "get" || words[0] == "scan" || (words[0] == "set" && words.size() > 2));
  if (!loads && !calls) return fail("get KEY | set KEY VALUE | scan PREFIX | load CALLS [THREADS [OUTSTANDING]]");
  auto number = [&](size_t at, uint64_t otherwise) {
    return words.size() > at ? std::strtoull(words[at].c_str(), nullptr, 10) : otherwise;
  };
  const std::string name = lines_kv::KeyValueLines::service_full_name();
  drover::lines::LinesEngineOptions options;
  options.calls = {name};
  options.lanes = loads ? static_cast<uint32_t>(std::clamp<uint64_t>(number(2, 1), 1, 16)) : 1;
  std::string error;
  auto engine = LinesEngine::start(options, &error);
  if (engine == nullptr) return fail(error);
  std::vector<uint16_t> connections;
  for (uint32_t lane = 0; lane < engine->lanes(); ++lane) {
    auto connection = engine->open(name, lane, kWaitForServer, &error);
    if (!connection) return fail(error);
    connections.push_back(*connection);
  }
  if (loads) return load(engine.get(), connections, number(1, 0), static_cast<uint32_t>(number(3, 32)));
  Client client(&engine->port(0), connections[0]);
  return one_call(&client, words);
}
