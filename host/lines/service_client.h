// ServiceClient: what generated clients are made of (compiler/lines_text.cc): calls of a service's functions by their
// place in the .proto, with messages in place of bytes (docs/lines.md).
//
//   bind()             asks the server for its numbers of the functions, and whether the layouts are the same
//   call()             synchronous
//   begin(tag)         asynchronous: the call ends in poll's visitor or a CompletionQueue; finish() gives the message
//   begin(callback)    asynchronous: the call ends in `callback(status, response)`, from poll or a synchronous call
//   call_batch()       many calls of one function, as many outstanding at once as the window allows
//
// A call that ends in a response that is no message of its type ends in kStatusInternal, and says what is wrong. A
// server's status that gRPC does not have is kStatusUnknown.
//
// Thread-safety: one thread. Ownership: the port outlives the client. Callbacks of calls that are outstanding when the
// client ends are destroyed, and not called. No allocation for calls of one line by tag, nor by callback once as many
// have been outstanding before (with captures of at most 64 bytes).
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/lines/completion_queue.h"
#include "host/lines/message_form.h"
#include "host/lines/rpc_client.h"
#include "host/lines/rpc_server.h"
#include "host/lines/status.h"

namespace drover::lines {

inline constexpr const char* kNotBoundReason = "the client is not bound to the server's functions: see bind()";
inline constexpr const char* kNoDirectoryReason = "the server has no functions with names";
inline constexpr const char* kUnknownFunctionReason = "the server does not have the function";
inline constexpr const char* kOtherLayoutReason = "the server has the function with another layout of its messages";
inline constexpr const char* kBadDirectoryReason = "the server's answer about its functions is malformed";
inline constexpr const char* kClosedReason = "the connection is closed: the server or the engine has gone";
inline constexpr const char* kBusyReason = "calls by tag are outstanding, whose ends a synchronous call would lose";

// Room for the ends of calls that have callbacks: blocks that are used again.
class CallEndPool {
 public:
  static constexpr size_t kBlockBytes = 96;

  // Has a virtual destructor.
  class Owned : public CallEnd {
   public:
    virtual ~Owned() = default;
  };
  struct Block {
    alignas(16) std::byte bytes[kBlockBytes];
    Owned* live = nullptr;
  };

  CallEndPool() = default;
  CallEndPool(const CallEndPool&) = delete;
  CallEndPool& operator=(const CallEndPool&) = delete;
  ~CallEndPool() {
    for (auto& block : blocks_) {
      if (block->live != nullptr) give_back(block.get());
    }
  }

  // `Made(arguments..., block)`; a larger one is on the heap.
  template <typename Made, typename... Arguments>
  Made* make(Arguments&&... arguments) {
    if (free_.empty()) {
      blocks_.push_back(std::make_unique<Block>());
      free_.reserve(blocks_.size());
      free_.push_back(blocks_.back().get());
    }
    Block* block = free_.back();
    Made* made;
    if constexpr (sizeof(Made) <= kBlockBytes && alignof(Made) <= 16) {
      made = new (block->bytes) Made(std::forward<Arguments>(arguments)..., block);
    } else {
      made = new Made(std::forward<Arguments>(arguments)..., block);
    }
    free_.pop_back();
    block->live = made;
    return made;
  }
  void give_back(Block* block) {
    Owned* live = std::exchange(block->live, nullptr);
    if (static_cast<void*>(live) == static_cast<void*>(block->bytes)) {
      live->~Owned();
    } else {
      delete live;
    }
    free_.push_back(block);
  }

 private:
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> free_;
};

template <Port P>
class ServiceClient {
 public:
  // `functions`: static; the service's, in the .proto's order.
  ServiceClient(P* port, uint16_t connection, const RpcClientOptions& options, std::span<const FunctionId> functions)
      : port_(*port), client_(port, connection, options), functions_(functions), numbers_(functions.size()) {}
  ServiceClient(const ServiceClient&) = delete;
  ServiceClient& operator=(const ServiceClient&) = delete;

  // Asks, and waits for the answer. Not ok: no answer, or a function that cannot be called; the others can.
  Status bind(int64_t timeout_ns = 0) {
    if (outstanding() != with_ends_) return {kStatusFailedPrecondition, kBusyReason};
    BeginResult begun = ask(timeout_ns);
    while (begun == BeginResult::kWindowFull || begun == BeginResult::kNoRoom) {
      wait();
      begun = ask(timeout_ns);
    }
    if (begun == BeginResult::kClosed) return {kStatusUnavailable, kClosedReason};
    if (begun != BeginResult::kOk) return {kStatusInternal, "a service with too many functions"};
    flush();
    while (binding_.waiting) wait();
    return binding_.status;
  }
  // Asks without waiting: the answer comes while polling.
  BeginResult begin_bind(int64_t timeout_ns = 0) {
    BeginResult begun = ask(timeout_ns);
    if (begun == BeginResult::kOk) flush();
    return begun;
  }
  bool bound() const { return bound_; }
  // Of the last question; kStatusUnavailable before any.
  Status binding() const { return binding_.status; }

  void flush() { client_.flush(); }
  // Takes at most `limit` lines, and what has timed out. The visitor gets the calls that were begun by tag.
  template <typename Visitor>
  uint32_t poll(uint32_t limit, Visitor&& completed) {
    return client_.poll(limit, completed) + client_.expire(completed);
  }
  // Where all calls have callbacks.
  uint32_t poll(uint32_t limit) {
    return poll(limit, [](const Completion&) {});
  }
  // poll() has seen to it.
  template <typename Visitor>
  uint32_t expire(Visitor&& completed) {
    return client_.expire(completed);
  }
  // What the port does when there is nothing to do.
  void idle() { port_.idle(); }

  uint32_t outstanding() const { return client_.outstanding(); }
  uint32_t window() const { return client_.window(); }
  bool closed() const { return client_.closed(); }
  uint16_t connection() const { return client_.connection(); }
  const ClientCounters& counters() const { return client_.counters(); }

  // ---- what generated clients call; `place` is the function's in the .proto

  template <typename Request, typename Response>
  Status call_function(size_t place, const Request& request, Response* response, int64_t timeout_ns) {
    if (outstanding() != with_ends_) return {kStatusFailedPrecondition, kBusyReason};
    if (!bound_) {
      Status bound = bind(timeout_ns);
      if (!bound_) return bound;
    }
    Waited<Response> end(response);
    for (;;) {
      Status refused;
      BeginResult begun = begin_call(place, request, 0, timeout_ns, &end, &refused);
      if (begun == BeginResult::kOk) break;
      if (begun != BeginResult::kWindowFull && begun != BeginResult::kNoRoom) return refused;
      wait();
    }
    flush();
    while (!end.over) {
      if (poll(1) == 0) idle();
    }
    return end.status;
  }

  template <typename Request>
  BeginResult begin_function(size_t place, const Request& request, uint64_t tag, int64_t timeout_ns) {
    Status refused;
    return begin_call(place, request, tag, timeout_ns, nullptr, &refused);
  }

  template <typename Response, typename Request, typename Callback>
  BeginResult begin_function_with(size_t place, const Request& request, Callback&& callback, int64_t timeout_ns) {
    auto* end = ends_.template make<Called<Response, std::decay_t<Callback>>>(this, std::forward<Callback>(callback));
    Status refused;
    BeginResult begun = begin_call(place, request, 0, timeout_ns, end, &refused);
    if (begun == BeginResult::kOk) {
      ++with_ends_;
    } else {
      ends_.give_back(end->block);
    }
    return begun;
  }

  // All three of one size. Returns how many calls ended well.
  template <typename Request, typename Response>
  size_t call_batch(size_t place, std::span<const Request> requests, std::span<Response> responses,
                    std::span<Status> statuses, int64_t timeout_ns) {
    if (outstanding() != with_ends_) return fail_all(statuses, {kStatusFailedPrecondition, kBusyReason});
    if (!bound_) {
      Status bound = bind(timeout_ns);
      if (!bound_) return fail_all(statuses, bound);
    }
    std::vector<Waited<Response>> ends;
    ends.reserve(requests.size());
    size_t ended = 0, good = 0, refusals = 0, collected = 0;
    while (collected < requests.size()) {
      while (ends.size() < requests.size()) {
        ends.emplace_back(&responses[ends.size()], &ended);
        Status refused;
        BeginResult begun = begin_call(place, requests[ends.size() - 1], 0, timeout_ns, &ends.back(), &refused);
        if (begun == BeginResult::kOk) continue;
        if (begun == BeginResult::kWindowFull || begun == BeginResult::kNoRoom) {
          ends.pop_back();
          break;
        }
        ends.back().status = refused;
        ++refusals;
      }
      flush();
      collected = ended + refusals;
      if (collected < requests.size() && poll(window()) == 0) idle();
      collected = ended + refusals;
    }
    for (size_t i = 0; i < statuses.size(); ++i) {
      statuses[i] = ends[i].status;
      good += statuses[i].ok() ? 1 : 0;
    }
    return good;
  }

  // Of a call that was begun by tag: its status, and its response's message.
  template <typename Response>
  static Status finish_function(uint16_t status, std::span<const std::byte> bytes, Response* response) {
    if (status != kStatusOk) return {status <= kLastStatus ? status : kStatusUnknown};
    const char* why = from_bytes(bytes, response);
    return why == nullptr ? Status{} : Status{kStatusInternal, why};
  }

 private:
  // The end of a call that is waited for.
  template <typename Response>
  struct Waited final : CallEnd {
    explicit Waited(Response* out, size_t* count = nullptr) : response(out), ended_count(count) {}
    void ended(const Completion& done) override {
      status = finish_function(done.status, done.response, response);
      over = true;
      if (ended_count != nullptr) ++*ended_count;
    }
    Response* response;
    size_t* ended_count;
    Status status;
    bool over = false;
  };

  template <typename Response, typename Callback>
  struct Called final : CallEndPool::Owned {
    template <typename From>
    Called(ServiceClient* owner, From&& from, CallEndPool::Block* at)
        : client(owner), block(at), callback(std::forward<From>(from)) {}
    void ended(const Completion& done) override {
      --client->with_ends_;
      if (done.status != kStatusOk) {
        tell({done.status <= kLastStatus ? done.status : kStatusUnknown});
      } else {
        const char* why =
            with_message<Response>(done.response, [this](const Response& response) { callback(Status{}, response); });
        if (why != nullptr) tell({kStatusInternal, why});
      }
      client->ends_.give_back(block);  // and this has ended
    }
    void tell(const Status& status) {
      const Response none{};
      callback(status, none);
    }
    ServiceClient* client;
    CallEndPool::Block* block;
    Callback callback;
  };

  // The answer about the functions.
  struct Binding final : CallEnd {
    explicit Binding(ServiceClient* owner) : client(owner) {}
    void ended(const Completion& done) override {
      waiting = false;
      --client->with_ends_;
      status = client->bind_to(done);
    }
    ServiceClient* client;
    Status status{kStatusUnavailable, kNotBoundReason};
    bool waiting = false;
  };

  BeginResult ask(int64_t timeout_ns) {
    if (binding_.waiting) return BeginResult::kOk;
    std::vector<FunctionQuestion> questions;
    for (const FunctionId& function : functions_) questions.push_back({function.name, function.layout});
    BeginResult begun =
        client_.begin(kDirectoryFunction, std::as_bytes(std::span(questions)), 0, timeout_ns, &binding_);
    binding_.waiting = begun == BeginResult::kOk;
    with_ends_ += binding_.waiting ? 1 : 0;
    return begun;
  }

  // Takes the server's answer. The first function that cannot be called has its reason told.
  Status bind_to(const Completion& done) {
    if (done.status == kStatusUnimplemented) return {kStatusUnimplemented, kNoDirectoryReason};
    if (done.status != kStatusOk) return {done.status <= kLastStatus ? done.status : kStatusUnknown};
    if (done.response.size() != functions_.size() * sizeof(FunctionAnswer)) {
      return {kStatusInternal, kBadDirectoryReason};
    }
    std::vector<Number> numbers(functions_.size());
    Status first;
    for (size_t i = 0; i < numbers.size(); ++i) {
      FunctionAnswer answer;
      std::memcpy(&answer, done.response.data() + i * sizeof answer, sizeof answer);
      const auto found = static_cast<FunctionFound>(answer.found);
      if (found == FunctionFound::kKnown && answer.function != kDirectoryFunction) {
        numbers[i] = {answer.function, {}};
      } else if (found == FunctionFound::kUnknown) {
        numbers[i] = {kDirectoryFunction, {kStatusUnimplemented, kUnknownFunctionReason}};
      } else if (found == FunctionFound::kOtherLayout) {
        numbers[i] = {kDirectoryFunction, {kStatusFailedPrecondition, kOtherLayoutReason}};
      } else {
        return {kStatusInternal, kBadDirectoryReason};
      }
      if (first.ok()) first = numbers[i].why;
    }
    numbers_ = std::move(numbers);
    bound_ = true;
    return first;
  }

  template <typename Request>
  BeginResult begin_call(size_t place, const Request& request, uint64_t tag, int64_t timeout_ns, CallEnd* end,
                         Status* refused) {
    if (!bound_) [[unlikely]]
      return *refused = {kStatusFailedPrecondition, kNotBoundReason}, BeginResult::kNotBound;
    const Number& number = numbers_[place];
    if (number.function == kDirectoryFunction) [[unlikely]]
      return *refused = number.why, BeginResult::kNoFunction;
    std::span<const std::byte> bytes;
    *refused = to_bytes(request, &scratch_, &bytes);
    if (!refused->ok()) [[unlikely]] {
      return refused->code == kStatusResourceExhausted ? BeginResult::kTooLong : BeginResult::kBadMessage;
    }
    BeginResult begun = client_.begin(number.function, bytes, tag, timeout_ns, end);
    if (begun == BeginResult::kClosed) *refused = {kStatusUnavailable, kClosedReason};
    return begun;
  }

  void wait() {
    flush();
    if (poll(1) == 0) idle();
  }
  static size_t fail_all(std::span<Status> statuses, const Status& why) {
    std::fill(statuses.begin(), statuses.end(), why);
    return 0;
  }

  struct Number {
    uint16_t function = kDirectoryFunction;  // the server's; kDirectoryFunction: cannot be called
    Status why{kStatusFailedPrecondition, kNotBoundReason};
  };

  P& port_;
  BasicRpcClient<P> client_;
  std::span<const FunctionId> functions_;
  std::vector<Number> numbers_;  // by place
  bool bound_ = false;
  Binding binding_{this};
  CallEndPool ends_;
  uint32_t with_ends_ = 0;  // calls outstanding that poll's visitor is not told of
  std::vector<std::byte> scratch_;
};

// ---- the server's side: a service's function as a handler

// Serves one call by `function(const In&, Out*)`, which returns its status. Answers what is no `In` by
// kStatusInvalidArgument, and a response that cannot be sent by the status that says why.
template <typename In, typename Out, typename Function>
uint16_t serve_message(const Request& request, Response& response, Function&& function) {
  uint16_t status = kStatusInvalidArgument;
  with_message<In>(request.arguments, [&](const In& in) {
    if constexpr (FixedMessage<Out>) {
      static_assert(sizeof(Out) <= kMaxMessageBytes);
      status = function(in, new (response.reserve(sizeof(Out))) Out());
    } else {
      Out out;
      status = function(in, &out);
      if (status != kStatusOk) return;
      thread_local std::vector<std::byte> scratch;
      std::span<const std::byte> bytes;
      Status encoded = to_bytes(out, &scratch, &bytes);
      status = encoded.ok() ? kStatusOk : encoded.code == kStatusInvalidArgument ? kStatusInternal : encoded.code;
      if (encoded.ok()) response.copy(bytes);
    }
  });
  return status;
}

}  // namespace drover::lines
