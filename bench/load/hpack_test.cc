// Request blocks are read back by nghttp2, and response blocks written by it.

#include "bench/load/hpack.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace drover::bench {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

class Inflater {
 public:
  Inflater() { nghttp2_hd_inflate_new(&inflater_); }
  ~Inflater() { nghttp2_hd_inflate_del(inflater_); }

  Fields inflate(const std::vector<uint8_t>& block) {
    Fields fields;
    size_t at = 0;
    for (;;) {
      nghttp2_nv field;
      int flags = 0;
      const ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &field, &flags, block.data() + at, block.size() - at, 1);
      if (used < 0) return {{"malformed", ""}};
      at += static_cast<size_t>(used);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        fields.emplace_back(std::string(reinterpret_cast<char*>(field.name), field.namelen),
                            std::string(reinterpret_cast<char*>(field.value), field.valuelen));
      }
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    }
    nghttp2_hd_inflate_end_headers(inflater_);
    return fields;
  }

 private:
  nghttp2_hd_inflater* inflater_ = nullptr;
};

class Deflater {
 public:
  Deflater() { nghttp2_hd_deflate_new(&deflater_, 4096); }
  ~Deflater() { nghttp2_hd_deflate_del(deflater_); }

  std::vector<uint8_t> deflate(const Fields& fields) {
    std::vector<nghttp2_nv> values;
    for (const auto& [name, value] : fields) {
      values.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                        reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                        NGHTTP2_NV_FLAG_NONE});
    }
    std::vector<uint8_t> block(4096);
    const ssize_t size = nghttp2_hd_deflate_hd(deflater_, block.data(), block.size(), values.data(), values.size());
    block.resize(size < 0 ? 0 : static_cast<size_t>(size));
    return block;
  }

 private:
  nghttp2_hd_deflater* deflater_ = nullptr;
};

Fields expected_request(const std::string& path) {
  return {{":method", "POST"},
          {":scheme", "http"},
          {":path", path},
          {":authority", "localhost:50051"},
          {"te", "trailers"},
          {"content-type", "application/grpc"},
          {"user-agent", "drover-load"}};
}

TEST(RequestBlocks, SayTheSameOnEveryCallIndexedOrNot) {
  for (const bool indexed : {false, true}) {
    for (const std::string& path : {std::string("/a.B/C"), "/p/" + std::string(300, 'x')}) {
      const RequestBlocks blocks = encode_request_headers(path, "localhost:50051", indexed);
      Inflater inflater;
      EXPECT_EQ(inflater.inflate(blocks.first), expected_request(path));
      for (int call = 0; call < 3; ++call) EXPECT_EQ(inflater.inflate(blocks.later), expected_request(path));
    }
  }
}

TEST(RequestBlocks, AreOneByteAHeaderOnceIndexed) {
  EXPECT_EQ(encode_request_headers("/a.B/C", "h", true).later.size(), 7u);
}

TEST(ResponseDecoder, ReadsStatusesThatComeThroughTheDynamicTable) {
  Deflater deflater;
  ResponseDecoder decoder;
  for (int call = 0; call < 5; ++call) {
    ResponseHeaders headers;
    const std::vector<uint8_t> initial = deflater.deflate({{":status", "200"}, {"content-type", "application/grpc"}});
    ASSERT_TRUE(decoder.decode(initial, &headers));
    EXPECT_EQ(headers.http_status, 200);
    EXPECT_EQ(headers.grpc_status, -1);
    ASSERT_TRUE(decoder.decode(deflater.deflate({{"grpc-status", "0"}}), &headers));
    EXPECT_EQ(headers.grpc_status, 0);
    EXPECT_EQ(headers.http_status, 200);
  }
}

TEST(ResponseDecoder, ForgetsRememberedBlocksWhenTheTableMoves) {
  Deflater deflater;
  ResponseDecoder decoder;
  for (int call = 0; call < 200; ++call) {
    ResponseHeaders headers;
    const std::string status = std::to_string(call % 3);
    const std::string message = call % 5 == 0 ? "call " + std::to_string(call) : "";
    Fields fields = {{"grpc-status", status}};
    if (!message.empty()) fields.emplace_back("grpc-message", message);
    ASSERT_TRUE(decoder.decode(deflater.deflate(fields), &headers));
    EXPECT_EQ(headers.grpc_status, call % 3);
    EXPECT_EQ(headers.grpc_message, message);
  }
}

TEST(ResponseDecoder, RefusesMalformedBlocks) {
  const std::vector<std::vector<uint8_t>> malformed = {
      {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, {0x80}, {0xFE}, {0x40, 0x05, 'a'}};
  for (const std::vector<uint8_t>& block : malformed) {
    ResponseDecoder decoder;
    ResponseHeaders headers;
    EXPECT_FALSE(decoder.decode(block, &headers));
  }
}

}  // namespace
}  // namespace drover::bench
