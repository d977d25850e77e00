// Interception: how interceptors are run, and what each of them is shown of its call (host/call_interception.h).
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <string>
#include <vector>

#include "host/call_interception.h"
#include "message/message.h"
#include "object/arena.h"

namespace drover::host {

class Call;

class Interception final : public CallInterception {
 public:
  // Both outlive it.
  Interception(Call& call, const InterceptorFactories& factories) : call_(call), factories_(factories) {}
  ~Interception() override;

  void received_call(grpc::ServerContextBase& context, Message* message) override;
  void received_message(Message* message) override;
  const Message* sends_message(const Message& message) override;
  void sends_initial_metadata() override;
  void message_sent(bool ok) override;
  void sends_end() override;
  void closed() override;
  std::shared_ptr<const Interceptors> interceptors() const override { return interceptors_; }
  void tell_of_cancel(const Interceptors& interceptors) override;
  void recycle() override;

 private:
  class Batch;
  // Stays as long as any of them runs: TryCancel may run them while the call ends.
  struct OfCall {
    std::string path;  // of a generic service's call
    grpc::experimental::ServerRpcInfo info;
    Interceptors interceptors;
  };

  void run(Batch& batch, bool received);

  Call& call_;
  const InterceptorFactories& factories_;
  std::shared_ptr<const Interceptors> interceptors_;  // of an OfCall; null: none
  std::unique_ptr<Arena> received_;                   // a request that may be changed
  std::unique_ptr<Arena> sent_;                       // a message that was made of changed bytes
  bool initial_seen_ = false;                         // PRE_SEND_INITIAL_METADATA
  bool reply_sent_ = false;                           // POST_SEND_MESSAGE is due
};

}  // namespace drover::host
