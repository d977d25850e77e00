#include "channel/control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace drover {
namespace {

Welcome make_welcome() {
  Welcome welcome;
  welcome.pid = 12;
  welcome.name = "droverd test";
  welcome.channel = {2, 3, 64, 8192, 4096};
  std::string error;
  auto layout = RegionLayout::compute(welcome.channel, &error);
  welcome.rx_size = layout->sizes().rx;
  welcome.tx_size = layout->sizes().tx;
  welcome.cpus = {0, -1};
  return welcome;
}

// One of each kind, with every field set.
std::vector<ControlMessage> examples() {
  Hello hello;
  hello.pid = 4711;
  hello.name = "greeter";
  hello.cpus = {-1, 3};
  hello.ring_slots = 256;
  hello.rx_bytes = 1 << 20;
  hello.tx_bytes = 2 << 20;
  return {hello,
          RegisterImage{123456},
          RegisterMethods{{{"/helloworld.Greeter/SayHello", 0, 1, 2, 0},
                           {"/a.B/C", 1, 0, 0, 0, kMethodRequestStreams | kMethodReplyStreams},
                           {"*", 1, 0, 1, 0, kAllMethodFlags}}},
          Listen{"0.0.0.0:50051", 0},
          Start{},
          Drain{1500},
          Detach{},
          make_welcome(),
          Listening{"0.0.0.0:0", 40123},
          Started{},
          Error{ControlCode::kAddressInUse, ControlType::kListen, "port 50051 is taken"},
          Draining{3000},
          HostStatus{HostStatus::State::kDraining, 7, 1234567},
          ServeLines{"shop.Stock", 0},
          OpenConnection{5, 2, "shop.Stock"},
          ConnectionOpened{5, ControlCode::kNotServed, 65535, "no host serves shop.Stock"},
          ListenTls{"0.0.0.0:443", "", 4, 2, 5000},
          RegisterDescriptors{4321},
          Describe{},
          LogTo{0},
          Description{kEngineIsChild, "0.1.0", std::string(64, 'a'), std::string(64, 'b'), "/etc/x.toml", "/x.log",
                      1790000000},
          ServeChannelz{0}};
}

TEST(Control, EveryMessageComesBackAsItWas) {
  ASSERT_EQ(examples().size(), std::variant_size_v<ControlMessage>);
  for (const ControlMessage& message : examples()) {
    ControlError error;
    std::string packet = encode_control(message, &error);
    ASSERT_FALSE(packet.empty()) << error.message;
    auto parsed = parse_control(packet, &error);
    ASSERT_TRUE(parsed) << error.message;
    EXPECT_EQ(parsed->index(), message.index());
    EXPECT_EQ(encode_control(*parsed, &error), packet);
    ControlHeader header;
    std::memcpy(&header, packet.data(), sizeof header);
    EXPECT_EQ(header.type, static_cast<uint16_t>(control_type(message)));
    EXPECT_STRNE(control_type_name(control_type(message)), "unknown");
  }
  ControlError error;
  auto welcome = std::get<Welcome>(*parse_control(encode_control(make_welcome(), &error), &error));
  EXPECT_EQ(welcome.channel, make_welcome().channel);
  EXPECT_EQ(welcome.cpus, make_welcome().cpus);
  EXPECT_EQ(welcome.rx_size, make_welcome().rx_size);
  EXPECT_EQ(expected_fds(welcome), 4u);
}

TEST(Control, ThePacketOfADrainHasTheseBytes) {
  ControlError error;
  std::string packet = encode_control(Drain{0x0102}, &error);
  EXPECT_EQ(packet, std::string("DRVC\1\0\6\0\x8\0\0\0\0\0\0\0\2\1\0\0\0\0\0\0", 24));
}

TEST(Control, NoPrefixOrExtensionOfAPacketIsAPacket) {
  for (const ControlMessage& message : examples()) {
    ControlError error;
    std::string packet = encode_control(message, &error);
    for (size_t size = 0; size < packet.size(); ++size) {
      EXPECT_FALSE(parse_control(std::string_view(packet).substr(0, size), &error));
      EXPECT_NE(error.code, ControlCode::kNone);
      EXPECT_FALSE(error.message.empty());
    }
    EXPECT_FALSE(parse_control(packet + '\0', &error));
    // The same with the header's size set right: now the body's own rules must refuse.
    for (size_t size = sizeof(ControlHeader); size < packet.size(); ++size) {
      std::string cut = packet.substr(0, size);
      uint32_t body = static_cast<uint32_t>(size - sizeof(ControlHeader));
      std::memcpy(cut.data() + 8, &body, 4);
      EXPECT_FALSE(parse_control(cut, &error)) << control_type_name(control_type(message)) << " cut at " << size;
    }
    std::string extended = packet + '\0';
    uint32_t body = static_cast<uint32_t>(extended.size() - sizeof(ControlHeader));
    std::memcpy(extended.data() + 8, &body, 4);
    EXPECT_FALSE(parse_control(extended, &error));
    EXPECT_NE(error.message.find("left over"), std::string::npos) << error.message;
  }
}

TEST(Control, HeadersThatAreWrongAreNamed) {
  ControlError error;
  std::string good = encode_control(Start{}, &error);
  auto with = [&](size_t at, char byte) {
    std::string packet = good;
    packet[at] = byte;
    return packet;
  };
  EXPECT_FALSE(parse_control(with(0, 'X'), &error));
  EXPECT_EQ(error.code, ControlCode::kBadPacket);
  EXPECT_FALSE(parse_control(with(4, 9), &error));
  EXPECT_EQ(error.code, ControlCode::kBadVersion);
  EXPECT_NE(error.message.find("version 9"), std::string::npos) << error.message;
  EXPECT_FALSE(parse_control(with(6, 99), &error));
  EXPECT_EQ(error.code, ControlCode::kBadPacket);
  EXPECT_NE(error.message.find("type 99"), std::string::npos) << error.message;
  EXPECT_FALSE(parse_control(with(8, 1), &error));
  EXPECT_FALSE(parse_control(with(12, 1), &error));
  EXPECT_FALSE(parse_control(std::string(kMaxControlPacket + 1, 'D'), &error));
}

TEST(Control, CountsLargerThanThePacketAllocateNothing) {
  ControlError error;
  std::string packet = encode_control(RegisterMethods{{{"/a/b", 0, 0, 0, 0}}}, &error);
  uint32_t huge = 0xffffffff;
  std::memcpy(packet.data() + sizeof(ControlHeader), &huge, 4);
  EXPECT_FALSE(parse_control(packet, &error));
  EXPECT_NE(error.message.find("methods"), std::string::npos) << error.message;
  std::memcpy(packet.data() + sizeof(ControlHeader) + 4, &huge, 4);  // the path's length
  EXPECT_FALSE(parse_control(packet, &error));
}

TEST(Control, AnAbstractNameIsAnyBytes) {
  ControlError error;
  const std::string address("unix-abstract:a\0b", 17);
  const std::string packet = encode_control(Listen{address, 0}, &error);
  const auto message = parse_control(packet, &error);
  ASSERT_TRUE(message) << error.message;
  EXPECT_EQ(std::get<Listen>(*message).address, address);
}

TEST(Control, ValuesOutOfRangeAreNamed) {
  struct Case {
    ControlMessage message;
    const char* named;
  };
  Hello no_workers;
  Hello bad_cpu;
  bad_cpu.cpus = {-2};
  Hello nul;
  nul.cpus = {0};
  nul.name = std::string("a\0b", 3);
  Welcome wrong_size = make_welcome();
  wrong_size.rx_size += 4096;
  Welcome wrong_threads = make_welcome();
  wrong_threads.cpus.push_back(1);
  const Case cases[] = {
      {no_workers, "number of cpus"},
      {bad_cpu, "a cpu is -2"},
      {nul, "NUL"},
      {RegisterImage{0}, "image size"},
      {RegisterImage{kMaxImageBytes + 1}, "image size"},
      {RegisterDescriptors{0}, "descriptors' size"},
      {RegisterDescriptors{kMaxDescriptorBytes + 1}, "descriptors' size"},
      {RegisterMethods{{{"a/b", 0, 0, 0, 0}}}, "path"},
      {RegisterMethods{{{"*", 0, 0, 0, 0, kMethodRaw}}}, "path"},
      {RegisterMethods{{{"/a/b", kMaxImages, 0, 0, 0}}}, "image index"},
      {RegisterMethods{{{"/a/b", 0, 0, 0, 0, kAllMethodFlags + 1}}}, "method flags is 64, expected 0 to 63"},
      {Listen{"", 0}, "address is empty"},
      {Listen{"x", 1}, "flags is 1, expected 0 to 0"},
      {Listen{std::string("unix:a\0b", 8), 0}, "address has a NUL"},
      {Listen{std::string(kMaxControlString + 1, 'x'), 0}, "address has 4097"},
      {wrong_size, "rx_size"},
      {wrong_threads, "engine_threads"},
      {Listening{"x", 65536}, "port"},
      {Error{}, "error code"},
      {HostStatus{static_cast<HostStatus::State>(9), 0, 0}, "state"},
  };
  for (const Case& c : cases) {
    ControlError error;
    EXPECT_TRUE(encode_control(c.message, &error).empty());
    EXPECT_EQ(error.code, ControlCode::kBadValue);
    EXPECT_NE(error.message.find(c.named), std::string::npos) << error.message;
  }
}

TEST(Control, ManyMethodsTravelInSeveralPackets) {
  std::vector<RegisterMethods::Method> methods;
  for (uint32_t i = 0; i < 3000; ++i) {
    methods.push_back({"/package.Service" + std::string(i % 200, 'x') + "/Method" + std::to_string(i), 0, i, 0, i, 0});
  }
  auto packets = split_methods(methods);
  EXPECT_GT(packets.size(), 3u);
  size_t next = 0;
  for (const auto& packet : packets) {
    ControlError error;
    auto parsed = parse_control(encode_control(packet, &error), &error);
    ASSERT_TRUE(parsed) << error.message;
    for (const auto& method : std::get<RegisterMethods>(*parsed).methods) {
      ASSERT_EQ(method.path, methods[next].path);
      ASSERT_EQ(method.request, methods[next].request);
      ++next;
    }
  }
  EXPECT_EQ(next, methods.size());
  EXPECT_TRUE(split_methods({}).empty());
}

// Whatever is done to a good packet, it is either refused with a name, or it is a message that says the same again.
TEST(Control, DamagedPacketsAreRefusedOrMeanWhatTheySay) {
  const auto all = examples();
  EXPECT_TRUE(rc::check([&] {
    ControlError error;
    std::string packet = encode_control(all[*rc::gen::inRange<size_t>(0, all.size())], &error);
    const auto changes = *rc::gen::container<std::vector<std::pair<size_t, char>>>(
        rc::gen::pair(rc::gen::inRange<size_t>(0, packet.size()), rc::gen::arbitrary<char>()));
    for (auto [at, byte] : changes) packet[at] = byte;
    auto parsed = parse_control(packet, &error);
    if (parsed) {
      RC_ASSERT(encode_control(*parsed, &error) == packet);
    } else {
      RC_ASSERT(error.code != ControlCode::kNone);
      RC_ASSERT(!error.message.empty());
    }
  }));
}

TEST(Control, AnImageTravelsInASealedMemfd) {
  std::string image(300'000, '\0');
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<char>(i * 7);
  ControlError error;
  UniqueFd fd = make_image_fd(image, &error);
  ASSERT_TRUE(fd) << error.message;
  EXPECT_EQ(::pwrite(fd.get(), "x", 1, 0), -1);
  auto read = read_image_fd(fd.get(), image.size(), &error);
  ASSERT_TRUE(read) << error.message;
  EXPECT_EQ(*read, image);
  EXPECT_FALSE(read_image_fd(fd.get(), image.size() + 1, &error));
  EXPECT_NE(error.message.find("expected 300001"), std::string::npos) << error.message;
  EXPECT_FALSE(read_image_fd(fd.get(), 0, &error));
  EXPECT_FALSE(read_image_fd(fd.get(), UINT64_MAX, &error));
}

TEST(Control, ADescriptorThatMayChangeOrBlockIsNoImage) {
  ControlError error;
  UniqueFd loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::pwrite(loose.get(), "1234", 4, 0), 4);
  EXPECT_FALSE(read_image_fd(loose.get(), 4, &error));
  EXPECT_EQ(error.code, ControlCode::kBadDescriptor);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reading(ends[0]), writing(ends[1]);
  EXPECT_FALSE(read_image_fd(reading.get(), 4, &error));
  EXPECT_EQ(error.code, ControlCode::kBadDescriptor);
  EXPECT_FALSE(read_image_fd(-1, 4, &error));
}

}  // namespace
}  // namespace drover
