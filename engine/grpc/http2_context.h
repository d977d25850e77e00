// What the HTTP/2 connections of one engine thread share: nghttp2's options, the memory pool, pooled
// streams and header strings, and the scratch batch that frames are gathered in.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/metrics.h"
#include "engine/call/call.h"
#include "engine/grpc/http2_memory.h"
#include "engine/grpc/http2_output.h"
#include "engine/grpc/http2_stream.h"
#include "engine/grpc/transport_options.h"

namespace drover::engine {

class Http2Context {
 public:
  // `now_ns` points at the loop's clock (CLOCK_MONOTONIC), kept current by its owner.
  Http2Context(const TransportOptions& options, ThreadMetrics& metrics, const int64_t* now_ns);
  ~Http2Context();  // all connections must be gone

  int64_t now_ns() const { return *now_ns_; }

  Stream* take_stream();
  void recycle(Stream* stream);
  // Adds a field to `to`, in strings that earlier calls left behind.
  void add_header(std::vector<Header>& to, std::string_view name, std::string_view value);
  void clear_headers(std::vector<Header>& used);

  const TransportOptions options;
  ThreadMetrics& metrics;
  CallSink* sink = nullptr;
  SendBatch batch;
  std::vector<nghttp2_nv> nv;   // scratch
  std::vector<Header> headers;  // scratch
  std::string text;             // scratch
  Http2Memory memory;
  nghttp2_option* option = nullptr;

 private:
  static constexpr size_t kSpareStreams = 4096;
  static constexpr size_t kSpareHeaders = 4096;
  static constexpr size_t kSpareCapacity = 512;  // longer strings are not worth keeping

  const int64_t* now_ns_;
  std::vector<Stream*> spare_streams_;
  std::vector<Header> spare_headers_;
};

}  // namespace drover::engine
