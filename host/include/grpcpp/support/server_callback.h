// ServerUnaryReactor: how a callback handler ends its call. gRPC's class.
//
//   handler returns reactor ... Finish(status) from any thread, once ... OnDone, always last, once
//   OnCancel: at most once, before OnDone, on a runtime thread; the call still has to be finished
//
// Request, reply and context are valid until OnDone. Finish may come before the handler has returned the reactor.
#pragma once

#include <grpcpp/support/status.h>

#include <atomic>
#include <cstdint>

namespace drover::host {
class Call;
}

namespace grpc {

class CallbackServerContext;

namespace internal {

class ServerReactor {
 public:
  virtual ~ServerReactor() = default;
  virtual void OnDone() = 0;
  virtual void OnCancel() = 0;
};

}  // namespace internal

class ServerUnaryReactor : public internal::ServerReactor {
 public:
  ServerUnaryReactor() = default;
  ~ServerUnaryReactor() override = default;
  ServerUnaryReactor(const ServerUnaryReactor&) = delete;
  ServerUnaryReactor& operator=(const ServerUnaryReactor&) = delete;

  // Drover sends initial metadata with the reply; OnSendInitialMetadataDone(true) is called all the same.
  void StartSendInitialMetadata();
  void Finish(Status status);

  virtual void OnSendInitialMetadataDone(bool /*ok*/) {}
  void OnDone() override = 0;
  void OnCancel() override {}

 private:
  friend class drover::host::Call;

  // 0: unbound. Small numbers: unbound, with what was asked for meanwhile. Else the Call that it is bound to.
  static constexpr uintptr_t kFinishAsked = 1;
  static constexpr uintptr_t kInitialMetadataAsked = 2;
  static constexpr uintptr_t kLargestAsked = 3;
  std::atomic<uintptr_t> binding_{0};
  drover::host::Call* home_ = nullptr;  // of a context's own DefaultReactor: the call it is part of
  Status status_;                       // while unbound with kFinishAsked
};

}  // namespace grpc
