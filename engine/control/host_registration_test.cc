#include "engine/control/host_registration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/control/control_testing.h"

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

}  // namespace
}  // namespace drover::engine
