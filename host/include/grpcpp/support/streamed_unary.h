// ServerUnaryStreamer and ServerSplitStreamer: how a synchronous handler reads its one request, and writes its one
// reply or its replies, as if they were streams, so that it decides when each message is made and freed. gRPC's classes
// (in <grpcpp/support/sync_stream.h>).
#pragma once

#include <grpcpp/support/sync_stream.h>

#include <cstdint>

namespace grpc {

template <class Request, class Reply>
class ServerUnaryStreamer final : public ServerReaderWriterInterface<Reply, Request> {
 public:
  ServerUnaryStreamer(const Request* request, Reply* reply) : request_(request), reply_(reply) {}

  void SendInitialMetadata() override {}  // it goes with the reply
  bool NextMessageSize(uint32_t* size) override {
    *size = UINT32_MAX;
    return true;
  }
  // True once.
  bool Read(Request* request) override {
    if (read_) return false;
    *request = *request_;
    return read_ = true;
  }
  // True once, after the Read.
  using internal::WriterInterface<Reply>::Write;
  bool Write(const Reply& reply, WriteOptions /*options*/) override {
    if (!read_ || written_) return false;
    *reply_ = reply;
    return written_ = true;
  }
  bool drover_written() const { return written_; }

 private:
  const Request* const request_;
  Reply* const reply_;
  bool read_ = false, written_ = false;
};

template <class Request, class Reply>
class ServerSplitStreamer final : public ServerReaderWriterInterface<Reply, Request> {
 public:
  ServerSplitStreamer(drover::host::Call* call, const Request* request) : stream_(call), request_(request) {}

  void SendInitialMetadata() override { stream_.send_initial_metadata(); }
  bool NextMessageSize(uint32_t* size) override {
    *size = UINT32_MAX;
    return true;
  }
  // True once.
  bool Read(Request* request) override {
    if (read_) return false;
    *request = *request_;
    return read_ = true;
  }
  // After the Read.
  using internal::WriterInterface<Reply>::Write;
  bool Write(const Reply& reply, WriteOptions options) override { return read_ && stream_.write(reply, options); }

 private:
  internal::SyncStream stream_;
  const Request* const request_;
  bool read_ = false;
};

}  // namespace grpc
