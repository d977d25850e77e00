#include "host/interception.h"

#include <grpcpp/server_context.h>

#include <atomic>
#include <bitset>
#include <cstring>
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
//
// An Intercept and its Proceed may be on two threads, and end in either order. The later of the two goes on:
//
//   kRuns --Proceed--> kProceeded --Intercept returns--> its thread runs the next one
//   kRuns --Intercept returns--> kReturned --Proceed--> that thread runs the next one
class Interception::Batch final : public grpc::experimental::InterceptorBatchMethods {
 public:
  // What ended() does with it.
  enum class About { kOther, kMessage, kMessageSent, kEnd, kLastMessageSent };

  Batch(Interception& of, bool received, Resume resume, About about = About::kOther)
      : resume(std::move(resume)), about(about), of_(of), received_(received) {}

  Interception& of() { return of_; }
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

  Resume resume;
  const About about;
  const Message** replaces = nullptr;  // kMessage: where what is to be sent is stored

  // Runs the interceptors that have not run, up to one that throws. False: one of them proceeds later; the batch may be
  // gone.
  bool go_on() {
    const Interceptors& all = *of_.interceptors_;
    while (next_ < all.size()) {
      Interceptor& one = *all[received_ ? all.size() - 1 - next_ : next_];
      ++next_;
      state_.store(State::kRuns, std::memory_order_relaxed);
      try {
        one.Intercept(this);
      } catch (...) {
        of_.threw.store(true, std::memory_order_relaxed);
        return true;
      }
      if (state_.exchange(State::kReturned, std::memory_order_acq_rel) != State::kProceeded) return false;
    }
    return true;
  }
  // TryCancel: no interceptor is waited for.
  void tell(const Interceptors& interceptors) {
    for (const auto& interceptor : interceptors) interceptor->Intercept(this);
  }

  bool QueryInterceptionHookPoint(InterceptionHookPoints type) override {
    return hooks_.test(static_cast<size_t>(type));
  }
  void Proceed() override {
    if (QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_CANCEL)) return;
    if (state_.exchange(State::kProceeded, std::memory_order_acq_rel) != State::kReturned) return;
    if (!go_on()) return;
    Interception& of = of_;
    const Resume then = resume;
    if (of.ended(std::unique_ptr<Batch>(this))) then();
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
  enum class State : uint8_t { kRuns, kProceeded, kReturned };
  const bool received_;
  size_t next_ = 0;  // of the interceptors
  std::atomic<State> state_{State::kRuns};
};

Interception::~Interception() = default;

void Interception::recycle() {
  interceptors_.reset();
  received_.reset();
  sent_.reset();
  threw.store(false, std::memory_order_relaxed);
  call_seen = end_seen = initial_seen_ = reply_sent_ = headers_seen = headers_run = end_waits = false;
}

bool Interception::run(std::unique_ptr<Batch> batch) {
  Interception& of = batch->of();
  Batch* const running = batch.release();  // its own owner, until all have proceeded
  return running->go_on() && of.ended(std::unique_ptr<Batch>(running));
}

bool Interception::ended(std::unique_ptr<Batch> batch) {
  if (batch->initial) call_.set_added_metadata(false, std::move(*batch->initial));
  if (batch->trailing) call_.set_added_metadata(true, std::move(*batch->trailing));
  switch (batch->about) {
    case Batch::About::kOther:
      break;
    case Batch::About::kMessage:
      message_replaced(*batch);
      break;
    case Batch::About::kMessageSent:
      sent_.reset();
      break;
    case Batch::About::kEnd:
      end_replaced(*batch);
      break;
    case Batch::About::kLastMessageSent:
      sent_.reset();
      return closed(std::move(batch->resume));
  }
  return true;
}

bool Interception::received_call(grpc::ServerContextBase& context, Message* message, Resume resume) {
  const grpc::internal::Method& method = *call_.method;
  std::shared_ptr<OfCall> of_call(new OfCall);
  if (method.any) of_call->path = call_.path();
  of_call->info.method_ = method.any ? of_call->path.c_str() : method.path;
  of_call->info.type_ = type_of(method);
  of_call->info.context_ = &context;
  try {
    for (const auto& factory : factories_) {
      Interceptor* made = factory->CreateServerInterceptor(&of_call->info);
      if (made != nullptr) of_call->interceptors.emplace_back(made);
    }
  } catch (...) {
    threw.store(true, std::memory_order_relaxed);
    return true;
  }
  if (of_call->interceptors.empty()) return true;
  interceptors_ = {of_call, &of_call->interceptors};
  auto batch = std::make_unique<Batch>(*this, true, std::move(resume));
  batch->add(InterceptionHookPoints::POST_RECV_INITIAL_METADATA);
  batch->context = &context;
  if (!method.request_streams) {
    batch->add(InterceptionHookPoints::POST_RECV_MESSAGE);
    batch->received = message;
    batch->received_in_call = message == nullptr;
  }
  return run(std::move(batch));
}

bool Interception::received_message(Message* message, Resume resume) {
  if (interceptors_ == nullptr) return true;
  auto batch = std::make_unique<Batch>(*this, true, std::move(resume));
  batch->add(InterceptionHookPoints::POST_RECV_MESSAGE).received = message;
  return run(std::move(batch));
}

bool Interception::sends_message(const Message** message, Resume resume) {
  if (interceptors_ == nullptr) return true;
  auto batch = std::make_unique<Batch>(*this, false, std::move(resume), Batch::About::kMessage);
  batch->add(InterceptionHookPoints::PRE_SEND_MESSAGE).sent = *message;
  batch->replaces = message;
  if (!std::exchange(initial_seen_, true)) batch->add(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA);
  return run(std::move(batch));
}

void Interception::message_replaced(Batch& batch) {
  *batch.replaces = batch.sent;
  if (!batch.serialized) return;
  sent_ = std::make_unique<Arena>();
  *batch.replaces = call_.parse_reply(*batch.serialized, sent_.get());
}

bool Interception::sends_initial_metadata(Resume resume) {
  if (interceptors_ == nullptr || std::exchange(initial_seen_, true)) return true;
  auto batch = std::make_unique<Batch>(*this, false, std::move(resume));
  batch->add(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA);
  return run(std::move(batch));
}

bool Interception::message_sent(bool ok, Resume resume) {
  if (interceptors_ == nullptr) return true;
  auto batch = std::make_unique<Batch>(*this, true, std::move(resume), Batch::About::kMessageSent);
  batch->add(InterceptionHookPoints::POST_SEND_MESSAGE).sent_ok = ok;
  return run(std::move(batch));
}

bool Interception::sends_end(Resume resume) {
  if (call_.interceptor_threw()) call_.status = Call::status_of_throw();
  if (interceptors_ == nullptr) return true;
  auto batch = std::make_unique<Batch>(*this, false, std::move(resume), Batch::About::kEnd);
  batch->add(InterceptionHookPoints::PRE_SEND_STATUS);
  if (!std::exchange(initial_seen_, true)) batch->add(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA);
  if (call_.status.ok() && !call_.method->reply_streams) {
    batch->add(InterceptionHookPoints::PRE_SEND_MESSAGE).sent = static_cast<const Message*>(call_.reply);
    reply_sent_ = true;
  }
  return run(std::move(batch));
}

void Interception::end_replaced(Batch& batch) {
  if (batch.status) call_.status = std::move(*batch.status);
  if (call_.interceptor_threw()) call_.status = Call::status_of_throw();
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

bool Interception::closed(Resume resume) {
  if (interceptors_ == nullptr) return true;
  if (std::exchange(reply_sent_, false)) {
    auto sent = std::make_unique<Batch>(*this, true, std::move(resume), Batch::About::kLastMessageSent);
    sent->add(InterceptionHookPoints::POST_SEND_MESSAGE).sent_ok =
        call_.status.ok() && !call_.cancelled.load(std::memory_order_relaxed);
    return run(std::move(sent));
  }
  auto batch = std::make_unique<Batch>(*this, true, std::move(resume));
  batch->add(InterceptionHookPoints::POST_RECV_CLOSE);
  return run(std::move(batch));
}

void Interception::tell_of_cancel(const Interceptors& interceptors) {
  Batch batch(*this, false, nullptr);
  batch.add(InterceptionHookPoints::PRE_SEND_CANCEL).tell(interceptors);
}

}  // namespace drover::host
