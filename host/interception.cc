#include "host/interception.h"

#include <grpcpp/server_context.h>

#include <bitset>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "codec/decode/decode.h"
#include "generated/generated_message.h"
#include "host/call.h"
#include "message/operations.h"

namespace drover::host {
namespace {

using grpc::ByteBuffer;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::ServerRpcInfo;

using Pairs = std::multimap<std::string, std::string>;

ServerRpcInfo::Type type_of(const grpc::internal::Method& method) {
  if (method.request_streams) {
    return method.reply_streams ? ServerRpcInfo::Type::BIDI_STREAMING : ServerRpcInfo::Type::CLIENT_STREAMING;
  }
  return method.reply_streams ? ServerRpcInfo::Type::SERVER_STREAMING : ServerRpcInfo::Type::UNARY;
}

}  // namespace

// One Intercept of each interceptor; what it does not have is null. Lives until the last has proceeded.
class Interception::Batch final : public grpc::experimental::InterceptorBatchMethods {
 public:
  explicit Batch(Interception& of) : of_(of) {}

  Batch& add(InterceptionHookPoints hook) {
    hooks_.set(static_cast<size_t>(hook));
    return *this;
  }
  // ---- what the hooks show
  grpc::ServerContextBase* context = nullptr;  // POST_RECV_INITIAL_METADATA
  Message* received = nullptr;                 // POST_RECV_MESSAGE
  bool received_in_call = false;               // the same: the call's request, copied when it is asked for
  const Message* sent = nullptr;               // PRE_SEND_MESSAGE
  bool sent_ok = false;                        // POST_SEND_MESSAGE
  std::optional<grpc::Status> status;          // PRE_SEND_STATUS; set if it was changed
  // ---- what they have changed
  bool sent_changed = false;
  std::optional<ByteBuffer> serialized;
  std::optional<Pairs> initial, trailing;

  // Runs one, and waits for its Proceed.
  void run(Interceptor& interceptor) {
    proceeded_ = false;
    interceptor.Intercept(this);
    if (QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_CANCEL)) return;
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return proceeded_; });
  }

  bool QueryInterceptionHookPoint(InterceptionHookPoints type) override {
    return hooks_.test(static_cast<size_t>(type));
  }
  void Proceed() override {
    std::lock_guard lock(mutex_);
    proceeded_ = true;
    wake_.notify_one();  // with the lock: the batch may be gone without it
  }
  void Hijack() override { fatal("an interceptor of a server has called Hijack"); }

  ByteBuffer* GetSerializedSendMessage() override {
    if (!has_message()) return nullptr;
    if (!serialized) {
      serialized.emplace();
      serialize(*sent, &*serialized);
    }
    return &*serialized;
  }
  const void* GetSendMessage() override { return has_message() && !serialized ? sent : nullptr; }
  void ModifySendMessage(const void* message) override {
    if (!QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) return;
    sent = static_cast<const Message*>(message);
    sent_changed = true;
    serialized.reset();
  }
  bool GetSendMessageStatus() override { return sent_ok; }
  Pairs* GetSendInitialMetadata() override {
    return metadata(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA, &initial, false);
  }
  grpc::Status GetSendStatus() override { return status ? *status : of_.call_.status; }
  void ModifySendStatus(const grpc::Status& changed) override { status = changed; }
  Pairs* GetSendTrailingMetadata() override {
    return metadata(InterceptionHookPoints::PRE_SEND_STATUS, &trailing, true);
  }

  void* GetRecvMessage() override {
    if (received_in_call && received == nullptr) received = of_.call_.own_request(&of_.received_);
    return received;
  }
  std::multimap<grpc::string_ref, grpc::string_ref>* GetRecvInitialMetadata() override {
    if (context == nullptr) return nullptr;
    return const_cast<std::multimap<grpc::string_ref, grpc::string_ref>*>(&context->client_metadata());
  }

  grpc::Status* GetRecvStatus() override { return nullptr; }
  std::multimap<grpc::string_ref, grpc::string_ref>* GetRecvTrailingMetadata() override { return nullptr; }
  std::unique_ptr<grpc::ChannelInterface> GetInterceptedChannel() override { return nullptr; }
  void FailHijackedRecvMessage() override {}
  void FailHijackedSendMessage() override {}

 private:
  bool has_message() { return QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE) && sent != nullptr; }
  void serialize(const Message& message, ByteBuffer* to) {
    if (of_.call_.method->raw) {
      *to = static_cast<const ByteBuffer&>(message);
      return;
    }
    std::string wire;
    generated::append_to_string(of_.call_.method->reply_type(), message, &wire);
    if (!wire.empty()) {
      std::memcpy(to->drover_resize(wire.size()), wire.data(), wire.size());
    } else {
      to->drover_resize(0);
    }
  }
  Pairs* metadata(InterceptionHookPoints hook, std::optional<Pairs>* pairs, bool is_trailing) {
    if (!QueryInterceptionHookPoint(hook)) return nullptr;
    if (!*pairs) *pairs = of_.call_.added_metadata(is_trailing);
    return &**pairs;
  }

  Interception& of_;
  std::bitset<static_cast<size_t>(InterceptionHookPoints::NUM_INTERCEPTION_HOOKS)> hooks_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool proceeded_ = false;
};

Interception::~Interception() = default;

void Interception::recycle() {
  interceptors_.reset();
  received_.reset();
  sent_.reset();
  end_seen = initial_seen_ = reply_sent_ = headers_seen = headers_run = end_waits = false;
}

void Interception::run(Batch& batch, bool received) {
  const Interceptors& all = *interceptors_;
  for (size_t i = 0; i < all.size(); ++i) batch.run(*all[received ? all.size() - 1 - i : i]);
  if (batch.initial) call_.set_added_metadata(false, std::move(*batch.initial));
  if (batch.trailing) call_.set_added_metadata(true, std::move(*batch.trailing));
}

void Interception::received_call(grpc::ServerContextBase& context, Message* message) {
  const grpc::internal::Method& method = *call_.method;
  std::shared_ptr<OfCall> of_call(new OfCall);
  if (method.any) of_call->path = call_.path();
  of_call->info.method_ = method.any ? of_call->path.c_str() : method.path;
  of_call->info.type_ = type_of(method);
  of_call->info.context_ = &context;
  for (const auto& factory : factories_) {
    if (Interceptor* made = factory->CreateServerInterceptor(&of_call->info)) of_call->interceptors.emplace_back(made);
  }
  if (of_call->interceptors.empty()) return;
  interceptors_ = {of_call, &of_call->interceptors};
  Batch batch(*this);
  batch.add(InterceptionHookPoints::POST_RECV_INITIAL_METADATA);
  batch.context = &context;
  if (!method.request_streams) {
    batch.add(InterceptionHookPoints::POST_RECV_MESSAGE);
    batch.received = message;
    batch.received_in_call = message == nullptr;
  }
  run(batch, true);
}

void Interception::received_message(Message* message) {
  if (interceptors_ == nullptr) return;
  Batch batch(*this);
  batch.add(InterceptionHookPoints::POST_RECV_MESSAGE).received = message;
  run(batch, true);
}

const Message* Interception::sends_message(const Message& message) {
  if (interceptors_ == nullptr) return &message;
  Batch batch(*this);
  batch.add(InterceptionHookPoints::PRE_SEND_MESSAGE).sent = &message;
  if (!std::exchange(initial_seen_, true)) batch.add(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA);
  run(batch, false);
  if (!batch.serialized) return batch.sent;
  sent_ = std::make_unique<Arena>();
  return call_.parse_reply(*batch.serialized, sent_.get());
}

void Interception::sends_initial_metadata() {
  if (interceptors_ == nullptr || std::exchange(initial_seen_, true)) return;
  Batch batch(*this);
  run(batch.add(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA), false);
}

void Interception::message_sent(bool ok) {
  if (interceptors_ == nullptr) return;
  Batch batch(*this);
  batch.add(InterceptionHookPoints::POST_SEND_MESSAGE).sent_ok = ok;
  run(batch, true);
  sent_.reset();
}

void Interception::sends_end() {
  if (interceptors_ == nullptr) return;
  Batch batch(*this);
  batch.add(InterceptionHookPoints::PRE_SEND_STATUS);
  if (!std::exchange(initial_seen_, true)) batch.add(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA);
  if (call_.status.ok() && !call_.method->reply_streams) {
    batch.add(InterceptionHookPoints::PRE_SEND_MESSAGE).sent = static_cast<const Message*>(call_.reply);
    reply_sent_ = true;
  }
  run(batch, false);
  if (batch.status) call_.status = std::move(*batch.status);
  if (batch.serialized) {
    Message* parsed = call_.parse_reply(*batch.serialized, &call_.arena);
    if (parsed != nullptr) {
      call_.reply = parsed;
    } else if (call_.status.ok()) {  // never what the interceptors have replaced
      call_.status = grpc::Status(grpc::StatusCode::INTERNAL, "an interceptor's message cannot be parsed");
    }
  } else if (batch.sent_changed) {
    call_.copy_reply(*batch.sent);
  }
  const bool lacks_reply = call_.status.ok() && !call_.method->reply_streams && call_.reply == nullptr;
  if (lacks_reply) call_.reply = call_.method->create_reply(call_.arena);
}

void Interception::closed() {
  if (interceptors_ == nullptr) return;
  if (std::exchange(reply_sent_, false)) {
    message_sent(call_.status.ok() && !call_.cancelled.load(std::memory_order_relaxed));
  }
  Batch batch(*this);
  run(batch.add(InterceptionHookPoints::POST_RECV_CLOSE), true);
}

void Interception::tell_of_cancel(const Interceptors& interceptors) {
  Batch batch(*this);
  batch.add(InterceptionHookPoints::PRE_SEND_CANCEL);
  for (const auto& interceptor : interceptors) batch.run(*interceptor);
}

}  // namespace drover::host
