// Calls of a connection in the binary log: which entries each kind of call has, in which order, read by stock protobuf.
#include <gmock/gmock.h>
#include <grpc/binarylog/v1/binarylog.pb.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "binlog/log_reader.h"
#include "engine/grpc/grpc_testing.h"

namespace drover::engine {
namespace {

namespace v1 = grpc::binarylog::v1;
using testing::ElementsAre;
using testing::IsEmpty;

class LoggedCalls : public testing::Test {
 protected:
  explicit LoggedCalls(const char* filter = "*") {
    EXPECT_EQ(binary_log::Filter::parse(filter, &rules.filter), "");
    EXPECT_EQ(binary_log::Redaction::parse("authorization", &rules.redaction), "");
    rig.context.log = &logger;
  }
  std::vector<v1::GrpcLogEntry> entries() {
    std::string bytes;
    ring.pop(SIZE_MAX, &bytes);
    std::string_view rest = bytes;
    binlog::LogReader reader([&](char* to, size_t size) {
      const size_t n = rest.copy(to, size);
      rest.remove_prefix(n);
      return static_cast<long>(n);
    });
    std::vector<v1::GrpcLogEntry> found;
    for (std::string_view entry; reader.next(&entry);) {
      EXPECT_TRUE(found.emplace_back().ParseFromArray(entry.data(), static_cast<int>(entry.size())));
      EXPECT_EQ(found.back().call_id(), found.front().call_id());
      EXPECT_EQ(found.back().sequence_id_within_call(), found.size());
    }
    return found;
  }
  // "CLIENT_HEADER", "CLIENT_MESSAGE hello", "SERVER_TRAILER 5" and the like.
  static std::string brief(const v1::GrpcLogEntry& entry) {
    std::string out = v1::GrpcLogEntry::EventType_Name(entry.type()).substr(11);
    if (entry.has_message()) out += " " + entry.message().data();
    if (entry.has_trailer()) out += " " + std::to_string(entry.trailer().status_code());
    return out;
  }
  std::vector<std::string> briefs() {
    std::vector<std::string> out;
    for (const v1::GrpcLogEntry& entry : entries()) out.push_back(brief(entry));
    return out;
  }

  binary_log::Rules rules;
  ThreadMetrics metrics{1};
  binary_log::LogWriter writer{"/nowhere/log", {}, metrics};
  binary_log::EntryRing& ring = writer.add_ring(4 << 20);
  binary_log::CallLogger logger{rules, {}, ring, writer, metrics};
  Rig rig;
  TestClient client{rig};
};

class LoggedCallsOfAFilter : public LoggedCalls {
 protected:
  LoggedCallsOfAFilter() : LoggedCalls("a.B/*{m:3}") {}
};

TEST_F(LoggedCalls, AUnaryCallHasSixEntries) {
  client.call("/echo.Echo/Call", "hello", {{"x-a", "1"}, {"y-b", "2"}, {"grpc-timeout", "2S"}});
  client.pump();
  const std::vector<v1::GrpcLogEntry> all = entries();
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(brief(all[0]), "CLIENT_HEADER");
  EXPECT_EQ(all[0].client_header().method_name(), "/echo.Echo/Call");
  EXPECT_EQ(all[0].client_header().authority(), "drover.test");
  EXPECT_EQ(all[0].client_header().timeout().seconds(), 2);
  EXPECT_EQ(all[0].client_header().metadata().entry_size(), 2);
  EXPECT_EQ(all[0].peer().ip_port(), 4711u);
  EXPECT_EQ(brief(all[1]), "CLIENT_MESSAGE hello");
  EXPECT_EQ(brief(all[2]), "CLIENT_HALF_CLOSE");
  EXPECT_EQ(brief(all[3]), "SERVER_HEADER");
  EXPECT_EQ(all[3].server_header().metadata().entry(0).key(), "x-a");
  EXPECT_EQ(brief(all[4]), "SERVER_MESSAGE hello");
  EXPECT_EQ(brief(all[5]), "SERVER_TRAILER 0");
  EXPECT_EQ(all[5].trailer().metadata().entry(0).key(), "y-b");
}

TEST_F(LoggedCalls, AMessageThatComesInPiecesIsWhole) {
  const std::string large(100'000, 'x');
  client.call("/echo.Echo/Call", large);
  client.pump(777);
  EXPECT_THAT(briefs(), ElementsAre("CLIENT_HEADER", "CLIENT_MESSAGE " + large, "CLIENT_HALF_CLOSE", "SERVER_HEADER",
                                    "SERVER_MESSAGE " + large, "SERVER_TRAILER 0"));
}

TEST_F(LoggedCalls, AStatusAloneHasNoServerHeader) {
  client.call("/echo.Echo/Call", "x", {{"x-status", "5"}});
  client.pump();
  EXPECT_THAT(briefs(), ElementsAre("CLIENT_HEADER", "CLIENT_MESSAGE x", "CLIENT_HALF_CLOSE", "SERVER_TRAILER 5"));
}

TEST_F(LoggedCalls, AMethodThatIsNotThereIsLogged) {
  client.call("/missing", "x");
  client.pump();
  EXPECT_THAT(briefs(), ElementsAre("CLIENT_HEADER", "SERVER_TRAILER 12"));
}

TEST_F(LoggedCalls, ARequestThatTheEngineRefusesIsLogged) {
  client.call("/echo.Echo/Call", "x", {{"grpc-timeout", "soon"}});
  client.pump();
  EXPECT_THAT(briefs(), ElementsAre("CLIENT_HEADER", "SERVER_TRAILER 13"));
  rig.sink.max_request_bytes = 3;
  client.call("/echo.Echo/Call", "hello");
  client.pump();
  EXPECT_THAT(briefs(), ElementsAre("CLIENT_HEADER", "SERVER_TRAILER 8"));
}

TEST_F(LoggedCalls, WhatIsNoGrpcIsNotLogged) {
  client.call("/echo.Echo/Call", "x", {{"content-type", "text/plain"}});
  client.pump();
  EXPECT_THAT(briefs(), IsEmpty());
}

TEST_F(LoggedCalls, HeadersInFrontOfTheReplyAreLoggedWhenTheyGoOut) {
  const int32_t id = client.call("/early", "x");
  client.pump();
  EXPECT_THAT(briefs(), ElementsAre("CLIENT_HEADER", "CLIENT_MESSAGE x", "CLIENT_HALF_CLOSE", "SERVER_HEADER"));
  rig.sink.answer(*rig.sink.held.front());
  client.pump();
  EXPECT_TRUE(client[id].closed);
  std::string bytes;
  EXPECT_EQ(ring.pop(SIZE_MAX, &bytes), 2u);
}

TEST_F(LoggedCalls, AStreamHasItsMessagesInOrder) {
  const int32_t id = client.request("/stream", TestClient::framed("one"), {}, true);
  client.pump();
  client.send(id, TestClient::framed("two"));
  client.pump();
  client.half_close(id);
  client.pump();
  EXPECT_THAT(briefs(),
              ElementsAre("CLIENT_HEADER", "CLIENT_MESSAGE one", "SERVER_HEADER", "SERVER_MESSAGE one",
                          "CLIENT_MESSAGE two", "SERVER_MESSAGE two", "CLIENT_HALF_CLOSE", "SERVER_TRAILER 0"));
}

TEST_F(LoggedCalls, AStreamWithoutMessagesHasNone) {
  client.half_close(client.request("/stream", "", {}, true));
  client.pump();
  EXPECT_THAT(briefs(), ElementsAre("CLIENT_HEADER", "CLIENT_HALF_CLOSE", "SERVER_HEADER", "SERVER_TRAILER 0"));
}

TEST_F(LoggedCalls, ACallThatTheClientCancelsEndsInCancel) {
  const int32_t id = client.call("/hold", "x");
  client.pump();
  nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  client.pump();
  EXPECT_THAT(briefs(), ElementsAre("CLIENT_HEADER", "CLIENT_MESSAGE x", "CLIENT_HALF_CLOSE", "CANCEL"));
}

TEST_F(LoggedCalls, ACallWhoseConnectionGoesEndsInCancel) {
  client.request("/stream", TestClient::framed("one"), {}, true);
  client.pump();
  rig.connection.reset();
  EXPECT_THAT(briefs(),
              ElementsAre("CLIENT_HEADER", "CLIENT_MESSAGE one", "SERVER_HEADER", "SERVER_MESSAGE one", "CANCEL"));
}

TEST_F(LoggedCalls, AReplyThatDoesNotArriveEndsInCancel) {
  rig.writable = 0;
  client.call("/echo.Echo/Call", "x");
  rig.receive(client.take_bytes());
  rig.flush();
  rig.connection.reset();
  EXPECT_THAT(briefs(), ElementsAre("CLIENT_HEADER", "CLIENT_MESSAGE x", "CLIENT_HALF_CLOSE", "SERVER_HEADER",
                                    "SERVER_MESSAGE x", "SERVER_TRAILER 0", "CANCEL"));
}

TEST_F(LoggedCalls, ABrokenStreamHasTheStatusThatItGets) {
  const int32_t id = client.request("/stream", TestClient::framed("one"), {}, true);
  client.pump();
  client.send(id, std::string("\7broken", 7));
  client.pump();
  EXPECT_THAT(briefs(), ElementsAre("CLIENT_HEADER", "CLIENT_MESSAGE one", "SERVER_HEADER", "SERVER_MESSAGE one",
                                    "SERVER_TRAILER 13"));
}

TEST_F(LoggedCalls, SecretsAreNotLogged) {
  client.call("/echo.Echo/Call", "x", {{"authorization", "Bearer secret"}});
  client.pump();
  const v1::GrpcLogEntry header = entries().front();
  EXPECT_EQ(header.client_header().metadata().entry(0).value(), "[redacted]");
  EXPECT_EQ(header.SerializeAsString().find("secret"), std::string::npos);
}

TEST_F(LoggedCalls, CompressedMessagesAreLoggedAsTheyWere) {
  const std::string text(5000, 'x');
  std::string packed(1000, '\0');
  uLongf size = packed.size();
  ASSERT_EQ(::compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                       text.size()),
            Z_OK);
  packed.resize(size);
  rig.sink.wish = Compress::kGzip;
  client.request("/echo.Echo/Call", TestClient::framed(packed, 1),
                 {{"grpc-encoding", "deflate"}, {"grpc-accept-encoding", "gzip"}});
  client.pump();
  EXPECT_THAT(briefs(), ElementsAre("CLIENT_HEADER", "CLIENT_MESSAGE " + text, "CLIENT_HALF_CLOSE", "SERVER_HEADER",
                                    "SERVER_MESSAGE " + text, "SERVER_TRAILER 0"));
}

TEST_F(LoggedCallsOfAFilter, OthersAreNotLoggedAndWhatIsHasItsLimits) {
  client.call("/echo.Echo/Call", "hello");
  client.pump();
  EXPECT_THAT(briefs(), IsEmpty());
  client.call("/a.B/C", "hello", {{"x-a", "1"}});
  client.pump();
  const std::vector<v1::GrpcLogEntry> all = entries();
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[0].client_header().metadata().entry_size(), 0);
  EXPECT_TRUE(all[0].payload_truncated());
  EXPECT_EQ(brief(all[1]), "CLIENT_MESSAGE hel");
  EXPECT_TRUE(all[1].payload_truncated());
}

// A stream that is used again.
TEST_F(LoggedCallsOfAFilter, ACallAfterACancelledOneIsNotCancelled) {
  for (const char* path : {"/hold", "/a.B/C"}) {
    const int32_t id = client.call(path, "x");
    client.pump();
    if (client[id].closed) break;
    nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    client.pump();
  }
  EXPECT_EQ(briefs().back(), "SERVER_TRAILER 0");
}

}  // namespace
}  // namespace drover::engine
