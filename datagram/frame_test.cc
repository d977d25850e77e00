#include "datagram/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <string>

#include "datagram/frame_testing.h"

namespace drover {
namespace {

using testing::kClientEnd;
using testing::kServerEnd;
using testing::make_line;
using testing::same_line;

using Bytes = std::vector<std::byte>;
constexpr FrameRules kUnreliable{.reliable = false}, kReliable{.reliable = true};
const FrameFields kData{
    .kind = FrameKind::kData, .key = 0x01020304, .sequence = 5, .ack = 6, .connection = 7, .window = 8};

Bytes from_hex(std::string_view text) {
  Bytes bytes;
  std::string digits;
  for (char c : text) {
    if (c == ' ') continue;
    digits += c;
    if (digits.size() == 2) {
      bytes.push_back(static_cast<std::byte>(std::stoi(digits, nullptr, 16)));
      digits.clear();
    }
  }
  return bytes;
}
void put16(Bytes& frame, size_t at, uint32_t value) {
  frame[at] = static_cast<std::byte>(value >> 8);
  frame[at + 1] = static_cast<std::byte>(value);
}
uint32_t get16(const Bytes& frame, size_t at) {
  return std::to_integer<uint32_t>(frame[at]) << 8 | std::to_integer<uint32_t>(frame[at + 1]);
}
// Makes both checksums right again, by an own calculation (RFC 1071).
void seal(Bytes& frame) {
  auto fold = [](uint32_t sum) {
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
  };
  put16(frame, 24, 0);
  uint32_t sum = 0;
  for (size_t at = 14; at < 34; at += 2) sum += get16(frame, at);
  put16(frame, 24, ~fold(sum));
  put16(frame, 40, 0);
  uint32_t length = get16(frame, 38);
  sum = 17 + length;
  for (size_t at = 26; at < 34; at += 2) sum += get16(frame, at);
  for (size_t at = 34; at < std::min<size_t>(34 + length, frame.size() - 1); at += 2) sum += get16(frame, at);
  put16(frame, 40, ~fold(sum));
}
FrameRefusal check(const Bytes& frame, const FrameRules& rules = kReliable, const NetworkEnd& own = kServerEnd) {
  CheckedFrame checked;
  return check_frame(frame, own, rules, &checked);
}
Bytes good_frame() {
  std::array lines{make_line(9)};
  return build_frame(kClientEnd, kServerEnd, kData, lines);
}

TEST(Frame, AnAckHasTheseBytes) {
  FrameFields fields{.kind = FrameKind::kAck,
                     .key = 0xa1b2c3d4,
                     .sequence = 99,
                     .ack = 0x11121314,
                     .connection = 0x0102,
                     .window = 16};
  Bytes expected = from_hex(
      "02 00 00 00 00 02  02 00 00 00 00 01  08 00"
      "45 00 00 32 00 00 40 00 40 11 26 b9 0a 00 00 01 0a 00 00 02"
      "0f a0 13 88 00 1e 00 00"
      "44 72 03 00 00 00 d4 c3 b2 a1 00 00 00 00 14 13 12 11 02 01 10 00");
  seal(expected);
  EXPECT_EQ(get16(expected, 24), 0x26b9u);
  EXPECT_EQ(build_frame(kClientEnd, kServerEnd, fields, {}), expected);
}

TEST(Frame, DataIsHeadAndLines) {
  std::array lines{make_line(9, 1), make_line(10, 2)};
  Bytes frame = build_frame(kClientEnd, kServerEnd, kData, lines);
  ASSERT_EQ(frame.size(), 64u + 128u);
  CheckedFrame checked;
  ASSERT_EQ(check_frame(frame, kServerEnd, kReliable, &checked), FrameRefusal::kOk);
  EXPECT_EQ(checked.fields, kData);
  EXPECT_EQ(checked.source, kClientEnd);
  ASSERT_EQ(checked.lines.size(), 2u);
  for (LineSlot& line : lines) line.connection = 7;  // the number at the receiver
  EXPECT_TRUE(same_line(checked.lines[0], lines[0]) && same_line(checked.lines[1], lines[1]));
}

TEST(Frame, RandomFramesComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check([] {
    auto word = [] { return *rc::gen::arbitrary<uint32_t>(); };
    auto half = [] { return *rc::gen::arbitrary<uint16_t>(); };
    bool reliable = *rc::gen::arbitrary<bool>();
    FrameFields fields{
        .kind = reliable ? *rc::gen::element(FrameKind::kData, FrameKind::kAck, FrameKind::kGap) : FrameKind::kLines,
        .key = word(),
        .connection = half()};
    if (reliable) fields.ack = word(), fields.window = half();
    if (fields.kind == FrameKind::kData) fields.sequence = word();
    NetworkEnd from{{1, 2, 3, 4, 5, 6}, word(), half()}, to{{6, 5, 4, 3, 2, 1}, word(), half()};
    std::vector<LineSlot> lines;
    size_t count = carries_lines(fields.kind) ? *rc::gen::inRange<size_t>(1, kMaxFrameLines + 1) : 0;
    for (size_t i = 0; i < count; ++i) lines.push_back(make_line(word(), fields.connection));
    Bytes frame = build_frame(from, to, fields, lines);
    frame.resize(frame.size() + (count == kMaxFrameLines ? 0 : *rc::gen::inRange(0, 10)));  // padding
    CheckedFrame checked;
    RC_ASSERT(check_frame(frame, to, {.reliable = reliable}, &checked) == FrameRefusal::kOk);
    RC_ASSERT(checked.fields == fields && checked.source == from && checked.lines.size() == count);
    for (size_t i = 0; i < count; ++i) RC_ASSERT(same_line(checked.lines[i], lines[i]));
  }));
}

TEST(Frame, ADatagramIsCheckedWithoutTheStandardHeads) {
  std::array lines{make_line(9)};
  Bytes payload = build_payload(kData, lines);
  CheckedFrame checked;
  EXPECT_EQ(check_payload(payload, kReliable, &checked), FrameRefusal::kOk);
  EXPECT_EQ(checked.fields, kData);
  payload.pop_back();
  EXPECT_EQ(check_payload(payload, kReliable, &checked), FrameRefusal::kSize);
}

struct Refused {
  FrameRefusal reason;
  std::function<void(Bytes&)> change;
  bool sealed = true;  // the checksums are right all the same
};
auto set16(size_t at, uint32_t value) {
  return [=](Bytes& frame) { put16(frame, at, value); };
}
auto set8(size_t at, int value) {
  return [=](Bytes& frame) { frame[at] = static_cast<std::byte>(value); };
}

TEST(Frame, EachFaultHasItsReason) {
  const std::vector<Refused> cases = {
      {FrameRefusal::kSize, [](Bytes& frame) { frame.resize(63); }, false},
      {FrameRefusal::kSize, [](Bytes& frame) { frame.resize(2000); }},
      {FrameRefusal::kNotOurMac, set8(5, 3)},
      {FrameRefusal::kEtherType, set16(12, 0x0806)},
      {FrameRefusal::kIpHead, set8(14, 0x46)},
      {FrameRefusal::kIpHead, set8(14, 0x65)},
      {FrameRefusal::kIpFragment, set16(20, 0x2000)},
      {FrameRefusal::kIpFragment, set16(20, 0x0001)},
      {FrameRefusal::kIpFragment, set16(20, 0x8000)},
      {FrameRefusal::kIpLength, set16(16, 115)},
      {FrameRefusal::kIpLength, set16(16, 113)},
      {FrameRefusal::kIpLength, set16(16, 49)},
      {FrameRefusal::kIpLength, [](Bytes& frame) { frame.resize(120); }},
      {FrameRefusal::kIpChecksum, set8(22, 63), false},
      {FrameRefusal::kIpProtocol, set8(23, 6)},
      {FrameRefusal::kNotOurAddress, set8(33, 3)},
      {FrameRefusal::kNotOurPort, set16(36, 5001)},
      {FrameRefusal::kUdpLength, set16(38, 93)},
      {FrameRefusal::kUdpChecksum, set8(100, 1), false},
      {FrameRefusal::kMagic, set8(42, 0x45)},
      {FrameRefusal::kMagic, set8(46, 1)},
      {FrameRefusal::kKind, set8(44, 0)},
      {FrameRefusal::kKind, set8(44, 1)},
      {FrameRefusal::kKind, set8(44, 5)},
      {FrameRefusal::kLineCount, set8(45, 0)},
      {FrameRefusal::kLineCount, set8(45, 2)},
      {FrameRefusal::kLineCount, set8(44, 3)},
      {FrameRefusal::kBadLine, set8(64, 1)},     // a ring's sequence
      {FrameRefusal::kBadLine, set8(68, 15)},    // type
      {FrameRefusal::kBadLine, set8(69, 0x0a)},  // an unknown flag
      {FrameRefusal::kBadLine, set8(76, 8)},     // another connection
      {FrameRefusal::kBadLine, set8(79, 49)},    // length
  };
  ASSERT_EQ(check(good_frame()), FrameRefusal::kOk);
  for (size_t i = 0; i < cases.size(); ++i) {
    Bytes frame = good_frame();
    cases[i].change(frame);
    if (cases[i].sealed) seal(frame);
    EXPECT_STREQ(frame_refusal_name(check(frame)), frame_refusal_name(cases[i].reason)) << "case " << i;
  }
}

TEST(Frame, AFrameWithSeveralFaultsHasTheFirstReason) {
  Bytes frame = good_frame();
  set8(5, 3)(frame);
  set16(12, 0x0806)(frame);
  set8(100, 1)(frame);
  EXPECT_EQ(check(frame), FrameRefusal::kNotOurMac);
  frame = good_frame();
  set8(79, 49)(frame);
  set8(45, 2)(frame);
  seal(frame);
  EXPECT_EQ(check(frame), FrameRefusal::kLineCount);
}

TEST(Frame, NoUdpChecksumIsFine) {
  Bytes frame = good_frame();
  put16(frame, 40, 0);
  EXPECT_EQ(check(frame), FrameRefusal::kOk);
}

TEST(Frame, TheOtherTransportsKindsAreRefused) {
  std::array lines{make_line(9)};
  FrameFields fields{.kind = FrameKind::kLines, .connection = 7};
  Bytes frame = build_frame(kClientEnd, kServerEnd, fields, lines);
  EXPECT_EQ(check(frame, kUnreliable), FrameRefusal::kOk);
  EXPECT_EQ(check(frame, kReliable), FrameRefusal::kKind);
  EXPECT_EQ(check(good_frame(), kUnreliable), FrameRefusal::kKind);
}

TEST(Frame, MoreLinesThanThisEndTakesAreRefused) {
  std::array lines{make_line(9), make_line(10)};
  Bytes frame = build_frame(kClientEnd, kServerEnd, kData, lines);
  EXPECT_EQ(check(frame, {.reliable = true, .max_lines = 2}), FrameRefusal::kOk);
  EXPECT_EQ(check(frame, {.reliable = true, .max_lines = 1}), FrameRefusal::kSize);
}

TEST(Frame, AnyBitThatFlipsIsNoticed) {
  const Bytes good = good_frame();
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes frame = good;
    frame[bit / 8] ^= std::byte{1} << (bit % 8);
    // The sender's MAC is under no checksum of ours; nothing depends on it.
    bool in_source_mac = bit / 8 >= 6 && bit / 8 < 12;
    EXPECT_EQ(check(frame) == FrameRefusal::kOk, in_source_mac) << "bit " << bit;
  }
}

TEST(LineMayTravel, OnlyAsTheFormatHasIt) {
  LineSlot line = make_line(1);
  EXPECT_TRUE(line_may_travel(line));
  line.index = 255;
  EXPECT_TRUE(line_may_travel(line));
  line.flags = 0;  // the 256th line, and more to come
  EXPECT_FALSE(line_may_travel(line));
  line.index = 254;
  EXPECT_TRUE(line_may_travel(line));
  line.length = 47;  // not full, and not the last
  EXPECT_FALSE(line_may_travel(line));
  line.flags = kLineLast | kLineFailed | kLineResponse;
  EXPECT_FALSE(line_may_travel(line));
  line.index = line.length = 0;
  EXPECT_TRUE(line_may_travel(line));
  line.flags = kLineLast | kLineFailed;  // a request cannot have failed
  EXPECT_FALSE(line_may_travel(line));
}

}  // namespace
}  // namespace drover
