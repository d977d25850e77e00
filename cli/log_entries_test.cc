#include "cli/log_entries.h"

#include <gmock/gmock.h>
#include <grpc/binarylog/v1/binarylog.pb.h>
#include <gtest/gtest.h>

namespace drover::cli {
namespace {

namespace v1 = grpc::binarylog::v1;
using testing::HasSubstr;
using testing::Not;

v1::GrpcLogEntry entry_of(v1::GrpcLogEntry::EventType type, uint64_t call = 7) {
  v1::GrpcLogEntry entry;
  entry.mutable_timestamp()->set_seconds(1'700'000'000);
  entry.mutable_timestamp()->set_nanos(123'456'789);
  entry.set_call_id(call);
  entry.set_sequence_id_within_call(1);
  entry.set_type(type);
  return entry;
}

v1::GrpcLogEntry header_of(const std::string& method, uint64_t call = 7) {
  v1::GrpcLogEntry entry = entry_of(v1::GrpcLogEntry::EVENT_TYPE_CLIENT_HEADER, call);
  entry.mutable_client_header()->set_method_name(method);
  return entry;
}

v1::GrpcLogEntry message_of(const std::string& data, size_t length, uint64_t call = 7) {
  v1::GrpcLogEntry entry = entry_of(v1::GrpcLogEntry::EVENT_TYPE_CLIENT_MESSAGE, call);
  entry.mutable_message()->set_length(static_cast<uint32_t>(length));
  entry.mutable_message()->set_data(data);
  return entry;
}

std::string text_of(LogEntries& entries, const v1::GrpcLogEntry& entry) {
  std::string text;
  EXPECT_TRUE(entries.print(entry.SerializeAsString(), &text));
  return text;
}

TEST(LogEntries, AClientHeaderIsALine) {
  LogEntries entries({}, false, {});
  v1::GrpcLogEntry entry = header_of("/shop.Orders/List");
  entry.mutable_client_header()->set_authority("shop");
  entry.mutable_client_header()->mutable_timeout()->set_seconds(1);
  entry.mutable_client_header()->mutable_timeout()->set_nanos(500'000'000);
  entry.mutable_peer()->set_type(v1::Address::TYPE_IPV6);
  entry.mutable_peer()->set_address("::1");
  entry.mutable_peer()->set_ip_port(80);
  auto* one = entry.mutable_client_header()->mutable_metadata()->add_entry();
  one->set_key("a");
  one->set_value("1");
  one = entry.mutable_client_header()->mutable_metadata()->add_entry();
  one->set_key("b-bin");
  one->set_value("\x01\xff");
  EXPECT_EQ(text_of(entries, entry),
            "2023-11-14T22:13:20.123456Z                 7    1  CLIENT_HEADER      /shop.Orders/List  from [::1]:80  "
            "authority shop  timeout 1.5 s  a: 1  b-bin: 0x01ff\n");
}

TEST(LogEntries, MessagesTrailersAndTheRestAreLines) {
  LogEntries entries({}, false, {});
  EXPECT_THAT(text_of(entries, message_of("abc", 9)), testing::EndsWith("CLIENT_MESSAGE     9 bytes  0x616263\n"));
  v1::GrpcLogEntry cut = message_of(std::string(40, 'a'), 50);
  cut.set_payload_truncated(true);
  EXPECT_THAT(text_of(entries, cut), testing::EndsWith("6161...  [truncated]\n"));
  v1::GrpcLogEntry entry = entry_of(v1::GrpcLogEntry::EVENT_TYPE_SERVER_TRAILER);
  entry.mutable_trailer()->set_status_code(5);
  entry.mutable_trailer()->set_status_message("gone");
  EXPECT_THAT(text_of(entries, entry), testing::EndsWith("SERVER_TRAILER     NOT_FOUND: gone\n"));
  entry.mutable_trailer()->set_status_code(4'000'000'000);
  EXPECT_THAT(text_of(entries, entry), HasSubstr("code 4000000000: gone"));
  EXPECT_THAT(text_of(entries, entry_of(v1::GrpcLogEntry::EVENT_TYPE_CANCEL)), testing::EndsWith("CANCEL\n"));
  v1::GrpcLogEntry odd;
  odd.set_type(static_cast<v1::GrpcLogEntry::EventType>(77));
  odd.mutable_timestamp()->set_seconds(INT64_MAX);
  EXPECT_THAT(text_of(entries, odd), testing::AllOf(HasSubstr("(no time)"), HasSubstr("event 77")));
}

TEST(LogEntries, NothingActsOnATerminal) {
  const std::string evil = "x\x1b[2J\r\x07\x7f\xc2\x9b";
  for (bool json : {false, true}) {
    LogEntries entries({}, json, [&](const std::string&, bool, const std::string&) { return "\"" + evil + "\""; });
    v1::GrpcLogEntry header = header_of("/" + evil + "/m");
    header.mutable_client_header()->set_authority(evil);
    header.mutable_peer()->set_address(evil);
    auto* one = header.mutable_client_header()->mutable_metadata()->add_entry();
    one->set_key(evil);
    one->set_value(evil);
    v1::GrpcLogEntry trailer = entry_of(v1::GrpcLogEntry::EVENT_TYPE_SERVER_TRAILER);
    trailer.mutable_trailer()->set_status_message(evil);
    for (const std::string& text :
         {text_of(entries, header), text_of(entries, message_of(evil, evil.size())), text_of(entries, trailer)}) {
      EXPECT_EQ(text.find_first_of("\x1b\r\x07\x7f"), std::string::npos) << text;
      EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << text;
      EXPECT_EQ(text.find('\n'), text.size() - 1);
    }
    if (json) {
      EXPECT_THAT(text_of(entries, message_of("x", 1)), HasSubstr(R"("json":"x\u001b[2J\u000d\u0007\u007f\u009b")"));
    } else {
      EXPECT_THAT(text_of(entries, message_of("x", 1)), HasSubstr(R"("x\u001b[2J\u000d\u0007\u007f\u009b")"));
    }
  }
}

TEST(LogEntries, JsonHasTheMappingOfTheEntryTheMethodAndTheMessage) {
  LogEntries entries({}, true, [](const std::string& method, bool of_client, const std::string& wire) {
    return "{\"of\":\"" + method + (of_client ? " client " : " server ") + wire + "\"}";
  });
  EXPECT_EQ(text_of(entries, header_of("/a.B/C")),
            R"({"timestamp":"2023-11-14T22:13:20.123456789Z","callId":"7","sequenceIdWithinCall":"1",)"
            R"("type":"EVENT_TYPE_CLIENT_HEADER","clientHeader":{"methodName":"/a.B/C"},"method":"/a.B/C"})"
            "\n");
  EXPECT_THAT(
      text_of(entries, message_of("abc", 3)),
      HasSubstr(R"("message":{"length":3,"data":"YWJj"},"method":"/a.B/C","json":{"of":"/a.B/C client abc"}})"));
  EXPECT_THAT(text_of(entries, message_of("abc", 4)), Not(HasSubstr("json")));     // cut
  EXPECT_THAT(text_of(entries, message_of("abc", 3, 8)), Not(HasSubstr("json")));  // of a call that has no header
  std::string text;
  EXPECT_TRUE(entries.print("", &text));
  EXPECT_EQ(text, "{}\n");
}

TEST(LogEntries, ATimeThatIsNoneIsLeftOutOfJson) {
  LogEntries entries({}, true, {});
  v1::GrpcLogEntry entry = header_of("/a.B/C");
  entry.mutable_timestamp()->set_seconds(INT64_MIN);
  entry.mutable_client_header()->mutable_timeout()->set_nanos(-2'000'000'000);
  EXPECT_THAT(text_of(entries, entry), testing::AllOf(HasSubstr("a.B/C"), Not(HasSubstr("time"))));
}

TEST(LogEntries, OnlyChosenMethodsAndCallsArePrinted) {
  LogEntries by_method({{"a.B"}, {}}, false, {}), by_name({{"/a.B/C"}, {}}, false, {}), by_call({{}, {9}}, false, {});
  const auto printed = [](LogEntries& entries, const std::string& method, uint64_t call) {
    const bool header = !text_of(entries, header_of(method, call)).empty();
    EXPECT_EQ(!text_of(entries, message_of("x", 1, call)).empty(), header);
    return header;
  };
  EXPECT_TRUE(printed(by_method, "/a.B/C", 1));
  EXPECT_TRUE(printed(by_method, "/a.B/D", 2));
  EXPECT_FALSE(printed(by_method, "/a.BB/D", 3));
  EXPECT_TRUE(printed(by_name, "/a.B/C", 1));
  EXPECT_FALSE(printed(by_name, "/a.B/D", 2));
  EXPECT_TRUE(printed(by_call, "/a.B/C", 9));
  EXPECT_FALSE(printed(by_call, "/a.B/C", 10));
  EXPECT_EQ(text_of(by_method, message_of("x", 1, 99)), "");  // a call that nothing is known of
}

TEST(LogEntries, RemembersTheYoungestCalls) {
  LogEntries entries({{"a.B"}, {}}, false, {});
  for (uint64_t call = 1; call <= LogEntries::kMostCalls + 1; ++call) text_of(entries, header_of("/a.B/C", call));
  EXPECT_EQ(text_of(entries, message_of("x", 1, 1)), "");
  EXPECT_NE(text_of(entries, message_of("x", 1, 2)), "");
}

TEST(LogEntries, BytesThatAreNoEntryAreRefused) {
  LogEntries entries({}, false, {});
  std::string text;
  EXPECT_FALSE(entries.print("\xff\xff\xff", &text));
  EXPECT_FALSE(entries.print("\x32\x03\x12\x01\xff", &text));  // a method's name that is no UTF-8
}

}  // namespace
}  // namespace drover::cli
