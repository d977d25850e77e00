// The key-value service of examples/lines_kv as a program of a run: its own source, on simulated ports. Each answer is
// checked by the client's knowledge of what it has set (kv_load.h).
#pragma once

#include "examples/lines_kv/kv_load.h"
#include "examples/lines_kv/kv_store.h"
#include "sim/engines/engine.h"
#include "sim/runs/call_programs.h"

namespace drover::sim {

// Of a Scan by KeyValueLoad: eight entries, of at most 52 bytes on the wire each.
inline constexpr uint32_t kKeyValueResponseLines = 9;
// The key of a Get and a Set, its size and its bytes. A Set that overtakes one of the same key leaves an old value.
inline constexpr CallKey kKeyValueKey{.offset = 0, .length = 16};

class KeyValueClientProgram final : public Program {
 public:
  KeyValueClientProgram(uint32_t number, uint16_t connection, const CallOptions& options, LinePort* port, Core* core,
                        CallBooks* books);
  // Asks for the functions, keeps calls.outstanding under way until the measured time ends, and waits for the rest.
  void run() override;

 private:
  void ended(int64_t began_ns);

  const CallOptions& options_;
  LinePort& port_;
  Core& core_;
  CallBooks& books_;
  lines_kv::KeyValueLines::Client<LinePort> client_;
  lines_kv::KeyValueLoad<LinePort> load_;
};

class KeyValueServerProgram final : public Program {
 public:
  // `store`: that of all servers of the run.
  KeyValueServerProgram(const CallOptions& options, lines_kv::KeyValueStore* store, LinePort* port, Core* core,
                        Time handler, CallBooks* books);
  // Serves until no client runs.
  void run() override;

 private:
  // The store's functions, and the simulated time that they take.
  class TimedStore final : public lines_kv::KeyValueLines::Service {
   public:
    TimedStore(lines_kv::KeyValueStore* store, Core* core, Time handler)
        : store_(*store), core_(*core), handler_(handler) {}
    uint16_t Get(const lines_kv::GetRequestFixed& request, lines_kv::GetResponseFixed* response) override {
      core_.spend(Work::kHandler, handler_);
      return store_.Get(request, response);
    }
    uint16_t Set(const lines_kv::SetRequestFixed& request, lines_kv::SetResponseFixed* response) override {
      core_.spend(Work::kHandler, handler_);
      return store_.Set(request, response);
    }
    uint16_t Scan(const lines_kv::ScanRequest& request, lines_kv::ScanResponse* response) override {
      core_.spend(Work::kHandler, handler_);
      return store_.Scan(request, response);
    }

   private:
    lines_kv::KeyValueStore& store_;
    Core& core_;
    const Time handler_;
  };

  const CallOptions& options_;
  LinePort& port_;
  CallBooks& books_;
  TimedStore store_;
  lines::RpcThreadedServer server_;
  lines::BasicServerThread<LinePort> thread_;
};

}  // namespace drover::sim
