// Expressions that gRPC C++ users write, which have to compile and mean the same on Drover's headers.
#include <google/protobuf/arena.h>
#include <google/protobuf/map.h>
#include <google/protobuf/message.h>
#include <google/protobuf/repeated_field.h>
#include <grpc++/grpc++.h>
#include <grpcpp/ext/admin_services.h>
#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/codegen/server_context.h>
#include <grpcpp/impl/codegen/status.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "channel/layout.h"
#include "host/server_parts.h"
#include "host_test.grpc.pb.h"

namespace {

using drover::hosttest::Part;
using drover::hosttest::Reply;
using drover::hosttest::Request;
using drover::hosttest::Testing;

std::string by_reference(const std::string& s) { return s; }
std::string by_value(std::string s) { return s; }
std::string by_view(std::string_view s) { return std::string(s); }

struct Strings : testing::Test {
  Strings() {
    request.set_text("world");
    request.add_words("one");
    request.add_words(std::string("two"));
    (*request.mutable_counts())["a"] = 1;
  }
  Request request;
};

TEST_F(Strings, Concatenate) {
  const Request* r = &request;
  EXPECT_EQ("Hello " + r->text(), "Hello world");
  EXPECT_EQ(r->text() + "!", "world!");
  EXPECT_EQ(std::string("Hello ") + r->text(), "Hello world");
  EXPECT_EQ(r->text() + r->text(), "worldworld");
  EXPECT_EQ("a" + r->text() + "b" + std::string("c"), "aworldbc");
  std::string text = "x";
  text += r->text();
  text.append(r->text());
  EXPECT_EQ(text, "xworldworld");
}

TEST_F(Strings, ConvertAndPass) {
  std::string copy = request.text();
  std::string assigned;
  assigned = request.text();
  const std::string& reference = request.text();
  const auto& same = request.text();
  auto view = std::string_view(request.text());
  EXPECT_EQ(copy, assigned);
  EXPECT_EQ(reference, same);
  EXPECT_EQ(view, "world");
  EXPECT_EQ(by_reference(request.text()), "world");
  EXPECT_EQ(by_value(request.text()), "world");
  EXPECT_EQ(by_view(request.text()), "world");
  EXPECT_STREQ(request.text().c_str(), "world");
  std::vector<std::string> all = {request.text(), "other"};
  all.push_back(request.text());
  all.emplace_back(request.text());
  EXPECT_EQ(all.size(), 4u);
}

TEST_F(Strings, CompareSearchAndStream) {
  EXPECT_TRUE(request.text() == "world");
  EXPECT_TRUE("world" == request.text());
  EXPECT_TRUE(request.text() != std::string("word"));
  EXPECT_TRUE(std::string("word") != request.text());
  EXPECT_TRUE(request.text() < std::string("z"));
  EXPECT_TRUE(request.text().empty() == false && request.text().size() == 5 && request.text().length() == 5);
  EXPECT_EQ(request.text().find("r"), 2u);
  EXPECT_EQ(request.text().substr(1, 3), "orl");
  EXPECT_EQ(request.text()[0], 'w');
  EXPECT_EQ(request.text().compare("world"), 0);
  std::ostringstream out;
  out << request.text() << ' ' << request.number();
  EXPECT_EQ(out.str(), "world 0");
  size_t letters = 0;
  for (char c : request.text()) letters += c != ' ';
  EXPECT_EQ(letters, 5u);
  std::string upper = request.text();
  std::transform(upper.begin(), upper.end(), upper.begin(), ::toupper);
  EXPECT_EQ(upper, "WORLD");
}

TEST_F(Strings, UseAsKeys) {
  std::map<std::string, int> map;
  map[request.text()] = 1;
  EXPECT_EQ(map.count(request.text()), 1u);
  EXPECT_NE(map.find(request.text()), map.end());
  std::unordered_map<std::string, int> hash;
  hash[request.text()] = 2;
  EXPECT_EQ(hash.at(request.text()), 2);
  std::set<std::string> set(request.words().begin(), request.words().end());
  EXPECT_EQ(set.size(), 2u);
}

TEST_F(Strings, SetFromEverything) {
  Reply reply;
  std::string text = "a string";
  reply.set_text(text);
  reply.set_text(std::move(text));
  reply.set_text("literal");
  reply.set_text(std::string_view("view"));
  reply.set_text(request.text());
  *reply.mutable_text() = "through a pointer";
  reply.mutable_text()->append("!");
  EXPECT_EQ(reply.text(), "through a pointer!");
  reply.set_payload("bytes", 5);
  EXPECT_EQ(reply.payload(), "bytes");
}

TEST_F(Strings, RepeatedFieldsAndMaps) {
  Reply reply;
  *reply.mutable_words() = request.words();
  for (const auto& word : request.words()) reply.add_words(word);
  for (const std::string word : request.words()) EXPECT_FALSE(word.empty());
  *reply.add_words() = "more";
  EXPECT_EQ(reply.words_size(), 5);
  EXPECT_EQ(reply.words(4), "more");
  Part* part = reply.add_parts();
  part->set_name("p");
  part->set_number(7);
  for (auto& one : *reply.mutable_parts()) one.set_number(one.number() + 1);
  EXPECT_EQ(reply.parts(0).number(), 8);
  for (const auto& [key, value] : request.counts()) (*reply.mutable_counts())[key] = value;
  EXPECT_EQ(reply.counts().at("a"), 1);
  EXPECT_EQ(reply.counts().count("b"), 0u);
  google::protobuf::RepeatedPtrField<std::string>* words = reply.mutable_words();
  words->Clear();
  EXPECT_EQ(reply.words_size(), 0);
  const google::protobuf::Map<std::string, int64_t>& counts = reply.counts();
  EXPECT_EQ(counts.size(), 1);
  EXPECT_FALSE(request.has_maybe());
}

TEST(Messages, CopyParseAndPrint) {
  Request a;
  a.set_text("x");
  a.set_maybe(3);
  Request b = a;
  Request c;
  c.CopyFrom(b);
  c.MergeFrom(a);
  Request d = std::move(b);
  std::string wire = a.SerializeAsString();
  Request e;
  EXPECT_TRUE(e.ParseFromString(wire));
  EXPECT_EQ(e.text(), "x");
  EXPECT_EQ(e.maybe(), 3);
  EXPECT_EQ(e.DebugString(), a.DebugString());
  google::protobuf::Arena arena;
  auto* f = google::protobuf::Arena::CreateMessage<Request>(&arena);
  f->CopyFrom(a);
  EXPECT_EQ(f->ByteSizeLong(), wire.size());
}

TEST(StatusApi, IsGrpcs) {
  grpc::Status ok;
  EXPECT_TRUE(ok.ok());
  EXPECT_TRUE(grpc::Status::OK.ok());
  EXPECT_EQ(grpc::Status::CANCELLED.error_code(), grpc::StatusCode::CANCELLED);
  grpc::Status status(grpc::StatusCode::NOT_FOUND, "what", "details");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "what");
  EXPECT_EQ(status.error_details(), "details");
  grpc::Status copy = status;
  status = grpc::Status::OK;
  EXPECT_EQ(copy.error_message(), "what");
  grpc::Status& same = copy;
  copy = same;
  EXPECT_EQ(copy.error_message(), "what");
  auto returns = [](bool good) { return good ? grpc::Status::OK : grpc::Status(grpc::StatusCode::INTERNAL, "bad"); };
  EXPECT_FALSE(returns(false).ok());
  EXPECT_LE(sizeof(grpc::Status), 16u);
}

TEST(StringRefApi, IsGrpcs) {
  std::multimap<grpc::string_ref, grpc::string_ref> metadata = {{"key", "value"}, {"key", "other"}};
  auto found = metadata.find("key");
  ASSERT_NE(found, metadata.end());
  EXPECT_EQ(std::string(found->second.data(), found->second.length()), "value");
  EXPECT_EQ(std::string(found->second.begin(), found->second.end()), "value");
  EXPECT_TRUE(found->second == "value" && found->second.starts_with("val") && found->second.ends_with("ue"));
  EXPECT_EQ(found->second.substr(1, 2), "al");
  size_t position = found->second.find("lu");
  EXPECT_EQ(position, 2u);
  EXPECT_EQ(found->second.find('z'), grpc::string_ref::npos);
  EXPECT_EQ(metadata.count("key"), 2u);
  std::ostringstream out;
  out << found->first;
  EXPECT_EQ(out.str(), "key");
}

class Greeter final : public Testing::Service {
  // Private, as many write it.
  grpc::Status Echo(grpc::ServerContext* context, const Request* request, Reply* reply) override {
    const auto& metadata = context->client_metadata();
    auto token = metadata.find("authorization");
    if (token == metadata.end()) return {grpc::StatusCode::UNAUTHENTICATED, "no token"};
    if (context->IsCancelled()) return grpc::Status::CANCELLED;
    if (std::chrono::system_clock::now() > context->deadline()) {
      return grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "late");
    }
    context->AddInitialMetadata("a", context->peer());
    context->AddTrailingMetadata("b", std::to_string(request->number()));
    context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
    context->set_compression_level(GRPC_COMPRESS_LEVEL_HIGH);
    if (context->auth_context()->IsPeerAuthenticated()) context->TryCancel();
    reply->set_text(request->text());
    return grpc::Status::OK;
  }
};

TEST(ContextApi, WorksOnAContextOfOnesOwn) {
  grpc::ServerContext context;
  EXPECT_FALSE(context.IsCancelled());
  EXPECT_TRUE(context.client_metadata().empty());
  EXPECT_EQ(context.deadline(), std::chrono::system_clock::time_point::max());
  EXPECT_TRUE(context.peer().empty());
  EXPECT_EQ(context.c_call(), nullptr);
}

// Mixed services: some methods by callback, the others synchronous.
class Mixed final : public Testing::WithCallbackMethod_Echo<Testing::WithCallbackMethod_Talk<Testing::Service>> {
  grpc::ServerBidiReactor<Request, Reply>* Talk(grpc::CallbackServerContext*) override {
    class Reactor : public grpc::ServerBidiReactor<Request, Reply> {
     public:
      Reactor() {
        StartSendInitialMetadata();
        StartRead(&request_);
      }
      void OnSendInitialMetadataDone(bool) override {}
      void OnReadDone(bool ok) override {
        if (!ok) return Finish(grpc::Status::OK);
        if (request_.number() == 0) StartWrite(&reply_, grpc::WriteOptions().set_buffer_hint().set_no_compression());
        if (request_.number() == 1) StartWriteLast(&reply_, grpc::WriteOptions());
        if (request_.number() == 2) StartWriteAndFinish(&reply_, grpc::WriteOptions(), grpc::Status::OK);
      }
      void OnWriteDone(bool) override {}
      void OnCancel() override {}
      void OnDone() override { delete this; }

     private:
      Request request_;
      Reply reply_;
    };
    return new Reactor();
  }
  grpc::Status Collect(grpc::ServerContext*, grpc::ServerReader<Request>* reader, Reply*) override {
    grpc::ServerReaderInterface<Request>* interface = reader;
    uint32_t size = 0;
    interface->NextMessageSize(&size);
    Request request;
    while (interface->Read(&request)) {
    }
    return grpc::Status::OK;
  }
  grpc::Status Spread(grpc::ServerContext*, const Request*, grpc::ServerWriter<Reply>* writer) override {
    Reply reply;
    writer->SendInitialMetadata();
    if (!writer->Write(reply)) return grpc::Status::CANCELLED;
    writer->Write(reply, grpc::WriteOptions().set_write_through());
    writer->WriteLast(reply, grpc::WriteOptions());
    return grpc::Status::OK;
  }
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const Request*, Reply*) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::Status Other(grpc::ServerContext*, const Request*, Reply*) override { return grpc::Status::OK; }
};

TEST(ServiceApi, KnowsItsMethods) {
  Mixed mixed;
  ASSERT_EQ(mixed.drover_methods().size(), 5u);
  EXPECT_EQ(mixed.drover_methods()[4].kind, grpc::internal::Method::Kind::kCallback);
  EXPECT_TRUE(mixed.drover_methods()[4].request_streams && mixed.drover_methods()[4].reply_streams);
  EXPECT_TRUE(mixed.drover_methods()[2].request_streams && !mixed.drover_methods()[2].reply_streams);
  EXPECT_TRUE(!mixed.drover_methods()[3].request_streams && mixed.drover_methods()[3].reply_streams);
  EXPECT_EQ(mixed.drover_methods()[0].kind, grpc::internal::Method::Kind::kCallback);
  EXPECT_EQ(mixed.drover_methods()[1].kind, grpc::internal::Method::Kind::kSync);
  EXPECT_STREQ(mixed.drover_methods()[0].path, "/drover.hosttest.Testing/Echo");
}

TEST(BuilderApi, TakesWhatServersSet) {
  Greeter service;
  grpc::EnableDefaultHealthCheckService(false);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::channelz::experimental::InitChannelzService();
  grpc::ServerBuilder builder;
  grpc::AddAdminServices(&builder);
  builder.experimental().EnableCallMetricRecording(nullptr);
  int port = -1;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(grpc::SslServerCredentialsOptions()), &port);
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(16 << 20).SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 1000);
  builder.AddChannelArgument(GRPC_ARG_MAX_MESSAGE_LENGTH, 1 << 20);
  builder.AddChannelArgument("name", std::string("value"));
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 8);
  grpc::ResourceQuota quota("name");
  builder.SetResourceQuota(quota.SetMaxThreads(4));
  // These credentials have no certificate, and BuildAndStart says so rather than serve in the clear.
  std::unique_ptr<grpc::Server> server(builder.BuildAndStart());
  EXPECT_EQ(server, nullptr);
  EXPECT_EQ(port, 0);
}

TEST(BuilderApi, ChannelArgumentsBecomeFlagsOfTheEngine) {
  using drover::host::engine_flag_of;
  EXPECT_EQ(engine_flag_of(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 300), "--http2.idle_timeout_ms=300");
  EXPECT_EQ(engine_flag_of(GRPC_ARG_MAX_CONNECTION_IDLE_MS, INT_MAX), "--http2.idle_timeout_ms=0") << "never";
  EXPECT_EQ(engine_flag_of(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 0), "--http2.max_connection_age_grace_ms=1");
  EXPECT_EQ(engine_flag_of(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, -5), "--http2.keepalive_timeout_ms=1");
  EXPECT_EQ(engine_flag_of(GRPC_ARG_MAX_METADATA_SIZE, 1 << 20), "--limits.max_header_bytes=65536");
  EXPECT_EQ(engine_flag_of("name", 1), "");
}

TEST(BuilderApi, APortWithoutCredentialsIsNotServed) {
  Greeter service;
  grpc::ServerBuilder builder;
  int port = -1;
  builder.AddListeningPort("127.0.0.1:0", nullptr, &port);
  builder.RegisterService(&service);
  testing::internal::CaptureStderr();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(server, nullptr);
  EXPECT_EQ(port, 0);
  EXPECT_NE(said.find("127.0.0.1:0: no credentials"), std::string::npos) << said;
}

TEST(BuilderApi, MessagesOfTheLargestSizeHaveRoomInSharedMemory) {
  using drover::host::kMostRegionBytes;
  using drover::host::region_bytes_for;
  constexpr uint64_t kMi = 1 << 20;
  EXPECT_EQ(region_bytes_for(0, 1), 0u) << "the engine's own size";
  EXPECT_EQ(region_bytes_for(16 * kMi, 1), 0u);
  for (uint64_t mib : {21, 64, 200, 499}) {
    const uint64_t bytes = region_bytes_for(static_cast<int>(mib * kMi), 1);
    EXPECT_GT(bytes, 2 * mib * kMi) << "a connection may have half of it";
    EXPECT_LT(bytes, 2 * mib * kMi + 32 * kMi);
    EXPECT_EQ(bytes % drover::kChunkSize, 0u);
  }
  EXPECT_EQ(region_bytes_for(501 * kMi, 1), kMostRegionBytes);
  EXPECT_EQ(region_bytes_for(-1, 1), kMostRegionBytes);
}

TEST(BuilderApi, WorkersShareTheMostRoomButHaveTheStandardSizeEach) {
  using drover::host::kMostRegionBytes;
  using drover::host::region_bytes_for;
  constexpr uint64_t kMi = 1 << 20;
  EXPECT_EQ(region_bytes_for(-1, 4), kMostRegionBytes / 4);
  EXPECT_EQ(region_bytes_for(21 * kMi, 4), region_bytes_for(21 * kMi, 1)) << "which is less than its share";
  EXPECT_EQ(region_bytes_for(-1, 3) % drover::kChunkSize, 0u);
  EXPECT_EQ(region_bytes_for(-1, 16), 0u) << "the engine's own size";
  EXPECT_EQ(region_bytes_for(200 * kMi, 256), 0u);
}

TEST(LogApi, Compiles) {
  gpr_log(GPR_DEBUG, "quiet %d", 1);
  GPR_ASSERT(1 + 1 == 2);
  grpc_init();
  grpc_shutdown();
  EXPECT_GT(gpr_now(GPR_CLOCK_REALTIME).tv_sec, 0);
}

// A name that is missing would be found among stock gRPC's headers, if those are installed.
TEST(Compat, EveryHeaderNameOfGrpcIsThere) {
  namespace fs = std::filesystem;
  for (const char* folder : {"grpcpp", "grpc++"}) {
    const fs::path stock = fs::path("/usr/include") / folder;
    if (!fs::exists(stock)) GTEST_SKIP() << "gRPC's headers are not installed";
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(stock)) {
      if (entry.path().extension() != ".h") continue;
      fs::path ours = fs::path(DROVER_HOST_INCLUDE) / folder / fs::relative(entry.path(), stock);
      EXPECT_TRUE(fs::exists(ours)) << ours;
    }
  }
}

}  // namespace
