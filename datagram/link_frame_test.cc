#include "datagram/link_frame.h"

#include <gtest/gtest.h>

#include <vector>

#include "datagram/frame.h"
#include "datagram/siphash.h"

namespace drover {
namespace {

std::vector<std::byte> datagram(const LinkFields& fields, size_t slots) {
  std::vector<std::byte> bytes(kLinkHeadSize + slots * sizeof(LineSlot));
  write_link_head(fields, bytes.data());
  return bytes;
}
template <typename Record>
std::vector<std::byte> with_record(LinkFields fields, const Record& record) {
  fields.lines = 1;
  std::vector<std::byte> bytes = datagram(fields, 1);
  std::memcpy(bytes.data() + kLinkHeadSize, &record, sizeof record);
  return bytes;
}
LinkRefusal check(std::span<const std::byte> bytes) {
  LinkDatagram checked;
  return check_link_datagram(bytes, &checked);
}
LinkRecord hello() {
  LinkRecord record{};
  record.version = kLinkVersion;
  record.nonce = 5;
  return record;
}

TEST(LinkFrame, HasTheBytesOfANicsFrameHead) {
  LinkFields fields{LinkKind::kSlots, 1, 0x0201, 0x06050403, 0x0a090807, 0x0e0d0c0b, 0x100f, 0x1211};
  std::vector<std::byte> bytes = datagram(fields, 1);
  const uint8_t golden[] = {'D', 'r', 20, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
  static_assert(sizeof golden == kLinkHeadSize && kLinkHeadSize == kFrameHeadSize - kFramePayloadAt);
  EXPECT_EQ(std::memcmp(bytes.data(), golden, sizeof golden), 0);
  LinkDatagram checked;
  ASSERT_EQ(check_link_datagram(bytes, &checked), LinkRefusal::kOk);
  EXPECT_EQ(checked.fields, fields);
  EXPECT_EQ(checked.slots, bytes.data() + kLinkHeadSize);
}

// The two kinds of ends do not take each other's datagrams for their own.
TEST(LinkFrame, ANicRefusesALinksKindsAndALinkRefusesANics) {
  CheckedFrame frame;
  EXPECT_EQ(check_payload(datagram({.kind = LinkKind::kSlots, .lines = 1}, 1), {.reliable = true}, &frame),
            FrameRefusal::kKind);
  EXPECT_EQ(check(build_payload({.kind = FrameKind::kAck}, {})), LinkRefusal::kKind);
}

TEST(LinkFrame, EachFaultHasItsReason) {
  EXPECT_EQ(check({}), LinkRefusal::kSize);
  EXPECT_EQ(check(std::vector<std::byte>(21)), LinkRefusal::kSize);
  EXPECT_EQ(check(datagram({.kind = LinkKind::kSlots, .lines = 23}, 23)), LinkRefusal::kSize);
  std::vector<std::byte> bytes = datagram({.kind = LinkKind::kAck}, 0);
  EXPECT_EQ(check(bytes), LinkRefusal::kOk);
  bytes[0] = std::byte{0};
  EXPECT_EQ(check(bytes), LinkRefusal::kMagic);
  EXPECT_EQ(check(datagram({.kind = LinkKind{15}}, 0)), LinkRefusal::kKind);
  EXPECT_EQ(check(datagram({.kind = LinkKind{25}}, 0)), LinkRefusal::kKind);
  EXPECT_EQ(check(datagram({.kind = LinkKind::kSlots}, 0)), LinkRefusal::kSlotCount);
  EXPECT_EQ(check(datagram({.kind = LinkKind::kSlots, .lines = 2}, 1)), LinkRefusal::kSlotCount);
  EXPECT_EQ(check(datagram({.kind = LinkKind::kAck, .lines = 2}, 2)), LinkRefusal::kSlotCount);
  EXPECT_EQ(check(datagram({.kind = LinkKind::kEnd, .lines = 1}, 1)), LinkRefusal::kSlotCount);
  EXPECT_EQ(check(datagram({.kind = LinkKind::kHello}, 0)), LinkRefusal::kSlotCount);
}

TEST(LinkFrame, ARecordThatNoEngineMakesIsRefused) {
  const LinkFields fields{.kind = LinkKind::kHello};
  EXPECT_EQ(check(with_record(fields, hello())), LinkRefusal::kOk);
  auto wrong = [&](auto change) {
    LinkRecord record = hello();
    change(record);
    return check(with_record(fields, record));
  };
  EXPECT_EQ(wrong([](LinkRecord& r) { r.version = 2; }), LinkRefusal::kVersion);
  EXPECT_EQ(wrong([](LinkRecord& r) { r.nonce = 0; }), LinkRefusal::kBadRecord);
  EXPECT_EQ(wrong([](LinkRecord& r) { r.cookie = 1; }), LinkRefusal::kBadRecord);
  EXPECT_EQ(wrong([](LinkRecord& r) { r.secret = 1; }), LinkRefusal::kBadRecord);
  EXPECT_EQ(wrong([](LinkRecord& r) { r.reserved[31] = 1; }), LinkRefusal::kBadRecord);
  LinkRecord connect = hello();
  EXPECT_EQ(check(with_record({.kind = LinkKind::kConnect}, connect)), LinkRefusal::kBadRecord);  // takes no slots
  connect.max_lines = kMaxFrameLines;
  connect.window = 1;
  EXPECT_EQ(check(with_record({.kind = LinkKind::kConnect}, connect)), LinkRefusal::kOk);
  connect.max_lines = kMaxFrameLines + 1;
  EXPECT_EQ(check(with_record({.kind = LinkKind::kConnect}, connect)), LinkRefusal::kBadRecord);
}

TEST(LinkFrame, RangesAscendAndAreApart) {
  const LinkFields fields{.kind = LinkKind::kAck};
  LinkRanges ranges{.count = 2, .reserved = 0, .ranges = {1, 2, 3, 9}};
  EXPECT_EQ(check(with_record(fields, ranges)), LinkRefusal::kOk);
  auto wrong = [&](auto change) {
    LinkRanges changed = ranges;
    change(changed);
    return check(with_record(fields, changed));
  };
  EXPECT_EQ(wrong([](LinkRanges& r) { r.count = 0; }), LinkRefusal::kBadRecord);
  EXPECT_EQ(wrong([](LinkRanges& r) { r.count = 16; }), LinkRefusal::kBadRecord);
  EXPECT_EQ(wrong([](LinkRanges& r) { r.ranges[0] = 0; }), LinkRefusal::kBadRecord);
  EXPECT_EQ(wrong([](LinkRanges& r) { r.ranges[2] = 2; }), LinkRefusal::kBadRecord);
  EXPECT_EQ(wrong([](LinkRanges& r) { r.ranges[4] = 20; }), LinkRefusal::kBadRecord);
  EXPECT_EQ(wrong([](LinkRanges& r) { r.reserved = 1; }), LinkRefusal::kBadRecord);
}

// Vectors of the paper's appendix, for whole words: key 00 01 .. 0f, bytes 00 01 02 ...
TEST(SipHash, GivesThePublishedValues) {
  const SipKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ(siphash(key, {}), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(siphash(key, {0x0706050403020100}), 0x93f5f5799a932462u);
}

}  // namespace
}  // namespace drover
