// Compressed messages of calls, both ways, by a client that packs and unpacks with zlib itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "engine/grpc/grpc_testing.h"

namespace drover::engine {
namespace {

using testing::HasSubstr;

const HeaderList kGzip = {{"grpc-encoding", "gzip"}, {"grpc-accept-encoding", "identity,deflate,gzip"}};

std::string letters(size_t size, uint32_t seed = 1) {
  std::minstd_rand random(seed);
  std::string out(size, 0);
  for (char& c : out) c = static_cast<char>('a' + random() % 7);
  return out;
}

std::string packed(std::string_view text, bool gzip = true) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, gzip ? 31 : 15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string unpacked(std::string_view message) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 32), Z_OK);  // either container
  std::string out(8 << 20, 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(message.data()));
  stream.avail_in = static_cast<uInt>(message.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0u);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

struct Message {
  bool compressed;
  std::string text;  // decompressed
  size_t size;       // on the wire
};

std::vector<Message> messages_of(std::string_view body) {
  std::vector<Message> messages;
  while (!body.empty()) {
    uint32_t size = 0;
    for (int i = 1; i < 5; ++i) size = size << 8 | static_cast<unsigned char>(body[static_cast<size_t>(i)]);
    const bool compressed = body[0] != 0;
    const std::string_view bytes = body.substr(5, size);
    messages.push_back({compressed, compressed ? unpacked(bytes) : std::string(bytes), size});
    body.remove_prefix(5 + size);
  }
  return messages;
}

std::string as_request(std::string_view text, bool gzip = true) { return TestClient::framed(packed(text, gzip), 1); }

size_t held(const Rig& rig) { return rig.connection->account().held(Resource::kMemory); }

TEST(CompressedRequest, IsDecompressedHoweverItArrives) {
  for (size_t step : {size_t{1}, size_t{7}, size_t{1000}, size_t{16'000}, SIZE_MAX}) {
    for (bool gzip : {true, false}) {
      Rig rig;
      rig.use_places = step == 16'000;
      TestClient client(rig);
      for (size_t size : {size_t{0}, size_t{10}, size_t{30'000}, step < 10 ? size_t{1000} : size_t{3'000'000}}) {
        const std::string text = letters(size);
        const int32_t id =
            client.request("/echo", as_request(text, gzip), {{"grpc-encoding", gzip ? "gzip" : "deflate"}});
        client.pump(step);
        ASSERT_EQ(client[id].trailer("grpc-status"), "0") << client[id].trailer("grpc-message");
        ASSERT_TRUE(client[id].body == TestClient::framed(text)) << step << " " << size;
      }
      EXPECT_EQ(rig.sink.open_calls, 0);
      EXPECT_EQ(held(rig), 0u);
    }
  }
}

TEST(CompressedRequest, AMessageWithoutTheFlagIsTakenAsItIs) {
  Rig rig;
  TestClient client(rig);
  const int32_t id = client.request("/echo", TestClient::framed("plain"), kGzip);
  const int32_t empty = client.request("/echo", TestClient::framed("", 1), kGzip);  // as gRPC C++ has it
  client.pump();
  EXPECT_EQ(client[id].body, TestClient::framed("plain"));
  EXPECT_EQ(client[empty].body, TestClient::framed(""));
}

TEST(CompressedRequest, EndsInANamedErrorIfItCannotBe) {
  const std::string good = packed(letters(40'000));
  std::string bad = good;
  bad[bad.size() - 5] ^= 1;
  const struct {
    std::string message;
    const char* text;
  } cases[] = {
      {bad, "compressed by gzip is corrupted"},       {"anything", "compressed by gzip is corrupted"},
      {good.substr(0, good.size() - 1), "cut short"}, {good + "x", "bytes behind its end"},
      {good + good, "bytes behind its end"},          {packed("zlib's container", false), "corrupted"},
  };
  Rig rig;
  TestClient client(rig);
  for (const auto& one : cases) {
    for (const char* path : {"/echo", "/stream"}) {
      const int32_t id = client.request(path, TestClient::framed(one.message, 1), kGzip);
      client.pump();
      EXPECT_EQ(client[id].trailer("grpc-status"), "13") << path << " " << one.text;
      EXPECT_THAT(client[id].trailer("grpc-message"), HasSubstr(one.text));
    }
  }
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_EQ(held(rig), 0u);
  const int32_t id = client.request("/echo", as_request("fine"), kGzip);
  client.pump();
  EXPECT_EQ(client[id].body, TestClient::framed("fine"));
}

TEST(CompressedRequest, WhoseErrorTheClientDoesNotTakeEndsItsStream) {
  for (const char* path : {"/echo", "/stream"}) {
    for (const std::string& message : {std::string("anything"), packed("good")}) {
      Rig rig;
      TestClient client(rig);
      nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 1}};
      nghttp2_submit_settings(client.session, NGHTTP2_FLAG_NONE, settings, 1);
      client.pump();
      const int32_t id = client.request(path, TestClient::framed(message, 1), kGzip);
      client.pump();
      EXPECT_TRUE(client[id].closed);
      EXPECT_EQ(client[id].error, NGHTTP2_ENHANCE_YOUR_CALM);
      EXPECT_EQ(rig.sink.open_calls, 0);
      EXPECT_EQ(held(rig), 0u);
    }
  }
}

// No pool hides that a stream is used after it ended inside the delivery of its message.
TEST(CompressedRequest, WhoseStreamEndsInsideItsDeliveryIsFreedLater) {
  TransportOptions options;
  options.spare_streams = 0;
  for (const char* path : {"/echo", "/stream", "/collect"}) {
    for (const std::string& body :
         {TestClient::framed("plain"), TestClient::framed("anything", 1), as_request("good") + as_request("more")}) {
      for (size_t step : {size_t{1}, SIZE_MAX}) {
        Rig rig(options);
        TestClient client(rig);
        nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 1}};
        nghttp2_submit_settings(client.session, NGHTTP2_FLAG_NONE, settings, 1);
        client.pump();
        const int32_t id = client.request(path, body, kGzip);
        client.pump(step);
        EXPECT_TRUE(client[id].closed) << path;
        EXPECT_EQ(rig.sink.open_calls, 0);
        EXPECT_EQ(held(rig), 0u);
        rig.context.free_dying();
        EXPECT_EQ(rig.context.spare_streams(), 0u);
      }
    }
  }
}

TEST(CompressedRequest, ABombIsRefusedWithoutBeingUnpacked) {
  Rig rig;
  TestClient client(rig);
  const std::string bomb = as_request(std::string(60 << 20, 0));
  for (const char* path : {"/echo", "/stream"}) {
    const int32_t id = client.request(path, bomb, kGzip);
    client.pump();
    EXPECT_EQ(client[id].trailer("grpc-status"), "8");
    EXPECT_THAT(client[id].trailer("grpc-message"), HasSubstr("larger than max"));
  }
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_EQ(held(rig), 0u);
}

TEST(CompressedRequest, TheLimitIsThatOfTheMessageOnceDecompressed) {
  Rig rig;
  rig.sink.max_request_bytes = 10'000;
  TestClient client(rig);
  const int32_t fits = client.request("/echo", as_request(std::string(10'000, 'x')), kGzip);
  const int32_t not_quite = client.request("/echo", as_request(std::string(10'001, 'x')), kGzip);
  client.pump();
  EXPECT_EQ(client[fits].trailer("grpc-status"), "0");
  EXPECT_EQ(client[not_quite].trailer("grpc-status"), "8");
}

TEST(CompressedRequest, CountsAgainstItsConnectionsMemory) {
  TransportOptions options;
  options.ledger[Level::kConnection].memory = 300'000;
  Rig rig(options);
  TestClient client(rig);
  const int32_t id = client.request("/echo", as_request(std::string(3 << 20, 'x')), kGzip);
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "8");
  EXPECT_THAT(client[id].trailer("grpc-message"), HasSubstr("no memory to decompress"));
  EXPECT_EQ(held(rig), 0u);
}

TEST(CompressedRequest, OfAStreamComesInOrderWithThoseThatAreNot) {
  for (size_t step : {size_t{3}, size_t{100}, size_t{16'000}, SIZE_MAX}) {
    Rig rig;
    rig.use_places = step == 16'000;
    TestClient client(rig);
    std::vector<std::string> sent;
    std::string all;
    for (uint32_t i = 0; i < 60; ++i) {
      sent.push_back(letters(step < 10 ? i * 7 : i * i * 37, i));
      all += i % 3 == 0 ? TestClient::framed(sent.back()) : as_request(sent.back());
    }
    const int32_t id = client.request("/stream", all, kGzip);
    client.pump(step);
    ASSERT_EQ(rig.sink.messages.size(), sent.size()) << step << client[id].trailer("grpc-message");
    ASSERT_TRUE(rig.sink.messages == sent) << step;
    EXPECT_EQ(client[id].trailer("grpc-status"), "0");
    EXPECT_EQ(rig.sink.half_closed, 1);
    EXPECT_EQ(rig.sink.open_calls, 0);
    EXPECT_EQ(held(rig), 0u);
  }
}

TEST(CompressedRequest, AHandlerThatDoesNotReadIsNotFloodedByAStream) {
  TransportOptions options = small_windows();
  options.connection_window = 1 << 20;
  Rig rig(options);
  rig.sink.consumes = rig.sink.echoes = false;
  TestClient client(rig);
  std::string all;
  for (int i = 0; i < 200; ++i) all += as_request(std::string(20'000, 'x'));  // 10 KB in all, 4 MB decompressed
  const int32_t id = client.request("/stream", all, kGzip);
  client.pump();
  EXPECT_LE(rig.sink.messages.size(), options.stream_window / 20'000 + 1);
  EXPECT_LT(held(rig), size_t{200'000});
  Call* call = rig.sink.last_begun;
  for (size_t i = 0; rig.sink.messages.size() < 200; ++i) {
    ASSERT_GT(rig.sink.messages.size(), i);
    rig.sink.consume(*call, 1);
    client.pump();
  }
  EXPECT_EQ(rig.sink.half_closed, 1);
  EXPECT_EQ(client[id].trailer("grpc-status"), "0");
  EXPECT_EQ(held(rig), 0u);
}

TEST(CompressedRequest, OfAStreamThatNeverCatchesUpKeepsNoMoreThanItsWindow) {
  constexpr size_t kMessage = 20'000;
  constexpr size_t kMessages = 400;
  TransportOptions options = small_windows();
  options.connection_window = 1 << 20;
  Rig rig(options);
  rig.sink.consumes = rig.sink.echoes = false;
  TestClient client(rig);
  std::string all;
  for (uint32_t i = 0; i < kMessages; ++i) all += as_request(letters(kMessage, i));
  ASSERT_GT(all.size(), 20 * size_t{options.stream_window});
  const int32_t id = client.request("/stream", all, kGzip);
  client.pump();
  Call* call = rig.sink.last_begun;
  size_t most = 0;
  for (size_t i = 0; rig.sink.messages.size() < kMessages; ++i) {
    ASSERT_GT(rig.sink.messages.size(), i) << client[id].trailer("grpc-message");
    rig.sink.consume(*call, 1);
    client.pump(1000);
    most = std::max(most, held(rig));
  }
  // The bytes that wait, with as much room again; one message, packed and unpacked; zlib's state.
  EXPECT_LT(most, 2 * size_t{options.stream_window} + 2 * kMessage + size_t{100'000});
  for (uint32_t i = 0; i < kMessages; ++i) ASSERT_TRUE(rig.sink.messages[i] == letters(kMessage, i)) << i;
  EXPECT_EQ(client[id].trailer("grpc-status"), "0");
  EXPECT_EQ(held(rig), 0u);
}

TEST(CompressedRequest, WhoseCallIsCancelledMeanwhileIsForgotten) {
  for (const char* path : {"/echo", "/stream"}) {
    Rig rig;
    rig.context.coders.at_once(rig.now, [] { return monotonic_ns() % 2 == 3; });  // the turn's time is spent
    TestClient client(rig);
    const int32_t id = client.request(path, as_request(std::string(2 << 20, 0)), kGzip, true);
    rig.receive(client.take_bytes());
    client.half_close(id);
    rig.receive(client.take_bytes());
    ASSERT_TRUE(rig.connection->has_messages_to_code());
    rig.connection->work_on_messages(0);  // a little
    ASSERT_TRUE(rig.connection->has_messages_to_code());
    nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    rig.receive(client.take_bytes());
    EXPECT_FALSE(rig.connection->has_messages_to_code());
    EXPECT_EQ(rig.sink.open_calls, 0);
    EXPECT_EQ(held(rig), 0u);
    EXPECT_TRUE(rig.sink.messages.empty());
  }
}

// Each takes more than a turn's time, and comes in a turn of its own.
TEST(CompressedRequest, OneOfAConnectionIsHalfDoneAtMost) {
  const std::string text(3 << 20, 'x'), message = as_request(text);  // a few kilobytes
  for (const char* path : {"/echo", "/stream"}) {
    Rig rig;
    TestClient client(rig, 16 << 20);
    std::vector<int32_t> ids;
    size_t first = 0, most = 0;
    for (int i = 0; i < 12; ++i) {
      ids.push_back(client.request(path, message, kGzip));
      rig.now += 1'000'000;
      rig.receive(client.take_bytes());
      ASSERT_TRUE(rig.connection->has_messages_to_code());
      (i == 0 ? first : most) = held(rig);
    }
    EXPECT_LT(most, first + 12 * (message.size() + 20'000)) << "of the others, what came";
    client.pump();
    for (const int32_t id : ids) ASSERT_TRUE(client[id].body == TestClient::framed(text)) << path;
    EXPECT_EQ(rig.sink.open_calls, 0);
    EXPECT_EQ(held(rig), 0u);
  }
}

TEST(CompressedRequest, WhoseCallIsAnsweredMeanwhileIsLetGoOf) {
  Rig rig;
  rig.context.coders.at_once(rig.now, [] { return monotonic_ns() % 2 == 3; });  // the turn's time is spent
  rig.sink.echoes = false;
  TestClient client(rig);
  const int32_t id = client.request("/stream", as_request(std::string(4 << 20, 0)), kGzip, true);
  rig.receive(client.take_bytes());
  rig.connection->work_on_messages(0);  // a little
  ASSERT_TRUE(rig.connection->has_messages_to_code());
  rig.writable = 0;  // the answer stays, and with it the call
  Reply reply;
  reply.code = StatusCode::kDeadlineExceeded;
  rig.reply(*rig.sink.last_begun, reply);
  rig.connection->work_on_messages(0);
  EXPECT_FALSE(rig.connection->has_messages_to_code());
  EXPECT_TRUE(rig.sink.messages.empty());
  rig.writable = SIZE_MAX;
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "4");
  client.half_close(id);
  client.pump();
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_EQ(held(rig), 0u);
}

TEST(CompressedRequest, OfAnEncodingThatIsSwitchedOffIsUnimplemented) {
  TransportOptions options;
  options.compressions = Compressions(true, false);
  Rig rig(options);
  rig.sink.wish = Compress::kGzip;
  TestClient client(rig);
  const int32_t off = client.request("/echo", as_request("x"), kGzip);
  const int32_t on = client.request("/echo", as_request("x", false), {{"grpc-encoding", "deflate"}});
  client.pump();
  EXPECT_EQ(client[off].trailer("grpc-status"), "12");
  EXPECT_EQ(client[off].header("grpc-accept-encoding"), "identity, deflate");
  EXPECT_EQ(client[on].body, TestClient::framed("x"));
}

TEST(CompressedReply, IsWhatTheServiceAsksForAndTheClientTakes) {
  const struct {
    Compress wish;
    const char* taken;
    const char* encoding;
  } cases[] = {
      {Compress::kGzip, "gzip", "gzip"},
      {Compress::kDeflate, "identity, deflate ,gzip", "deflate"},
      {Compress::kGzip, "identity,deflate", "(none)"},
      {Compress::kDeflate, "", "(none)"},
      {Compress::kLow, "identity,deflate,gzip", "gzip"},
      {Compress::kMedium, "identity,deflate,gzip", "deflate"},
      {Compress::kHigh, "identity,deflate,gzip", "deflate"},
      {Compress::kLow, "deflate", "deflate"},
      {Compress::kHigh, "snappy,gzip", "gzip"},
      {Compress::kHigh, "snappy", "(none)"},
      {Compress::kNo, "gzip", "(none)"},
  };
  const std::string text = letters(50'000);
  for (const auto& one : cases) {
    for (const char* path : {"/echo", "/stream"}) {
      Rig rig;
      rig.sink.wish = one.wish;
      TestClient client(rig);
      HeaderList headers;
      if (*one.taken != 0) headers.emplace_back("grpc-accept-encoding", one.taken);
      const int32_t id = client.request(path, TestClient::framed(text), headers);
      client.pump();
      EXPECT_EQ(client[id].header("grpc-encoding"), one.encoding) << one.taken;
      const auto messages = messages_of(client[id].body);
      ASSERT_EQ(messages.size(), 1u);
      EXPECT_TRUE(messages[0].text == text);
      EXPECT_EQ(messages[0].compressed, one.encoding[0] != '(');
      EXPECT_EQ(client[id].trailer("grpc-status"), "0");
      EXPECT_EQ(rig.sink.open_calls, 0);
      EXPECT_EQ(held(rig), 0u);
    }
  }
}

TEST(CompressedReply, ToAStreamOfRequestsIsOneMessage) {
  for (const size_t size : {size_t{10}, size_t{2 << 20}}) {
    Rig rig;
    rig.sink.wish = Compress::kGzip;
    TestClient client(rig, 16 << 20);
    const std::string text = letters(size);
    const int32_t id = client.request("/collect", as_request(text) + as_request(text) + TestClient::framed("."), kGzip);
    client.pump();
    const auto messages = messages_of(client[id].body);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_TRUE(messages[0].text == text + text + ".");
    EXPECT_EQ(messages[0].compressed, size > 100);
    EXPECT_EQ(client[id].trailer("grpc-status"), "0");
    EXPECT_EQ(rig.sink.open_calls, 0);
    EXPECT_EQ(held(rig), 0u);
  }
}

TEST(CompressedReply, WhatDoesNotBecomeSmallerGoesAsItIs) {
  for (const char* path : {"/echo", "/stream"}) {
    for (const std::string& text : {std::string(), std::string("short"), packed(letters(100'000))}) {
      Rig rig;
      rig.sink.wish = Compress::kGzip;
      TestClient client(rig);
      const int32_t id = client.request(path, TestClient::framed(text), kGzip);
      client.pump();
      EXPECT_EQ(client[id].header("grpc-encoding"), "gzip");
      EXPECT_TRUE(client[id].body == TestClient::framed(text));
      EXPECT_EQ(rig.sink.open_calls, 0);
    }
  }
}

TEST(CompressedReply, OfAnErrorHasNoEncoding) {
  Rig rig;
  rig.sink.wish = Compress::kGzip;
  TestClient client(rig);
  HeaderList headers = kGzip;
  headers.emplace_back("x-status", "5");
  const int32_t id = client.request("/echo", TestClient::framed("x"), headers);
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "5");
  EXPECT_EQ(client[id].header("grpc-encoding"), "(none)");
}

TEST(CompressedReply, MessagesOfAStreamKeepTheirOrder) {
  Rig rig;
  rig.sink.wish = Compress::kGzip;
  TestClient client(rig);
  const int32_t id = client.request("/stream", "", kGzip, true);
  client.pump();
  rig.sink.echoes = false;
  std::vector<std::string> sent;
  std::vector<bool> plain;
  for (uint32_t i = 0; i < 60; ++i) {
    sent.push_back(letters(i % 7 == 0 ? 400'000 : i * 100 + 200, i));
    plain.push_back(i % 5 == 0);
    rig.sink.as_they_are = plain.back();
    rig.sink.send(*rig.sink.last_begun, sent.back());
    if (i % 10 == 9) client.pump();
  }
  client.half_close(id);
  client.pump();
  const auto messages = messages_of(client[id].body);
  ASSERT_EQ(messages.size(), sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    EXPECT_TRUE(messages[i].text == sent[i]) << i;
    EXPECT_EQ(messages[i].compressed, !plain[i]) << i;
  }
  EXPECT_EQ(client[id].trailer("grpc-status"), "0");
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_EQ(held(rig), 0u);
}

TEST(CompressedReply, ThatFindsNoMemoryGoesAsItIs) {
  TransportOptions options;
  options.ledger[Level::kConnection].memory = 200'000;  // less than zlib's state
  Rig rig(options);
  rig.sink.wish = Compress::kGzip;
  TestClient client(rig);
  const std::string text = letters(50'000);
  const int32_t id = client.request("/echo", TestClient::framed(text), kGzip);
  client.pump();
  EXPECT_TRUE(client[id].body == TestClient::framed(text));
}

TEST(CompressedReply, WaitsInSlicesWhileOthersAreServed) {
  Rig rig;
  TestClient client(rig, 16 << 20);
  const std::string text = letters(3 << 20);
  rig.sink.wish = Compress::kGzip;
  const int32_t big = client.request("/hold", TestClient::framed(text), kGzip);
  client.pump();
  ASSERT_EQ(rig.sink.held.size(), 1u);
  rig.sink.answer(*rig.sink.held[0]);
  ASSERT_TRUE(rig.connection->has_messages_to_code());
  rig.sink.wish = Compress::kNo;
  const int32_t small = client.call("/echo", "small");
  rig.receive(client.take_bytes());
  while (rig.connection->flush() == GrpcConnection::Flushed::kMore) {
  }
  ASSERT_TRUE(rig.connection->has_messages_to_code());
  EXPECT_THAT(rig.sent, HasSubstr("small"));
  int slices = 0;
  for (; rig.connection->has_messages_to_code(); ++slices) rig.connection->work_on_messages(0);
  EXPECT_GT(slices, 500);  // of a few kilobytes each
  client.pump();
  EXPECT_EQ(client[small].body, TestClient::framed("small"));
  EXPECT_TRUE(messages_of(client[big].body)[0].text == text);
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_EQ(held(rig), 0u);
}

TEST(CompressedReply, WhoseClientLeavesMeanwhileIsForgotten) {
  for (const char* path : {"/echo", "/stream"}) {
    Rig rig;
    rig.sink.wish = Compress::kGzip;
    TestClient client(rig);
    const int32_t id = client.request(path, TestClient::framed(letters(3 << 20)), kGzip);
    rig.receive(client.take_bytes());
    client.pump(100'000);
    const int32_t next = client.request(path, TestClient::framed(letters(1 << 20)), kGzip);
    rig.receive(client.take_bytes());
    while (rig.connection->flush() == GrpcConnection::Flushed::kMore) {
    }
    nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, next, NGHTTP2_CANCEL);
    rig.receive(client.take_bytes());
    EXPECT_FALSE(rig.connection->has_messages_to_code());
    client.pump();
    EXPECT_EQ(rig.sink.open_calls, 0);
    EXPECT_EQ(messages_of(client[id].body).size(), 1u);
  }
}

TEST(CompressedReply, OfAConnectionThatEndsIsForgotten) {
  Rig rig;
  rig.sink.wish = Compress::kGzip;
  TestClient client(rig);
  client.request("/echo", TestClient::framed(letters(1 << 20)), kGzip);
  client.request("/stream", as_request(letters(1 << 20)), kGzip);
  rig.receive(client.take_bytes());
  rig.receive(client.take_bytes());
  rig.connection.reset();
  EXPECT_EQ(rig.sink.open_calls, 0);
}

}  // namespace
}  // namespace drover::engine
