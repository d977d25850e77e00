#include "engine/grpc/grpc_wire.h"

#include <gtest/gtest.h>

#include <memory>

namespace drover::engine {
namespace {

TEST(GrpcTimeout, UnitsAreConvertedToNanoseconds) {
  EXPECT_EQ(parse_grpc_timeout("1H"), 3'600'000'000'000);
  EXPECT_EQ(parse_grpc_timeout("2M"), 120'000'000'000);
  EXPECT_EQ(parse_grpc_timeout("3S"), 3'000'000'000);
  EXPECT_EQ(parse_grpc_timeout("100m"), 100'000'000);
  EXPECT_EQ(parse_grpc_timeout("7u"), 7'000);
  EXPECT_EQ(parse_grpc_timeout("0n"), 0);
  EXPECT_EQ(parse_grpc_timeout("99999999H"), INT64_MAX);
}

TEST(GrpcTimeout, MalformedValuesAreRefused) {
  for (const char* bad : {"", "1", "S", "1s", "-1S", "1.5S", "123456789S", " 1S", "1S "}) {
    EXPECT_EQ(parse_grpc_timeout(bad), std::nullopt) << bad;
  }
}

TEST(PercentEncoding, OnlyPrintableAsciiButPercentPassesAsItIs) {
  std::string out;
  append_percent_encoded("50% of ü\n", out);
  EXPECT_EQ(out, "50%25 of %C3%BC%0A");
}

TEST(Base64, RoundTripsEveryLengthPaddedOrNot) {
  std::string bytes;
  for (int i = 0; i < 70; ++i) {
    std::string text, back, padded_back;
    append_base64_encoded(bytes, text);
    ASSERT_TRUE(append_base64_decoded(text, back));
    EXPECT_EQ(back, bytes);
    std::string padded = text;
    while (padded.size() % 4) padded.push_back('=');
    ASSERT_TRUE(append_base64_decoded(padded, padded_back));
    EXPECT_EQ(padded_back, bytes);
    bytes.push_back(static_cast<char>(i * 37 + 200));
  }
}

TEST(Base64, MalformedTextIsRefused) {
  for (const char* bad : {"A", "AAAAA", "AA=A", "A===", "AA\n=", "AAA*", "AA=", "===="}) {
    std::string out;
    EXPECT_FALSE(append_base64_decoded(bad, out)) << bad;
  }
}

TEST(Base64, ACommaJoinsSeveralValues) {
  std::vector<std::string> values;
  EXPECT_TRUE(split_binary_values("aGk=, eW91,", [&](std::string&& v) { values.push_back(std::move(v)); }));
  EXPECT_EQ(values, (std::vector<std::string>{"hi", "you", ""}));
}

TEST(ContentType, GrpcAndItsProtoSubTypeAreTaken) {
  for (const char* good : {"application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8",
                           "application/grpc+proto; x=y"}) {
    EXPECT_TRUE(is_grpc_content_type(good)) << good;
  }
  for (const char* bad : {"", "application/grp", "application/grpcx", "application/grpc-web", "application/grpc+json",
                          "text/plain", "application/grpc+protobuf"}) {
    EXPECT_FALSE(is_grpc_content_type(bad)) << bad;
  }
}

TEST(Headers, ProtocolHeadersAreNotShownToTheApplication) {
  for (const char* name : {":path", "te", "content-type", "grpc-timeout", "grpc-encoding", "grpc-anything", ""}) {
    EXPECT_TRUE(is_reserved_request_header(name)) << name;
  }
  for (const char* name : {"user-agent", "x-trace", "grpc-trace-bin", "tenant", "cookie"}) {
    EXPECT_FALSE(is_reserved_request_header(name)) << name;
  }
}

TEST(Headers, IllegalResponseMetadataIsFound) {
  EXPECT_TRUE(is_legal_response_metadata("x-a_b.c-9", "plain value"));
  EXPECT_FALSE(is_legal_response_metadata("X-Upper", "v"));
  EXPECT_FALSE(is_legal_response_metadata(":status", "200"));
  EXPECT_FALSE(is_legal_response_metadata("grpc-status", "0"));
  EXPECT_FALSE(is_legal_response_metadata("x", "line\nbreak"));
  EXPECT_FALSE(is_legal_response_metadata("", "v"));
}

std::string framed(std::string_view message, char flag = 0) {
  std::string out(1, flag);
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(message.size() >> shift));
  return out.append(message);
}

// Feeds `body` in pieces of `step` bytes, each in memory of its own that is gone afterwards.
struct Fed {
  Status error;
  std::string message;
  int allocations = 0;
};

// `first`: how much of the message the first allocation has room for; each further one has twice as much.
Fed feed_in_steps(std::string_view body, size_t step, uint32_t max = 1000, Encoding encoding = Encoding::kNone,
                  size_t first = SIZE_MAX) {
  Fed fed;
  RequestAssembler assembler;
  std::unique_ptr<char[]> memory;
  auto alloc = [&](size_t n, size_t received) {
    EXPECT_LT(received, n);
    ++fed.allocations;
    const size_t size = std::min(n, std::max(first, 2 * received));
    auto grown = std::make_unique<char[]>(size);
    if (received > 0) std::memcpy(grown.get(), memory.get(), received);
    memory = std::move(grown);
    return std::span(memory.get(), size);
  };
  while (!body.empty() && fed.error.ok()) {
    std::string piece(body.substr(0, step));
    body.remove_prefix(piece.size());
    fed.error = assembler.feed(piece.data(), piece.size(), max, encoding, alloc);
    if (fed.error.ok() && (!body.empty() || step % 2 == 0)) assembler.spill(alloc);
    if (fed.error.ok() && body.empty() && assembler.is_view()) fed.message = std::string(assembler.view());
  }
  if (fed.error.ok()) fed.error = assembler.finish();
  if (fed.error.ok() && memory) fed.message.assign(memory.get(), assembler.message_size());
  return fed;
}

TEST(RequestAssembler, AMessageArrivesWholeHoweverItIsCut) {
  std::string body = framed("the quick brown fox");
  for (size_t step = 1; step <= body.size() + 1; ++step) {
    Fed fed = feed_in_steps(body, step);
    EXPECT_TRUE(fed.error.ok()) << step << fed.error.message;
    EXPECT_EQ(fed.message, "the quick brown fox") << step;
  }
}

TEST(RequestAssembler, AWholeMessageIsNotCopied) {
  EXPECT_EQ(feed_in_steps(framed("abc"), 9).allocations, 0);
  EXPECT_EQ(feed_in_steps(framed("abc"), 7).allocations, 1);
}

TEST(RequestAssembler, MemoryGrowsAsTheMessageArrives) {
  std::string text(1000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
  for (size_t step : {1, 6, 7, 99, 1004}) {
    Fed fed = feed_in_steps(framed(text), step, 1000, Encoding::kNone, 10);
    EXPECT_TRUE(fed.error.ok()) << step << fed.error.message;
    EXPECT_EQ(fed.message, text) << step;
    EXPECT_EQ(fed.allocations, 8) << step;  // 10, 20, 40 ... 640, 1000
  }
  // A length alone takes no memory.
  EXPECT_EQ(feed_in_steps(framed(text).substr(0, 5), 9).allocations, 0);
}

TEST(RequestAssembler, AnEmptyMessageIsAMessage) {
  for (size_t step = 1; step <= 6; ++step) {
    Fed fed = feed_in_steps(framed(""), step);
    EXPECT_TRUE(fed.error.ok());
    EXPECT_EQ(fed.allocations, 0);
  }
}

TEST(RequestAssembler, BadFramingIsInternal) {
  EXPECT_EQ(feed_in_steps("", 1).error.code, StatusCode::kInternal);
  EXPECT_EQ(feed_in_steps(std::string_view("\0\0\0", 3), 9).error.code, StatusCode::kInternal);
  EXPECT_EQ(feed_in_steps(framed("abc").substr(0, 7), 9).error.code, StatusCode::kInternal);
  EXPECT_EQ(feed_in_steps(framed("abc") + "x", 9).error.code, StatusCode::kInternal);
  EXPECT_EQ(feed_in_steps(framed("abc") + framed("d"), 3).error.code, StatusCode::kInternal);
  EXPECT_EQ(feed_in_steps(framed("") + framed(""), 5).error.code, StatusCode::kInternal);
  EXPECT_EQ(feed_in_steps(framed("abc", 2), 9).error.code, StatusCode::kInternal);
}

TEST(RequestAssembler, ACompressedMessageNeedsAnEncodingThatWeKnow) {
  EXPECT_EQ(feed_in_steps(framed("abc", 1), 9).error.code, StatusCode::kInternal);
  EXPECT_EQ(feed_in_steps(framed("abc", 1), 9, 1000, Encoding::kIdentity).error.code, StatusCode::kInternal);
  EXPECT_EQ(feed_in_steps(framed("abc", 1), 9, 1000, Encoding::kUnsupported).error.code, StatusCode::kUnimplemented);
  EXPECT_TRUE(feed_in_steps(framed("abc", 0), 9, 1000, Encoding::kUnsupported).error.ok());
}

TEST(RequestAssembler, AMessageOverTheLimitIsRefusedAtItsPrefix) {
  Fed fed = feed_in_steps(framed(std::string(1001, 'x')), 5);
  EXPECT_EQ(fed.error.code, StatusCode::kResourceExhausted);
  EXPECT_EQ(fed.error.message, "Received message larger than max (1001 vs. 1000)");
  EXPECT_EQ(fed.allocations, 0);
}

}  // namespace
}  // namespace drover::engine
