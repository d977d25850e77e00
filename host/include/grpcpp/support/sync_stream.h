// ServerReader, ServerWriter, ServerReaderWriter: how a synchronous handler reads and writes a stream. gRPC's classes.
//
//   Read(&message)   blocks until a message is there; false: the client has half-closed, or the call is cancelled
//   Write(message)   blocks while the client is behind; false: the call is cancelled
//
// As in gRPC, one thread may read while another one writes; two may not do the same at once. They are valid until the
// handler returns.
#pragma once

#include <grpcpp/impl/call_op_set.h>

#include <cstdint>

namespace drover {
class Message;
}
namespace drover::host {
class Call;
}

namespace grpc {
namespace internal {

// What all three stand on (host/sync_stream.cc).
class SyncStream {
 public:
  explicit SyncStream(drover::host::Call* call) : call_(call) {}
  SyncStream(const SyncStream&) = delete;
  SyncStream& operator=(const SyncStream&) = delete;
  void send_initial_metadata();
  bool read(drover::Message* message);
  bool write(const drover::Message& message, const WriteOptions& options);

 private:
  bool take(drover::Message* message);
  drover::host::Call* const call_;
};

class ServerStreamingInterface {
 public:
  virtual ~ServerStreamingInterface() = default;
  // Sends what AddInitialMetadata has collected now, and not with the first message. Once, before any Write.
  virtual void SendInitialMetadata() = 0;
};

template <class R>
class ReaderInterface {
 public:
  virtual ~ReaderInterface() = default;
  // An upper bound of the next message's size.
  virtual bool NextMessageSize(uint32_t* size) = 0;
  virtual bool Read(R* message) = 0;
};

template <class W>
class WriterInterface {
 public:
  virtual ~WriterInterface() = default;
  virtual bool Write(const W& message, WriteOptions options) = 0;
  bool Write(const W& message) { return Write(message, WriteOptions()); }
  void WriteLast(const W& message, WriteOptions options) { Write(message, options.set_last_message()); }
};

}  // namespace internal

template <class R>
class ServerReaderInterface : public internal::ServerStreamingInterface, public internal::ReaderInterface<R> {};
template <class W>
class ServerWriterInterface : public internal::ServerStreamingInterface, public internal::WriterInterface<W> {};
template <class W, class R>
class ServerReaderWriterInterface : public internal::ServerStreamingInterface,
                                    public internal::WriterInterface<W>,
                                    public internal::ReaderInterface<R> {};

template <class R>
class ServerReader final : public ServerReaderInterface<R> {
 public:
  explicit ServerReader(drover::host::Call* call) : stream_(call) {}
  void SendInitialMetadata() override { stream_.send_initial_metadata(); }
  bool NextMessageSize(uint32_t* size) override {
    *size = UINT32_MAX;
    return true;
  }
  bool Read(R* message) override { return stream_.read(message); }

 private:
  internal::SyncStream stream_;
};

template <class W>
class ServerWriter final : public ServerWriterInterface<W> {
 public:
  explicit ServerWriter(drover::host::Call* call) : stream_(call) {}
  void SendInitialMetadata() override { stream_.send_initial_metadata(); }
  using internal::WriterInterface<W>::Write;
  bool Write(const W& message, WriteOptions options) override { return stream_.write(message, options); }

 private:
  internal::SyncStream stream_;
};

template <class W, class R>
class ServerReaderWriter final : public ServerReaderWriterInterface<W, R> {
 public:
  explicit ServerReaderWriter(drover::host::Call* call) : stream_(call) {}
  void SendInitialMetadata() override { stream_.send_initial_metadata(); }
  bool NextMessageSize(uint32_t* size) override {
    *size = UINT32_MAX;
    return true;
  }
  bool Read(R* message) override { return stream_.read(message); }
  using internal::WriterInterface<W>::Write;
  bool Write(const W& message, WriteOptions options) override { return stream_.write(message, options); }

 private:
  internal::SyncStream stream_;
};

}  // namespace grpc
