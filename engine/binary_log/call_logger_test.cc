#include "engine/binary_log/call_logger.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <grpc/binarylog/v1/binarylog.pb.h>
#include <gtest/gtest.h>

#include <ctime>

#include "binlog/log_reader.h"

namespace drover::engine::binary_log {
namespace {

namespace v1 = grpc::binarylog::v1;
using binlog::Event;
using testing::ElementsAre;
using testing::Pair;

// A logger whose entries stay in the ring, read by stock protobuf.
class CallLoggerTest : public testing::Test {
 protected:
  void log_by(std::string_view filter, std::string_view redact = "authorization", size_t ring_bytes = 1 << 20) {
    ASSERT_EQ(Filter::parse(filter, &rules_.filter), "");
    ASSERT_EQ(Redaction::parse(redact, &rules_.redaction), "");
    ring_ = &writer_.add_ring(ring_bytes);
    logger_ = std::make_unique<CallLogger>(rules_, CallIds{5, 3}, *ring_, writer_, metrics_);
  }
  LoggedCall begin(std::span<const Header> metadata = {}, std::string_view path = "/shop.Orders/List",
                   std::string_view peer = "ipv4:192.0.2.1:4711", int64_t timeout_ns = kNoDeadline) {
    LoggedCall call;
    logger_->begin({path, "shop.example", peer, metadata, timeout_ns}, call);
    return call;
  }
  std::vector<v1::GrpcLogEntry> entries() {
    std::string bytes;
    ring_->pop(SIZE_MAX, &bytes);
    std::string_view rest = bytes;
    binlog::LogReader reader([&](char* to, size_t size) {
      const size_t n = rest.copy(to, size);
      rest.remove_prefix(n);
      return static_cast<long>(n);
    });
    std::vector<v1::GrpcLogEntry> found;
    for (std::string_view entry; reader.next(&entry);) {
      EXPECT_TRUE(found.emplace_back().ParseFromArray(entry.data(), static_cast<int>(entry.size())));
      EXPECT_EQ(unknown_fields(found.back()), 0);
    }
    EXPECT_EQ(reader.message(), "");
    return found;
  }
  v1::GrpcLogEntry only() {
    std::vector<v1::GrpcLogEntry> all = entries();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? v1::GrpcLogEntry() : all[0];
  }
  static int unknown_fields(const google::protobuf::Message& message) {
    const auto* reflection = message.GetReflection();
    int count = reflection->GetUnknownFields(message).field_count();
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    reflection->ListFields(message, &fields);
    for (const auto* field : fields) {
      if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) continue;
      count += unknown_fields(reflection->GetMessage(message, field));
    }
    return count;
  }
  static std::vector<std::pair<std::string, std::string>> pairs(const v1::Metadata& metadata) {
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& entry : metadata.entry()) out.emplace_back(entry.key(), entry.value());
    return out;
  }
  void message(LoggedCall& call, Event event, std::string_view text) {
    const size_t half = text.size() / 2;
    const Piece pieces[] = {{text.data(), half}, {text.data() + half, text.size() - half}};
    logger_->message(call, event, pieces, text.size());
  }

  ThreadMetrics metrics_{0};
  Rules rules_;
  LogWriter writer_{"/nowhere/log", {}, metrics_};  // never started
  EntryRing* ring_ = nullptr;
  std::unique_ptr<CallLogger> logger_;
};

TEST_F(CallLoggerTest, AWholeCallHasItsEntries) {
  log_by("*");
  const std::time_t before = std::time(nullptr);
  const std::vector<Header> metadata = {{"a", "1"}, {"b-bin", std::string("\0\xff", 2)}};
  LoggedCall call = begin(metadata, "/shop.Orders/List", "ipv4:192.0.2.1:4711", 1'500'000'000);
  message(call, Event::kClientMessage, "request");
  logger_->half_close(call);
  const std::vector<Header> initial = {{"c", "2"}};
  logger_->server_header(call, initial);
  message(call, Event::kServerMessage, "");
  const std::vector<Header> trailing = {{"d", "3"}, {"grpc-status-details-bin", "details"}};
  Reply reply;
  reply.code = StatusCode::kNotFound;
  reply.status_message = "no \xe2\x82\xac";
  reply.trailing = trailing;
  logger_->server_trailer(call, reply);
  logger_->cancel(call);

  const std::vector<v1::GrpcLogEntry> all = entries();
  ASSERT_EQ(all.size(), 7u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].call_id(), 5u);
    EXPECT_EQ(all[i].sequence_id_within_call(), i + 1);
    EXPECT_EQ(all[i].logger(), v1::GrpcLogEntry::LOGGER_SERVER);
    EXPECT_GE(all[i].timestamp().seconds(), before);
    EXPECT_LE(all[i].timestamp().seconds(), std::time(nullptr));
    EXPECT_FALSE(all[i].payload_truncated());
    EXPECT_EQ(all[i].has_peer(), i == 0);
  }
  EXPECT_EQ(all[0].type(), v1::GrpcLogEntry::EVENT_TYPE_CLIENT_HEADER);
  EXPECT_EQ(all[0].peer().type(), v1::Address::TYPE_IPV4);
  EXPECT_EQ(all[0].peer().address(), "192.0.2.1");
  EXPECT_EQ(all[0].peer().ip_port(), 4711u);
  EXPECT_EQ(all[0].client_header().method_name(), "/shop.Orders/List");
  EXPECT_EQ(all[0].client_header().authority(), "shop.example");
  EXPECT_EQ(all[0].client_header().timeout().seconds(), 1);
  EXPECT_EQ(all[0].client_header().timeout().nanos(), 500'000'000);
  EXPECT_THAT(pairs(all[0].client_header().metadata()),
              ElementsAre(Pair("a", "1"), Pair("b-bin", std::string("\0\xff", 2))));
  EXPECT_EQ(all[1].type(), v1::GrpcLogEntry::EVENT_TYPE_CLIENT_MESSAGE);
  EXPECT_EQ(all[1].message().length(), 7u);
  EXPECT_EQ(all[1].message().data(), "request");
  EXPECT_EQ(all[2].type(), v1::GrpcLogEntry::EVENT_TYPE_CLIENT_HALF_CLOSE);
  EXPECT_EQ(all[2].payload_case(), v1::GrpcLogEntry::PAYLOAD_NOT_SET);
  EXPECT_EQ(all[3].type(), v1::GrpcLogEntry::EVENT_TYPE_SERVER_HEADER);
  EXPECT_THAT(pairs(all[3].server_header().metadata()), ElementsAre(Pair("c", "2")));
  EXPECT_EQ(all[4].type(), v1::GrpcLogEntry::EVENT_TYPE_SERVER_MESSAGE);
  EXPECT_TRUE(all[4].has_message());
  EXPECT_EQ(all[4].message().length(), 0u);
  EXPECT_EQ(all[5].type(), v1::GrpcLogEntry::EVENT_TYPE_SERVER_TRAILER);
  EXPECT_EQ(all[5].trailer().status_code(), 5u);
  EXPECT_EQ(all[5].trailer().status_message(), "no \xe2\x82\xac");
  EXPECT_EQ(all[5].trailer().status_details(), "details");
  EXPECT_THAT(pairs(all[5].trailer().metadata()), ElementsAre(Pair("d", "3")));
  EXPECT_EQ(all[6].type(), v1::GrpcLogEntry::EVENT_TYPE_CANCEL);
  EXPECT_EQ(all[6].payload_case(), v1::GrpcLogEntry::PAYLOAD_NOT_SET);
}

TEST_F(CallLoggerTest, OnlyCallsOfTheFilterAreLoggedAndIdsGoOn) {
  log_by("*,-shop.Orders/Pay");
  EXPECT_EQ(begin({}, "/shop.Orders/Pay").limits, nullptr);
  EXPECT_EQ(begin().id, 5u);
  EXPECT_EQ(begin().id, 8u);
  EXPECT_EQ(entries().size(), 2u);
}

TEST_F(CallLoggerTest, MessagesAreCutByteByByte) {
  log_by("*{h;m:5}");
  LoggedCall call = begin();
  entries();
  for (const std::string& text : {std::string("12345"), std::string("123456789"), std::string(300, 'x')}) {
    message(call, Event::kServerMessage, text);
    const v1::GrpcLogEntry entry = only();
    EXPECT_EQ(entry.message().length(), text.size());
    EXPECT_EQ(entry.message().data(), text.substr(0, 5));
    EXPECT_EQ(entry.payload_truncated(), text.size() > 5);
  }
}

TEST_F(CallLoggerTest, MetadataIsCutEntryByEntryAndTheTraceIsKept) {
  log_by("*{h:10}");
  const std::vector<Header> metadata = {
      {"long", "0123456789"}, {"a", "123456"}, {"grpc-trace-bin", std::string(29, 't')}, {"b", "12"}, {"c", "1"}};
  LoggedCall call = begin(metadata);
  const v1::GrpcLogEntry entry = only();
  EXPECT_TRUE(entry.payload_truncated());
  EXPECT_THAT(pairs(entry.client_header().metadata()),
              ElementsAre(Pair("a", "123456"), Pair("grpc-trace-bin", std::string(29, 't')), Pair("b", "12")));
  message(call, Event::kClientMessage, "x");  // {h}: none of it
  const v1::GrpcLogEntry empty = only();
  EXPECT_EQ(empty.message().length(), 1u);
  EXPECT_EQ(empty.message().data(), "");
  EXPECT_TRUE(empty.payload_truncated());
}

TEST_F(CallLoggerTest, WhatIsLeftOutByTheFormatIsNotCalledTruncated) {
  log_by("*");
  const std::vector<Header> metadata = {{"user-agent", "x"}, {"grpc-previous-rpc-attempts", "1"}, {"a", "1"}};
  begin(metadata);
  const v1::GrpcLogEntry entry = only();
  EXPECT_FALSE(entry.payload_truncated());
  EXPECT_THAT(pairs(entry.client_header().metadata()), ElementsAre(Pair("a", "1")));
}

TEST_F(CallLoggerTest, SecretsHaveTheirNamesOnly) {
  log_by("*", "authorization,*key*");
  const std::vector<Header> metadata = {{"authorization", "Bearer abc"}, {"x-key-bin", "\1\2"}, {"a", "1"}};
  LoggedCall call = begin(metadata);
  EXPECT_THAT(pairs(only().client_header().metadata()),
              ElementsAre(Pair("authorization", "[redacted]"), Pair("x-key-bin", "[redacted]"), Pair("a", "1")));
  logger_->server_header(call, metadata);
  EXPECT_THAT(pairs(only().server_header().metadata())[0], Pair("authorization", "[redacted]"));
  Reply reply;
  reply.trailing = metadata;
  logger_->server_trailer(call, reply);
  EXPECT_THAT(pairs(only().trailer().metadata())[1], Pair("x-key-bin", "[redacted]"));
}

TEST_F(CallLoggerTest, NoPayloadIsLargerThanTheBound) {
  rules_.max_payload = 100;
  log_by("*");
  const std::vector<Header> metadata = {{"a", std::string(101, 'x')}, {"b", "1"}};
  LoggedCall call = begin(metadata);
  const v1::GrpcLogEntry header = only();
  EXPECT_TRUE(header.payload_truncated());
  EXPECT_EQ(header.client_header().metadata().entry_size(), 1);
  message(call, Event::kClientMessage, std::string(1000, 'x'));
  const v1::GrpcLogEntry entry = only();
  EXPECT_TRUE(entry.payload_truncated());
  EXPECT_EQ(entry.message().data().size(), 100u);
  EXPECT_EQ(entry.message().length(), 1000u);
}

TEST_F(CallLoggerTest, TextsThatAreNoUtf8AreStillRead) {
  log_by("*");
  LoggedCall call = begin({}, "/a\xff/\xc3", "unix:");
  EXPECT_EQ(only().client_header().method_name(), "/a?/?");
  Reply reply;
  reply.code = StatusCode::kInternal;
  const std::string text = std::string(8191, 'x') + "\xe2\x82\xac and more";
  reply.status_message = text;
  logger_->server_trailer(call, reply);
  const v1::GrpcLogEntry entry = only();
  EXPECT_EQ(entry.trailer().status_message(), std::string(8191, 'x'));
  EXPECT_TRUE(entry.payload_truncated());
}

TEST_F(CallLoggerTest, PeersHaveTheirAddresses) {
  log_by("*{h}");
  const std::tuple<const char*, v1::Address::Type, const char*, uint32_t> cases[] = {
      {"ipv6:%5B2001:db8::1%5D:80", v1::Address::TYPE_IPV6, "2001:db8::1", 80},
      {"ipv6:%5Bfe80::1%25eth0%5D:80", v1::Address::TYPE_IPV6, "fe80::1", 80},
      {"unix:", v1::Address::TYPE_UNIX, "", 0},
      {"unix:/run/x", v1::Address::TYPE_UNIX, "/run/x", 0},
      {"other", v1::Address::TYPE_UNKNOWN, "", 0}};
  for (const auto& [peer, type, address, port] : cases) {
    begin({}, "/a/b", peer);
    const v1::GrpcLogEntry entry = only();
    EXPECT_EQ(entry.peer().type(), type) << peer;
    EXPECT_EQ(entry.peer().address(), address) << peer;
    EXPECT_EQ(entry.peer().ip_port(), port) << peer;
  }
}

TEST_F(CallLoggerTest, AnEntryWithoutRoomLeavesAGap) {
  log_by("*", "", 400);
  LoggedCall call = begin();
  message(call, Event::kClientMessage, std::string(400, 'x'));
  logger_->half_close(call);
  const std::vector<v1::GrpcLogEntry> all = entries();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].sequence_id_within_call(), 1u);
  EXPECT_EQ(all[1].sequence_id_within_call(), 3u);
}

// Of a reply in memory that another process may change.
TEST_F(CallLoggerTest, AMessageWithFewerBytesThanItSaysIsDropped) {
  log_by("*");
  LoggedCall call = begin();
  entries();
  const Piece piece{"abc", 3};
  logger_->message(call, Event::kServerMessage, {&piece, 1}, 10);
  EXPECT_TRUE(entries().empty());
  uint64_t broken = 0;
  metrics_.visit([](const MethodMetrics&) {},
                 [&](const ThreadMetrics::Series& series) {
                   if (series.name == kDroppedName && series.labels[0].second == "broken") {
                     broken = series.counter->value();
                   }
                 });
  EXPECT_EQ(broken, 1u);
}

}  // namespace
}  // namespace drover::engine::binary_log
