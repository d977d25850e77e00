// ServerContext and CallbackServerContext: what a handler learns and says about its call besides the two messages.
//
// gRPC's classes. Contexts belong to the runtime and are used again for later calls: a context is valid until the
// sync handler has returned or the reactor's OnDone was called. A context of the application's, for completion queues,
// has its call until the event of Finish; destroyed before, it lets the call end in CANCELLED. Thread-safety as in
// gRPC: IsCancelled, TryCancel and the const accessors from any thread, the Add... functions from one at a time.
//
// Different from gRPC: census is absent.
#pragma once

#include <grpc/compression.h>
#include <grpc/grpc.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/support/config.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/string_ref.h>
#include <grpcpp/support/time.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drover::host {
class AsyncCall;
class Call;
class LoadReports;
}  // namespace drover::host

struct grpc_call;

namespace grpc {

class ServerUnaryReactor;

namespace experimental {
class CallMetricRecorder;
}

class ServerContextBase {
 public:
  virtual ~ServerContextBase();
  ServerContextBase(const ServerContextBase&) = delete;
  ServerContextBase& operator=(const ServerContextBase&) = delete;

  // time_point::max() if the client gave none.
  std::chrono::system_clock::time_point deadline() const;
  gpr_timespec raw_deadline() const;

  // Keys are lower case; a key that ends in -bin has any bytes as value.
  void AddInitialMetadata(const std::string& key, const std::string& value);
  void AddTrailingMetadata(const std::string& key, const std::string& value);
  const std::multimap<string_ref, string_ref>& client_metadata() const;

  // The client cancelled, the deadline passed, TryCancel was called, or the engine has gone.
  bool IsCancelled() const;
  // The call ends in CANCELLED, whatever the handler answers.
  void TryCancel() const;

  // "ipv4:127.0.0.1:4711", "ipv6:[::1]:4711" or "unix:..."
  std::string peer() const;
  std::shared_ptr<const AuthContext> auth_context() const;
  // The request's :authority.
  string_ref ExperimentalGetAuthority() const;

  // How the reply's messages are compressed, set before the first of them: by an algorithm, if the client takes it, or
  // by one that fits the level. What does not become smaller is sent as it is. The engine does it (limits and cost:
  // docs/guide.md). A level goes before an algorithm.
  void set_compression_level(grpc_compression_level level) {
    compression_level_ = level;
    compression_level_set_ = dirty_ = true;
  }
  bool compression_level_set() const { return compression_level_set_; }
  grpc_compression_level compression_level() const { return compression_level_; }
  void set_compression_algorithm(grpc_compression_algorithm algorithm) {
    compression_algorithm_ = algorithm;
    compression_algorithm_set_ = dirty_ = true;
  }
  grpc_compression_algorithm compression_algorithm() const { return compression_algorithm_; }

  // Of a context that was handed to a Request... before its call came: the event `tag` says that the call is over,
  // because it has ended or was cancelled; IsCancelled() then says which. The context must live until then.
  void AsyncNotifyWhenDone(void* tag) {
    done_tag_ = tag;
    done_asked_ = true;
  }

  // For the call's load report (ext/call_metric_recorder.h); null unless the server's builder has switched it on.
  experimental::CallMetricRecorder* ExperimentalGetCallMetricRecorder();

  // There is no gRPC core beneath.
  grpc_call* c_call() { return nullptr; }
  drover::host::Call* drover_call() const { return call_; }

 protected:
  ServerContextBase();
  ServerUnaryReactor* DefaultReactor();

 private:
  friend class drover::host::AsyncCall;
  friend class drover::host::Call;
  class AsyncLock;
  struct Metadata;

  // A context of the application's, from the event that announces its call to the end of that call.
  void drover_bind(drover::host::Call& call);
  void drover_unbind(bool cancelled);
  bool drover_done_tag(void** tag) const {
    *tag = done_tag_;
    return done_asked_;
  }

  // At the end of its call: the load report becomes trailing metadata.
  void drover_report_load(const drover::host::LoadReports& reports);

  const Metadata& metadata() const;
  // Calls visit(is_initial, key, value) for everything that was added.
  template <class Visit>
  void drover_visit_metadata(Visit&& visit) const {
    for (const auto& pair : added_initial_) visit(true, std::string_view(pair.first), std::string_view(pair.second));
    for (const auto& pair : added_trailing_) visit(false, std::string_view(pair.first), std::string_view(pair.second));
  }
  // Ready for the next call.
  void drover_reset() {
    if (dirty_) [[unlikely]]
      reset_slow();
    if (load_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      drover_reset_load();
    if (metadata_.load(std::memory_order_relaxed) != nullptr) drover_reset_client();
  }
  void reset_slow();
  void drover_reset_client();
  void drover_reset_load();

  drover::host::Call* call_ = nullptr;  // null: the application made this context itself, for a test
  // Of a context of the application's: guards call_, which its call's end sets to null.
  mutable std::atomic<bool> lock_{false};
  bool async_ = false;  // it has, or has had, a call
  bool was_cancelled_ = false;
  bool done_asked_ = false;
  bool dirty_ = false;  // something below differs from a fresh context
  bool compression_level_set_ = false, compression_algorithm_set_ = false;
  grpc_compression_level compression_level_ = GRPC_COMPRESS_LEVEL_NONE;
  grpc_compression_algorithm compression_algorithm_ = GRPC_COMPRESS_NONE;
  void* done_tag_ = nullptr;
  std::vector<std::pair<std::string, std::string>> added_initial_, added_trailing_;
  std::atomic<experimental::CallMetricRecorder*> load_{nullptr};  // made at the first use
  mutable std::atomic<Metadata*> metadata_{nullptr};  // the client's; made at the first use, kept for later calls
};

class ServerContext : public ServerContextBase {
 public:
  ServerContext() = default;
};

class CallbackServerContext : public ServerContextBase {
 public:
  CallbackServerContext() = default;
  // A reactor that belongs to the context, for handlers that only need Finish. At most once per call.
  using ServerContextBase::DefaultReactor;
};

}  // namespace grpc
