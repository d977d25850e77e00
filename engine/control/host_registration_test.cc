#include "engine/control/host_registration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/control/control_testing.h"
#include "engine/reflection/wire_fields.h"

namespace drover::engine {
namespace {

using testing::HasSubstr;

TEST(ChannelOptions, SizesThatNoHostCouldAttachWithAreToldByTheirKeys) {
  ControlOptions options;
  EXPECT_EQ(check_channel_options(options, 2), "");
  options.rx_bytes = uint64_t{64} << 30;
  std::string wrong = check_channel_options(options, 1);
  EXPECT_THAT(wrong, HasSubstr("channel.rx_bytes=68719476736"));
  EXPECT_THAT(wrong, HasSubstr("no host could attach"));
  EXPECT_THAT(wrong, HasSubstr("at most 17179869184 are allowed"));
}

TEST(ChannelOptions, EveryEngineThreadHasAChannelToEachWorker) {
  ControlOptions options;
  options.rx_bytes = uint64_t{6} << 30;
  EXPECT_EQ(check_channel_options(options, 2), "");
  EXPECT_NE(check_channel_options(options, 3), "");
}

TEST(ChannelOptions, SizesThatAreNoMultipleOfAChunkAreRefused) {
  ControlOptions options;
  options.tx_bytes = (1 << 20) + 1;
  EXPECT_THAT(check_channel_options(options, 1), HasSubstr("tx_bytes"));
}

TEST(HostRegistration, AGreetingMakesTheRegionAndADoorbellForEachEngineThread) {
  ControlOptions options;
  HostTotals totals;
  HostRegistration registration(options, totals, 0);
  Hello hello;
  hello.name = "a \"name\"";
  hello.cpus = {-1, -1};
  ControlError error;
  ASSERT_TRUE(registration.greet(hello, 7, 4711, 3, &error)) << error.message;
  const HostAttachment& host = *registration.attachment();
  EXPECT_EQ(host.id, 7u);
  EXPECT_EQ(host.name, "a ?name?") << "as logs and metrics can carry it";
  EXPECT_EQ(host.layout->options().workers, 2u);
  EXPECT_EQ(host.bells.size(), 3u);
  EXPECT_EQ(registration.welcome_fds().size(), 5u);
}

TEST(HostRegistration, ImagesTogetherAreLimited) {
  ControlOptions options;
  options.max_image_bytes = echo_image().image().size() * 2 - 1;
  HostTotals totals;
  HostRegistration registration(options, totals, 0);
  Hello hello;
  hello.name = "x";
  hello.cpus = {-1};
  ControlError error;
  ASSERT_TRUE(registration.greet(hello, 1, 0, 1, &error)) << error.message;
  std::string_view bytes(reinterpret_cast<const char*>(echo_image().image().data()), echo_image().image().size());
  UniqueFd fd = make_image_fd(bytes, &error);
  EXPECT_TRUE(registration.add_image(RegisterImage{bytes.size()}, fd.get(), &error)) << error.message;
  EXPECT_FALSE(registration.add_image(RegisterImage{bytes.size()}, fd.get(), &error));
  EXPECT_EQ(error.code, ControlCode::kResourceExhausted);
}

class Descriptors : public testing::Test {
 protected:
  Descriptors() {
    Hello hello;
    hello.name = "x";
    hello.cpus = {-1};
    EXPECT_TRUE(registration.greet(hello, 1, 0, 1, &error)) << error.message;
  }
  bool add(const std::string& set) {
    UniqueFd fd = make_image_fd(set, &error);
    return registration.add_descriptors(RegisterDescriptors{set.size()}, fd.get(), &error);
  }
  static std::string set() {
    return schema::parse_protos({{"a.proto", "syntax = \"proto3\"; message A {}"}}).SerializeAsString();
  }

  ControlOptions options;
  HostTotals totals;
  HostRegistration registration{options, totals, 1001};
  ControlError error;
};

TEST_F(Descriptors, AHostMayAskForChannelzOnce) {
  EXPECT_FALSE(registration.attachment()->channelz);
  EXPECT_FALSE(registration.add_channelz(ServeChannelz{1}, &error));
  EXPECT_EQ(error.code, ControlCode::kBadValue);
  ASSERT_TRUE(registration.add_channelz(ServeChannelz{}, &error)) << error.message;
  EXPECT_TRUE(registration.attachment()->channelz);
  EXPECT_EQ(registration.attachment()->user, 1001u);
  EXPECT_FALSE(registration.add_channelz(ServeChannelz{}, &error));
  EXPECT_EQ(error.code, ControlCode::kUnexpectedMessage);
}

TEST_F(Descriptors, HostsAllowCoversChannelz) {
  ASSERT_EQ(HostPolicy::parse("1001=/p.Shop/*,/grpc.channelz.v1.Channelz/GetServer*", &options.policy), "");
  EXPECT_FALSE(registration.add_channelz(ServeChannelz{}, &error));
  EXPECT_EQ(error.code, ControlCode::kPermissionDenied);
  EXPECT_THAT(error.message, HasSubstr("may not serve /grpc.channelz.v1.Channelz/GetTopChannels"));
  EXPECT_FALSE(registration.attachment()->channelz);
  ASSERT_EQ(HostPolicy::parse("1001=/p.Shop/*,/grpc.channelz.*", &options.policy), "");
  EXPECT_TRUE(registration.add_channelz(ServeChannelz{}, &error)) << error.message;
}

TEST_F(Descriptors, AHostThatSendsThemIsDescribedWithItsServicesFromItsStart) {
  std::string_view image(reinterpret_cast<const char*>(echo_image().image().data()), echo_image().image().size());
  UniqueFd fd = make_image_fd(image, &error);
  ASSERT_TRUE(registration.add_image(RegisterImage{image.size()}, fd.get(), &error)) << error.message;
  RegisterMethods methods;
  for (const char* path : {"/p.Shop/Sell", "/p.Mail/Send", "/p.Shop/Buy"}) {
    methods.methods.push_back({path, 0, echo_type().index, 0, echo_type().index, 0});
  }
  ASSERT_TRUE(registration.add_methods(methods, &error)) << error.message;
  ASSERT_TRUE(add(set())) << error.message;
  EXPECT_EQ(registration.attachment()->reflection, nullptr);
  ASSERT_TRUE(registration.finish(0, &error)) << error.message;
  const auto& reflection = registration.attachment()->reflection;
  ASSERT_NE(reflection, nullptr);
  EXPECT_THAT(reflection->services, testing::ElementsAre("p.Mail", "p.Shop"));
  EXPECT_EQ(reflection->files->find_symbol("A"), 0u);
}

TEST_F(Descriptors, OtherBytesAreRefusedAndSoIsASecondSet) {
  EXPECT_FALSE(add("\xff\xff"));
  EXPECT_EQ(error.code, ControlCode::kBadValue);
  EXPECT_THAT(error.message, HasSubstr("the descriptors: it is no FileDescriptorSet"));
  EXPECT_TRUE(add(set())) << error.message;
  EXPECT_FALSE(add(set()));
  EXPECT_EQ(error.code, ControlCode::kUnexpectedMessage);
}

TEST_F(Descriptors, AMethodForAnyPathNamesNoService) {
  std::string_view image(reinterpret_cast<const char*>(echo_image().image().data()), echo_image().image().size());
  UniqueFd fd = make_image_fd(image, &error);
  ASSERT_TRUE(registration.add_image(RegisterImage{image.size()}, fd.get(), &error)) << error.message;
  registration.attachment()->methods.emplace_back(std::string(kAnyPath), echo_type(), echo_type(), kMethodKind);
  registration.attachment()->methods.emplace_back("/p.Shop/Buy", echo_type(), echo_type());
  ASSERT_TRUE(add(set())) << error.message;
  ASSERT_TRUE(registration.finish(0, &error)) << error.message;
  EXPECT_THAT(registration.attachment()->reflection->services, testing::ElementsAre("p.Shop"));
}

TEST_F(Descriptors, AHostWithTooManyOfThemServesAndIsNotDescribed) {
  std::string many;
  for (size_t i = 0; i <= DescriptorIndex::kMaxFiles; ++i) {
    std::string file;
    append_bytes(1, "f" + std::to_string(i), &file);
    append_bytes(1, file, &many);
  }
  EXPECT_TRUE(add(many)) << error.message;
  EXPECT_FALSE(add(set())) << "they came before";
  EXPECT_EQ(error.code, ControlCode::kUnexpectedMessage);
  ASSERT_TRUE(registration.finish(0, &error)) << error.message;
  EXPECT_EQ(registration.attachment()->reflection, nullptr);
  EXPECT_EQ(totals.descriptors.bytes(), 0u);
}

// Those of hosts that have left count as long as anyone refers to them, and are never freed by the last who does.
TEST_F(Descriptors, AllHostsTogetherAreLimited) {
  auto other = std::make_unique<HostRegistration>(options, totals, 1001);
  Hello hello;
  hello.name = "y";
  hello.cpus = {-1};
  ASSERT_TRUE(other->greet(hello, 2, 0, 1, &error)) << error.message;
  UniqueFd fd = make_image_fd(set(), &error);
  ASSERT_TRUE(other->add_descriptors(RegisterDescriptors{set().size()}, fd.get(), &error)) << error.message;
  ASSERT_TRUE(other->finish(0, &error)) << error.message;
  EXPECT_GT(totals.descriptors.bytes(), set().size());
  options.max_total_descriptor_bytes = 2 * totals.descriptors.bytes() - 1;
  auto answer = other->attachment()->reflection->files;
  EXPECT_FALSE(totals.descriptors.waits());
  other.reset();
  EXPECT_TRUE(totals.descriptors.waits());
  EXPECT_TRUE(totals.descriptors.take_unused().empty()) << "an answer refers to them";
  ASSERT_TRUE(add(set())) << error.message;
  ASSERT_TRUE(registration.finish(0, &error)) << error.message;
  EXPECT_EQ(registration.attachment()->reflection, nullptr) << "there is no room for another";
  std::weak_ptr<const DescriptorIndex> index = answer;
  answer.reset();
  EXPECT_FALSE(index.expired());
  EXPECT_EQ(totals.descriptors.take_unused().size(), 1u);
  EXPECT_TRUE(index.expired());
  EXPECT_EQ(totals.descriptors.bytes(), 0u);
  EXPECT_FALSE(totals.descriptors.waits());
}

TEST_F(Descriptors, HostsAllowCoversThem) {
  ASSERT_EQ(HostPolicy::parse("1001=/p.Shop/*", &options.policy), "");
  EXPECT_FALSE(add(set()));
  EXPECT_EQ(error.code, ControlCode::kPermissionDenied);
  EXPECT_THAT(error.message, HasSubstr("may not serve /grpc.reflection.v1.ServerReflection/ServerReflectionInfo"));
  ASSERT_EQ(HostPolicy::parse("1001=/p.Shop/*,/grpc.reflection.*", &options.policy), "");
  EXPECT_TRUE(add(set())) << error.message;
}

class RegisteredMethods : public testing::Test {
 protected:
  RegisteredMethods() : registration_(options_, totals_, 0) {
    Hello hello;
    hello.name = "x";
    hello.cpus = {-1};
    EXPECT_TRUE(registration_.greet(hello, 1, 0, 1, &error_)) << error_.message;
    std::string_view bytes(reinterpret_cast<const char*>(echo_image().image().data()), echo_image().image().size());
    UniqueFd fd = make_image_fd(bytes, &error_);
    EXPECT_TRUE(registration_.add_image(RegisterImage{bytes.size()}, fd.get(), &error_)) << error_.message;
  }
  bool add(const std::string& path, const schema::MessageType& request, const schema::MessageType& response,
           uint32_t flags) {
    RegisterMethods methods;
    methods.methods.push_back({path, 0, request.index, 0, response.index, flags});
    error_ = {};
    return registration_.add_methods(methods, &error_);
  }

  ControlOptions options_;
  HostTotals totals_;
  HostRegistration registration_;
  ControlError error_;
};

TEST_F(RegisteredMethods, RawOnesHaveMessagesOfBytesOnly) {
  EXPECT_TRUE(add("/a.B/Raw", raw_type(), raw_type(), kMethodRaw)) << error_.message;
  EXPECT_TRUE(add("/a.B/Talk", raw_type(), raw_type(), kMethodRaw | kMethodStreams)) << error_.message;
  EXPECT_TRUE(add("/a.B/Decoded", raw_type(), echo_type(), 0)) << "a message of bytes need not be raw";
  EXPECT_FALSE(add("/a.B/C", echo_type(), raw_type(), kMethodRaw));
  EXPECT_EQ(error_.code, ControlCode::kBadMethod);
  EXPECT_THAT(error_.message, HasSubstr("/a.B/C: raw, but its request has other fields"));
  EXPECT_FALSE(add("/a.B/C", raw_type(), echo_type(), kMethodRaw));
  EXPECT_THAT(error_.message, HasSubstr("its response has other fields"));
}

TEST_F(RegisteredMethods, OneMayTakeCallsOfAnyPathAndIsThenRawAndStreams) {
  EXPECT_FALSE(add("*", raw_type(), raw_type(), kMethodRaw | kMethodStreams)) << "without the flag it is no path";
  EXPECT_FALSE(add("/a.B/C", raw_type(), raw_type(), kAllMethodFlags));
  EXPECT_FALSE(add("*", raw_type(), raw_type(), kMethodAny | kMethodRaw));
  EXPECT_FALSE(add("*", echo_type(), echo_type(), kAllMethodFlags));
  EXPECT_EQ(error_.code, ControlCode::kBadMethod);
  EXPECT_TRUE(add("*", raw_type(), raw_type(), kAllMethodFlags)) << error_.message;
  EXPECT_FALSE(add("*", raw_type(), raw_type(), kAllMethodFlags)) << "registered twice";
}

TEST_F(RegisteredMethods, OneForAnyPathNeedsARuleThatAllowsEverything) {
  ControlOptions options;
  ASSERT_EQ(HostPolicy::parse("0=/a.B/*", &options.policy), "");
  HostRegistration registration(options, totals_, 0);
  Hello hello;
  hello.cpus = {-1};
  ASSERT_TRUE(registration.greet(hello, 1, 0, 1, &error_)) << error_.message;
  RegisterMethods methods;
  methods.methods.push_back({"*", 0, raw_type().index, 0, raw_type().index, kAllMethodFlags});
  EXPECT_FALSE(registration.add_methods(methods, &error_));
  EXPECT_EQ(error_.code, ControlCode::kPermissionDenied);
}

}  // namespace
}  // namespace drover::engine
