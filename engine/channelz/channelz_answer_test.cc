#include "engine/channelz/channelz_answer.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/channelz/channelz_description.h"
#include "engine/channelz/channelz_files.h"

namespace drover::engine {
namespace {

// Messages by the descriptors that the engine serves.
class Messages {
 public:
  Messages() {
    google::protobuf::FileDescriptorSet set;
    EXPECT_TRUE(set.ParseFromString(std::string(channelz_files())));
    for (const auto& file : set.file()) EXPECT_NE(pool_.BuildFile(file), nullptr) << file.name();
  }
  // The message in the text format, on one line; "broken": the bytes are none.
  std::string text(const std::string& name, const std::string& wire) {
    std::unique_ptr<google::protobuf::Message> message = make(name);
    if (message == nullptr || !message->ParseFromString(wire)) return "broken";
    std::string text;
    google::protobuf::TextFormat::Printer printer;
    printer.SetSingleLineMode(true);
    printer.PrintToString(*message, &text);
    return text;
  }
  std::string wire(const std::string& name, const std::string& text) {
    std::unique_ptr<google::protobuf::Message> message = make(name);
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, message.get()));
    return message->SerializeAsString();
  }

 private:
  std::unique_ptr<google::protobuf::Message> make(const std::string& name) {
    const auto* type = pool_.FindMessageTypeByName("grpc.channelz.v1." + name);
    EXPECT_NE(type, nullptr) << name;
    return type == nullptr ? nullptr : std::unique_ptr<google::protobuf::Message>(factory_.GetPrototype(type)->New());
  }
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
};

using testing::HasSubstr;
using testing::Not;

TEST(ChannelzRequest, EachMethodHasItsFields) {
  Messages messages;
  struct Case {
    ChannelzMethod method;
    const char *message, *text;
    int64_t id, start, most;
  } cases[] = {
      {ChannelzMethod::kTopChannels, "GetTopChannelsRequest", "start_channel_id: 3 max_results: 4", 0, 3, 4},
      {ChannelzMethod::kServers, "GetServersRequest", "start_server_id: 3 max_results: 4", 0, 3, 4},
      {ChannelzMethod::kServers, "GetServersRequest", "", 0, 0, 0},
      {ChannelzMethod::kServer, "GetServerRequest", "server_id: 9", 9, 0, 0},
      {ChannelzMethod::kServerSockets, "GetServerSocketsRequest", "server_id: 9 start_socket_id: 3 max_results: -1", 9,
       3, -1},
      {ChannelzMethod::kChannel, "GetChannelRequest", "channel_id: 9", 9, 0, 0},
      {ChannelzMethod::kSubchannel, "GetSubchannelRequest", "subchannel_id: 9", 9, 0, 0},
      {ChannelzMethod::kSocket, "GetSocketRequest", "socket_id: 9 summary: true", 9, 0, 0},
  };
  for (const Case& one : cases) {
    const auto request = parse_channelz(one.method, messages.wire(one.message, one.text));
    ASSERT_TRUE(request) << one.message;
    EXPECT_EQ(request->id, one.id) << one.message;
    EXPECT_EQ(request->start, one.start) << one.message;
    EXPECT_EQ(request->max_results, one.most) << one.message;
  }
  EXPECT_FALSE(parse_channelz(ChannelzMethod::kServer, "\xff\xff"));
  EXPECT_FALSE(parse_channelz(ChannelzMethod::kServer, "\x08"));
}

TEST(EntityId, IsTheSameFromItsValue) {
  for (const EntityId& id : {EntityId{EntityKind::kServer, 1, 0}, EntityId{EntityKind::kListener, UINT32_MAX, 0},
                             EntityId{EntityKind::kConnection, uint64_t{1} << 50, 255}}) {
    const EntityId again = EntityId::of(id.value());
    EXPECT_EQ(again.kind, id.kind);
    EXPECT_EQ(again.number, id.number);
    EXPECT_EQ(again.thread, id.thread);
  }
  for (const int64_t none : {int64_t{0}, int64_t{-1}, INT64_MIN, int64_t{4}}) {
    EXPECT_EQ(EntityId::of(none).kind, EntityKind::kNone) << none;
  }
}

TEST(EntityId, AListGoesOnBehindAnyIdOnEachThread) {
  for (uint64_t number : {1, 2, 77}) {
    for (uint32_t thread : {0u, 3u, 255u}) {
      const int64_t id = EntityId{EntityKind::kConnection, number, thread}.value();
      EXPECT_EQ(EntityId::first_connection(id, thread), number);
      EXPECT_EQ(EntityId::first_connection(id + 1, thread), number + 1);
      EXPECT_EQ(EntityId::first_connection(id + 1, 0), thread == 0 ? number + 1 : number + 1);
    }
  }
  EXPECT_EQ(EntityId::first_connection(0, 9), 0u);
}

TEST(ChannelzAnswer, AServerHasItsCallsAndItsListeningSockets) {
  Messages messages;
  ServerFacts server;
  server.host = 2;
  server.name = "shop (pid 7)";
  server.started = 5;
  server.succeeded = 3;
  server.failed = 1;
  server.last_call_ns = 1'500'000'000;
  server.listen = {{4, "ipv4:127.0.0.1:80"}, {5, ""}};
  const std::string text =
      "ref { server_id: 9 name: \"shop (pid 7)\" } data { calls_started: 5 calls_succeeded: 3 calls_failed: 1 "
      "last_call_started_timestamp { seconds: 11 nanos: 500000000 } } listen_socket { socket_id: 18 name: "
      "\"ipv4:127.0.0.1:80\" } listen_socket { socket_id: 22 }";
  EXPECT_EQ(messages.text("GetServerResponse", ChannelzAnswer::server(server, 10'000'000'000)),
            "server { " + text + " } ");
  EXPECT_EQ(messages.text("GetServersResponse", ChannelzAnswer::servers({&server, 1}, true, 10'000'000'000)),
            "server { " + text + " } end: true ");
  EXPECT_EQ(messages.text("GetServersResponse", ChannelzAnswer::servers({}, false, 0)), "");
  EXPECT_EQ(messages.text("GetTopChannelsResponse", ChannelzAnswer::top_channels()), "end: true ");
}

TEST(ChannelzAnswer, AConnectionHasItsCountsTimesAndWindows) {
  Messages messages;
  SocketFacts facts;
  facts.counts = {7, 2, 3, 4, 1, 1'000'000'000, 0, 2'000'000'000};
  facts.streams_open = 1;
  facts.send_window = 65535;
  facts.remote = "ipv4:10.0.0.1:4711";
  facts.local = "ipv6:%5B::1%5D:443";
  const std::string text = messages.text("GetSocketResponse", ChannelzAnswer::connection(1027, facts, 0));
  EXPECT_EQ(
      text,
      "socket { ref { socket_id: 1027 name: \"ipv4:10.0.0.1:4711\" } data { streams_started: 7 streams_succeeded: "
      "4 streams_failed: 2 messages_sent: 3 messages_received: 4 keep_alives_sent: 1 "
      "last_remote_stream_created_timestamp { seconds: 1 } last_message_received_timestamp { seconds: 2 } "
      "local_flow_control_window { value: 65535 } remote_flow_control_window { } } local { tcpip_address { "
      "ip_address: \"\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\001\" port: 443 } } "
      "remote { tcpip_address { ip_address: \"\\n\\000\\000\\001\" port: 4711 } } } ");
}

TEST(ChannelzAnswer, AddressesThatAreNoIpAddressesAreUnixOrOther) {
  Messages messages;
  auto local = [&](const std::string& address) {
    return messages.text("GetSocketResponse", ChannelzAnswer::listener({1, address}));
  };
  EXPECT_THAT(local("unix:/run/x"), HasSubstr("uds_address { filename: \"/run/x\" }"));
  EXPECT_THAT(local("unix:"), HasSubstr("uds_address { }"));
  EXPECT_THAT(local("unix-abstract:x"), HasSubstr("other_address { name: \"unix-abstract:x\" }"));
  EXPECT_THAT(local("ipv4:999.1.1.1:80"), HasSubstr("other_address"));
  EXPECT_THAT(local("ipv4:1.1.1.1:99999"), HasSubstr("other_address"));
  EXPECT_THAT(local(""), Not(HasSubstr("local")));
}

TEST(ChannelzAnswer, ASecureConnectionHasItsCipherAndCertificates) {
  Messages messages;
  SocketFacts facts;
  facts.cipher = "TLS_AES_128_GCM_SHA256";
  facts.local_certificate = "ours";
  EXPECT_THAT(messages.text("GetSocketResponse", ChannelzAnswer::connection(3, facts, 0)),
              HasSubstr("security { tls { standard_name: \"TLS_AES_128_GCM_SHA256\" local_certificate: \"ours\" } }"));
}

TEST(ChannelzAnswer, ItsPiecesAreItsBytes) {
  const ChannelzAnswer answer("abc");
  ASSERT_EQ(answer.pieces().size(), 1u);
  EXPECT_EQ(std::string_view(answer.pieces()[0].data, answer.pieces()[0].size), "abc");
  EXPECT_EQ(answer.size(), 3u);
  EXPECT_TRUE(ChannelzAnswer("").pieces().empty());
}

TEST(ChannelzDescription, ReflectionFindsTheServiceAndWhatItImports) {
  const ReflectionSource& source = channelz_description();
  ASSERT_NE(source.files, nullptr);
  EXPECT_THAT(source.services, testing::ElementsAre("grpc.channelz.v1.Channelz"));
  const uint32_t file = source.files->find_symbol("grpc.channelz.v1.Channelz.GetSocket");
  ASSERT_NE(file, DescriptorIndex::kNone);
  EXPECT_EQ(source.files->imports(source.files->file(file)).size(), 3u);
}

}  // namespace
}  // namespace drover::engine
