// The header blocks of a gRPC call (RFC 7541; gRPC over HTTP/2): the client's, encoded once and then only copied, and
// the server's, decoded by nghttp2.
//
// A request's block is the same for all calls. With `indexed`, the first block of a connection puts its headers into
// the server's dynamic table and the later ones are one byte a header, as the stock gRPC clients do. Without it every
// block spells its headers out and leaves the table alone.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drover::bench {

struct RequestBlocks {
  std::vector<uint8_t> first;  // for the first call of a connection
  std::vector<uint8_t> later;  // for all others
  uint32_t table_size = 0;     // what the server's SETTINGS_HEADER_TABLE_SIZE must allow
};

RequestBlocks encode_request_headers(std::string_view path, std::string_view authority, bool indexed);

struct ResponseHeaders {
  int http_status = -1;  // -1: the block had none
  int grpc_status = -1;
  std::string grpc_message;  // percent-encoded, as received
};

// Decodes one connection's header blocks, in the order in which they came.
class ResponseDecoder {
 public:
  ResponseDecoder();

  // Adds what the block says to *headers; false if it is malformed, after which the connection cannot go on.
  bool decode(std::span<const uint8_t> block, ResponseHeaders* headers);

 private:
  struct InflaterDeleter {
    void operator()(nghttp2_hd_inflater* inflater) const { nghttp2_hd_inflate_del(inflater); }
  };
  // Decoded blocks of up to 7 bytes that only refer to table entries: the same until the table changes.
  struct KnownBlock {
    uint64_t key = 0;
    int http_status = -1;
    int grpc_status = -1;
  };

  bool inflate(std::span<const uint8_t> block, ResponseHeaders* headers);

  std::unique_ptr<nghttp2_hd_inflater, InflaterDeleter> inflater_;
  KnownBlock known_[8];
  size_t next_known_ = 0;
};

}  // namespace drover::bench
