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

  bool received_call(grpc::ServerContextBase& context, Message* message, Resume resume) override;
  bool received_message(Message* message, Resume resume) override;
  bool sends_message(const Message** message, Resume resume) override;
  bool sends_initial_metadata(Resume resume) override;
  bool message_sent(bool ok, Resume resume) override;
  bool sends_end(Resume resume) override;
  bool closed(Resume resume) override;
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

  // Each is true if all interceptors have proceeded; else they go on later, with `batch`, which deletes itself.
  static bool run(std::unique_ptr<Batch> batch);
  bool ended(std::unique_ptr<Batch> batch);
  // What a batch does at its end, by what it is about.
  void message_replaced(Batch& batch);
  void end_replaced(Batch& batch);

  Call& call_;
  const InterceptorFactories& factories_;
  std::shared_ptr<const Interceptors> interceptors_;  // of an OfCall; null: none
  std::unique_ptr<Arena> received_;                   // a request that may be changed
  std::unique_ptr<Arena> sent_;                       // a message that was made of changed bytes
  bool initial_seen_ = false;                         // PRE_SEND_INITIAL_METADATA
  bool reply_sent_ = false;                           // POST_SEND_MESSAGE is due
};

}  // namespace drover::host
