// ServerAsyncReader, ServerAsyncWriter, ServerAsyncReaderWriter: how an application that waits at a CompletionQueue
// reads and writes a stream. gRPC's classes.
//
//   Read(&message, tag)    ok: the message is there; not ok: the client has half-closed, or the call is cancelled
//   Write(message, tag)    ok: the next one may be written; not ok: the call is cancelled
//   Finish(status, tag)    after the last Write's tag has come
//
// At most one Read and one Write are underway at a time; two threads may do one each.
#pragma once

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/support/async_unary_call.h>

namespace grpc {
namespace internal {

template <class R>
class AsyncReaderInterface {
 public:
  virtual ~AsyncReaderInterface() = default;
  virtual void Read(R* message, void* tag) = 0;
};

template <class W>
class AsyncWriterInterface {
 public:
  virtual ~AsyncWriterInterface() = default;
  virtual void Write(const W& message, void* tag) = 0;
  virtual void Write(const W& message, WriteOptions options, void* tag) = 0;
  void WriteLast(const W& message, WriteOptions options, void* tag) { Write(message, options.set_last_message(), tag); }
};

}  // namespace internal

template <class W, class R>
class ServerAsyncReaderInterface : public internal::ServerAsyncStreamingInterface,
                                   public internal::AsyncReaderInterface<R> {
 public:
  virtual void Finish(const W& message, const Status& status, void* tag) = 0;
  virtual void FinishWithError(const Status& status, void* tag) = 0;
};

template <class W>
class ServerAsyncWriterInterface : public internal::ServerAsyncStreamingInterface,
                                   public internal::AsyncWriterInterface<W> {
 public:
  virtual void WriteAndFinish(const W& message, WriteOptions options, const Status& status, void* tag) = 0;
  virtual void Finish(const Status& status, void* tag) = 0;
};

template <class W, class R>
class ServerAsyncReaderWriterInterface : public internal::ServerAsyncStreamingInterface,
                                         public internal::AsyncWriterInterface<W>,
                                         public internal::AsyncReaderInterface<R> {
 public:
  virtual void WriteAndFinish(const W& message, WriteOptions options, const Status& status, void* tag) = 0;
  virtual void Finish(const Status& status, void* tag) = 0;
};

// A stream of requests, and one reply.
template <class W, class R>
class ServerAsyncReader final : public ServerAsyncReaderInterface<W, R> {
 public:
  explicit ServerAsyncReader(ServerContext* /*context*/) {}
  void SendInitialMetadata(void* tag) override { this->send_initial_metadata(tag); }
  void Read(R* message, void* tag) override { this->read(message, tag); }
  void Finish(const W& message, const Status& status, void* tag) override { this->finish(&message, status, tag); }
  void FinishWithError(const Status& status, void* tag) override { this->finish(nullptr, status, tag); }
};

// One request, and a stream of replies.
template <class W>
class ServerAsyncWriter final : public ServerAsyncWriterInterface<W> {
 public:
  explicit ServerAsyncWriter(ServerContext* /*context*/) {}
  void SendInitialMetadata(void* tag) override { this->send_initial_metadata(tag); }
  void Write(const W& message, void* tag) override { this->write(message, WriteOptions(), tag); }
  void Write(const W& message, WriteOptions options, void* tag) override { this->write(message, options, tag); }
  void WriteAndFinish(const W& message, WriteOptions options, const Status& status, void* tag) override {
    this->write_and_finish(message, options, status, tag);
  }
  void Finish(const Status& status, void* tag) override { this->finish(nullptr, status, tag); }
};

template <class W, class R>
class ServerAsyncReaderWriter final : public ServerAsyncReaderWriterInterface<W, R> {
 public:
  explicit ServerAsyncReaderWriter(ServerContext* /*context*/) {}
  void SendInitialMetadata(void* tag) override { this->send_initial_metadata(tag); }
  void Read(R* message, void* tag) override { this->read(message, tag); }
  void Write(const W& message, void* tag) override { this->write(message, WriteOptions(), tag); }
  void Write(const W& message, WriteOptions options, void* tag) override { this->write(message, options, tag); }
  void WriteAndFinish(const W& message, WriteOptions options, const Status& status, void* tag) override {
    this->write_and_finish(message, options, status, tag);
  }
  void Finish(const Status& status, void* tag) override { this->finish(nullptr, status, tag); }
};

}  // namespace grpc
