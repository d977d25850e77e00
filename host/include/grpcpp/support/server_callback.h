// Reactors: how callback handlers read, write and end their calls. gRPC's classes.
//
//   handler returns reactor ... Finish(status) from any thread, once ... OnDone, always last, once
//   OnCancel: at most once, before OnDone, on a runtime thread; the call still has to be finished
//
//   StartRead(&message)   ... OnReadDone(true): the message is there; OnReadDone(false): half-closed, or cancelled
//   StartWrite(&message)  ... OnWriteDone(true): the message may be changed; OnWriteDone(false): cancelled
//
// At most one read and one write are underway at a time. Start... and Finish may come before the handler has returned
// the reactor, from within a reaction, and from any other thread. Reactions run on the threads that serve calls: one
// that blocks costs its call's time, and after 1 ms another thread. Two reactions of one reactor, of different kinds,
// may run side by side if the first blocks. Request, reply and context are valid until OnDone.
#pragma once

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace drover {
class Message;
}
namespace drover::host {
class AsyncCall;
class Call;
class Streams;
}  // namespace drover::host

namespace grpc {

class CallbackServerContext;

namespace internal {

class ServerReactor {
 public:
  virtual ~ServerReactor() = default;
  virtual void OnDone() = 0;
  virtual void OnCancel() = 0;
};

// What the reactors of streams stand on (host/streams.cc). The thread that asks for something stores it, and then sets
// a bit of asked_; the worker's leader takes the bits.
class StreamReactor : public ServerReactor {
 public:
  StreamReactor(const StreamReactor&) = delete;
  StreamReactor& operator=(const StreamReactor&) = delete;

 protected:
  StreamReactor() = default;

  void start_initial_metadata() { ask(kMetadataAsked); }
  void start_read(drover::Message* message) {
    read_into_ = message;
    ask(kReadAsked);
  }
  void start_write(const drover::Message* message, const WriteOptions& options) {
    write_from_ = message;
    write_as_it_is_ = options.get_no_compression();
    ask(kWriteAsked);
  }
  void start_write_and_finish(const drover::Message* message, const WriteOptions& options, Status status) {
    write_from_ = message;
    write_as_it_is_ = options.get_no_compression();
    status_ = std::move(status);
    ask(kLastWriteAsked | kFinishAsked);
  }
  void finish(Status status) {
    status_ = std::move(status);
    ask(kFinishAsked);
  }

 private:
  friend class drover::host::AsyncCall;
  friend class drover::host::Streams;

  static constexpr uint32_t kUnbound = 1;  // the handler has not returned this reactor yet
  static constexpr uint32_t kPosted = 2;   // an event that makes the leader look is on its way
  static constexpr uint32_t kMetadataAsked = 4;
  static constexpr uint32_t kReadAsked = 8;
  static constexpr uint32_t kWriteAsked = 16;
  static constexpr uint32_t kLastWriteAsked = 32;  // with the end of the call: it has no OnWriteDone
  static constexpr uint32_t kFinishAsked = 64;

  virtual void OnSendInitialMetadataDone(bool /*ok*/) {}
  virtual void OnReadDone(bool /*ok*/) {}
  virtual void OnWriteDone(bool /*ok*/) {}

  void ask(uint32_t what);

  std::atomic<uint32_t> asked_{kUnbound};
  drover::host::Call* call_ = nullptr;  // once bound
  drover::Message* read_into_ = nullptr;
  const drover::Message* write_from_ = nullptr;
  bool write_as_it_is_ = false;  // not compressed
  Status status_;
  // Of completion queues, whose messages are copied by the thread that writes them.
  enum Put : uint8_t { kNotPut, kPut, kCannotBePut };
  Put put_ = kNotPut;
  bool metadata_put_ = false;
};

}  // namespace internal

// A stream of requests, and one reply.
template <class Request>
class ServerReadReactor : public internal::StreamReactor {
 public:
  ServerReadReactor() = default;
  ~ServerReadReactor() override = default;

  void StartSendInitialMetadata() { start_initial_metadata(); }
  void StartRead(Request* request) { start_read(request); }
  void Finish(Status status) { finish(std::move(status)); }

  void OnSendInitialMetadataDone(bool /*ok*/) override {}
  void OnReadDone(bool /*ok*/) override {}
  void OnDone() override = 0;
  void OnCancel() override {}
};

// One request, and a stream of replies.
template <class Response>
class ServerWriteReactor : public internal::StreamReactor {
 public:
  ServerWriteReactor() = default;
  ~ServerWriteReactor() override = default;

  void StartSendInitialMetadata() { start_initial_metadata(); }
  void StartWrite(const Response* response) { StartWrite(response, WriteOptions()); }
  void StartWrite(const Response* response, WriteOptions options) { start_write(response, options); }
  // The message, then the end; there is no OnWriteDone.
  void StartWriteAndFinish(const Response* response, WriteOptions options, Status status) {
    start_write_and_finish(response, options, std::move(status));
  }
  void StartWriteLast(const Response* response, WriteOptions options) {
    StartWrite(response, options.set_last_message());
  }
  void Finish(Status status) { finish(std::move(status)); }

  void OnSendInitialMetadataDone(bool /*ok*/) override {}
  void OnWriteDone(bool /*ok*/) override {}
  void OnDone() override = 0;
  void OnCancel() override {}
};

template <class Request, class Response>
class ServerBidiReactor : public internal::StreamReactor {
 public:
  ServerBidiReactor() = default;
  ~ServerBidiReactor() override = default;

  void StartSendInitialMetadata() { start_initial_metadata(); }
  void StartRead(Request* request) { start_read(request); }
  void StartWrite(const Response* response) { StartWrite(response, WriteOptions()); }
  void StartWrite(const Response* response, WriteOptions options) { start_write(response, options); }
  void StartWriteAndFinish(const Response* response, WriteOptions options, Status status) {
    start_write_and_finish(response, options, std::move(status));
  }
  void StartWriteLast(const Response* response, WriteOptions options) {
    StartWrite(response, options.set_last_message());
  }
  void Finish(Status status) { finish(std::move(status)); }

  void OnSendInitialMetadataDone(bool /*ok*/) override {}
  void OnReadDone(bool /*ok*/) override {}
  void OnWriteDone(bool /*ok*/) override {}
  void OnDone() override = 0;
  void OnCancel() override {}
};

class ServerUnaryReactor : public internal::ServerReactor {
 public:
  ServerUnaryReactor() = default;
  ~ServerUnaryReactor() override = default;
  ServerUnaryReactor(const ServerUnaryReactor&) = delete;
  ServerUnaryReactor& operator=(const ServerUnaryReactor&) = delete;

  // Sends what AddInitialMetadata has collected now, and not with the reply. Without room in shared memory it goes with
  // the reply, and OnSendInitialMetadataDone(true) is called all the same.
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
