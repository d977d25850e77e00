// Streams as C++20 coroutines, on top of the callback API: a handler that waits holds no thread.
//
//   grpc::ServerBidiReactor<Note, Note>* Chat(grpc::CallbackServerContext* context) override {
//     using Notes = drover::BidiStream<Note, Note>;
//     return drover::serve<Notes>(context, [this](Notes& notes) -> drover::StreamTask {
//       while (const Note* note = co_await notes.Read()) {
//         if (!co_await notes.Write(answer_to(*note))) co_return grpc::Status::CANCELLED;
//       }
//       co_return grpc::Status::OK;
//     });
//   }
//
// RequestStream is for methods whose request streams, ReplyStream for those whose reply does. The body is kept,
// captures and all, until the call is over; what it returns ends the call. An exception that leaves it ends the call in
// UNKNOWN.
//
// Threads: the body runs where reactions do, and goes on after a co_await on any of those threads, one at a time. It
// may also await what is not ours: Read and Write may be called from any thread. One Read and one Write may be
// underway.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <coroutine>
#include <utility>

namespace drover {

// What the body of a stream returns: a coroutine that ends in a grpc::Status.
class StreamTask {
 public:
  struct promise_type {
    StreamTask get_return_object() { return StreamTask(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct End {
      bool await_ready() noexcept { return false; }
      // The coroutine is suspended: OnDone may free it before this returns.
      void await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        promise_type& promise = self.promise();
        promise.end(promise.stream, std::move(promise.status));
      }
      void await_resume() noexcept {}
    };
    End final_suspend() noexcept { return {}; }
    void return_value(grpc::Status ended) { status = std::move(ended); }
    void unhandled_exception() { status = grpc::Status(grpc::StatusCode::UNKNOWN, "Unexpected error in RPC handling"); }

    grpc::Status status;
    void* stream = nullptr;
    void (*end)(void* stream, grpc::Status status) = nullptr;
  };

  StreamTask(StreamTask&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  StreamTask& operator=(StreamTask&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~StreamTask() {
    if (coroutine_) coroutine_.destroy();
  }

  // For serve(): runs the coroutine up to its first wait. `end` is called with `stream` when it returns.
  void drover_start(void* stream, void (*end)(void*, grpc::Status)) {
    coroutine_.promise().stream = stream;
    coroutine_.promise().end = end;
    coroutine_.resume();
  }

 private:
  explicit StreamTask(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
  std::coroutine_handle<promise_type> coroutine_;
};

namespace stream_internal {

// Something that was started, and the coroutine that waits for it.
class Waiting {
 public:
  void suspend(std::coroutine_handle<> coroutine) { coroutine_ = coroutine; }
  void done(bool ok) {
    ok_ = ok;
    std::exchange(coroutine_, nullptr).resume();
  }
  bool ok() const { return ok_; }

 private:
  std::coroutine_handle<> coroutine_;
  bool ok_ = false;
};

template <class Stream, class Request>
struct ReadAwaiter {
  Stream* stream;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    stream->read_.suspend(coroutine);
    stream->StartRead(&stream->request_);
  }
  const Request* await_resume() const { return stream->read_.ok() ? &stream->request_ : nullptr; }
};

template <class Stream, class Response>
struct WriteAwaiter {
  Stream* stream;
  const Response* message;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    stream->write_.suspend(coroutine);
    stream->StartWrite(message);
  }
  bool await_resume() const { return stream->write_.ok(); }
};

template <class Stream>
struct MetadataAwaiter {
  Stream* stream;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    stream->metadata_.suspend(coroutine);
    stream->StartSendInitialMetadata();
  }
  bool await_resume() const { return stream->metadata_.ok(); }
};

}  // namespace stream_internal

// A stream of requests, and one reply, which the handler has as a pointer.
template <class Request>
class RequestStream : public grpc::ServerReadReactor<Request> {
 public:
  using Reactor = grpc::ServerReadReactor<Request>;
  // The next message, valid until the next Read; null: half-closed, or cancelled.
  auto Read() { return stream_internal::ReadAwaiter<RequestStream, Request>{this}; }
  auto SendInitialMetadata() { return stream_internal::MetadataAwaiter<RequestStream>{this}; }

 private:
  template <class, class>
  friend struct stream_internal::ReadAwaiter;
  template <class>
  friend struct stream_internal::MetadataAwaiter;
  void OnReadDone(bool ok) final { read_.done(ok); }
  void OnSendInitialMetadataDone(bool ok) final { metadata_.done(ok); }

  Request request_;
  stream_internal::Waiting read_, metadata_;
};

// One request, which the handler has as a pointer, and a stream of replies.
template <class Response>
class ReplyStream : public grpc::ServerWriteReactor<Response> {
 public:
  using Reactor = grpc::ServerWriteReactor<Response>;
  // True once the message may be changed; waits while the client is behind. False: the call is cancelled.
  auto Write(const Response& message) { return stream_internal::WriteAwaiter<ReplyStream, Response>{this, &message}; }
  auto SendInitialMetadata() { return stream_internal::MetadataAwaiter<ReplyStream>{this}; }

 private:
  template <class, class>
  friend struct stream_internal::WriteAwaiter;
  template <class>
  friend struct stream_internal::MetadataAwaiter;
  void OnWriteDone(bool ok) final { write_.done(ok); }
  void OnSendInitialMetadataDone(bool ok) final { metadata_.done(ok); }

  stream_internal::Waiting write_, metadata_;
};

// Streams both ways.
template <class Request, class Response>
class BidiStream : public grpc::ServerBidiReactor<Request, Response> {
 public:
  using Reactor = grpc::ServerBidiReactor<Request, Response>;
  auto Read() { return stream_internal::ReadAwaiter<BidiStream, Request>{this}; }
  auto Write(const Response& message) { return stream_internal::WriteAwaiter<BidiStream, Response>{this, &message}; }
  auto SendInitialMetadata() { return stream_internal::MetadataAwaiter<BidiStream>{this}; }

 private:
  template <class, class>
  friend struct stream_internal::ReadAwaiter;
  template <class, class>
  friend struct stream_internal::WriteAwaiter;
  template <class>
  friend struct stream_internal::MetadataAwaiter;
  void OnReadDone(bool ok) final { read_.done(ok); }
  void OnWriteDone(bool ok) final { write_.done(ok); }
  void OnSendInitialMetadataDone(bool ok) final { metadata_.done(ok); }

  Request request_;
  stream_internal::Waiting read_, write_, metadata_;
};

namespace stream_internal {

// The reactor behind serve(): the stream, the body, and the coroutine that the body made.
template <class Stream, class Body>
class Served final : public Stream {
 public:
  explicit Served(Body body) : body_(std::move(body)), task_(body_(static_cast<Stream&>(*this))) {
    task_.drover_start(static_cast<Stream*>(this), [](void* stream, grpc::Status status) {
      static_cast<Stream*>(stream)->Finish(std::move(status));
    });
  }
  void OnDone() override { delete this; }

 private:
  Body body_;
  StreamTask task_;
};

}  // namespace stream_internal

// What a callback handler returns: `body(stream)` is a coroutine, and serves the call.
template <class Stream, class Body>
typename Stream::Reactor* serve(grpc::CallbackServerContext* /*context*/, Body body) {
  return new stream_internal::Served<Stream, Body>(std::move(body));
}

}  // namespace drover
