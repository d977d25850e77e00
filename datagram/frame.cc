#include "datagram/frame.h"

#include <algorithm>
#include <cstring>

namespace drover {
namespace {

constexpr size_t kIpAt = offsetof(FrameHead, ipv4);
constexpr size_t kUdpAt = offsetof(FrameHead, udp);
constexpr size_t kUdpBytes = sizeof(FrameHead::udp);
constexpr size_t kPayloadHead = kFrameHeadSize - kFramePayloadAt;
constexpr uint8_t kProtocolUdp = 17;
constexpr uint16_t kEtherTypeIpv4 = 0x0800;
constexpr uint8_t kTimeToLive = 64;
constexpr uint16_t kDoNotFragment = 0x4000;

// Frames are read and written through byte pointers: the words of the standard headers lie anywhere.
uint16_t get16(const std::byte* at) { return static_cast<uint16_t>(uint16_t(at[0]) << 8 | uint16_t(at[1])); }
uint32_t get32(const std::byte* at) { return uint32_t(get16(at)) << 16 | get16(at + 2); }
void put16(std::byte* at, uint32_t value) {
  at[0] = static_cast<std::byte>(value >> 8);
  at[1] = static_cast<std::byte>(value);
}
void put32(std::byte* at, uint32_t value) {
  put16(at, value >> 16);
  put16(at + 2, value);
}

// The sum of a UDP datagram with the words of the IPv4 head that it covers.
uint16_t udp_sum(const std::byte* frame, std::span<const std::byte> datagram) {
  uint16_t sum = internet_sum({frame + kIpAt + 12, 8});
  std::byte rest[4] = {};
  put16(rest, kProtocolUdp);
  put16(rest + 2, static_cast<uint32_t>(datagram.size()));
  return internet_sum(datagram, internet_sum(rest, sum));
}

size_t most_lines(const FrameRules& rules) { return std::min<size_t>(rules.max_lines, kMaxFrameLines); }

// Whether a payload of these bytes is a head and whole lines, no more than this end takes.
bool is_payload_size(size_t bytes, const FrameRules& rules) {
  if (bytes < kPayloadHead) return false;
  size_t behind = bytes - kPayloadHead;
  return behind % sizeof(LineSlot) == 0 && behind / sizeof(LineSlot) <= most_lines(rules);
}

FrameRefusal check_standard_heads(std::span<const std::byte> frame, const NetworkEnd& own, const FrameRules& rules,
                                  NetworkEnd* source, std::span<const std::byte>* payload) {
  if (frame.size() < kFrameHeadSize || frame.size() > kFrameHeadSize + most_lines(rules) * sizeof(LineSlot)) {
    return FrameRefusal::kSize;
  }
  const std::byte* ip = frame.data() + kIpAt;
  const std::byte* udp = frame.data() + kUdpAt;
  if (std::memcmp(frame.data(), own.mac.data(), 6) != 0) return FrameRefusal::kNotOurMac;
  if (get16(frame.data() + 12) != kEtherTypeIpv4) return FrameRefusal::kEtherType;
  if (ip[0] != std::byte{0x45}) return FrameRefusal::kIpHead;
  if ((get16(ip + 6) & 0xbfff) != 0) return FrameRefusal::kIpFragment;
  size_t length = get16(ip + 2);
  constexpr size_t kHeads = kFramePayloadAt - kIpAt;
  if (length < kHeads || length > frame.size() - kIpAt || !is_payload_size(length - kHeads, rules)) {
    return FrameRefusal::kIpLength;
  }
  if (internet_sum({ip, 20}) != 0xffff) return FrameRefusal::kIpChecksum;
  if (ip[9] != std::byte{kProtocolUdp}) return FrameRefusal::kIpProtocol;
  if (get32(ip + 16) != own.address) return FrameRefusal::kNotOurAddress;
  if (get16(udp + 2) != own.port) return FrameRefusal::kNotOurPort;
  if (get16(udp + 4) != length - 20) return FrameRefusal::kUdpLength;
  std::span<const std::byte> datagram = frame.subspan(kUdpAt, length - 20);
  if (get16(udp + 6) != 0 && udp_sum(frame.data(), datagram) != 0xffff) return FrameRefusal::kUdpChecksum;
  std::memcpy(source->mac.data(), frame.data() + 6, 6);
  source->address = get32(ip + 12);
  source->port = get16(udp);
  *payload = datagram.subspan(kUdpBytes);
  return FrameRefusal::kOk;
}

}  // namespace

uint16_t internet_sum(std::span<const std::byte> bytes, uint16_t sum) {
  uint64_t total = sum;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) total += get16(&bytes[i]);
  if (bytes.size() % 2 != 0) total += uint64_t(bytes.back()) << 8;
  while (total >> 16 != 0) total = (total & 0xffff) + (total >> 16);
  return static_cast<uint16_t>(total);
}

bool line_may_travel(const LineSlot& line) {
  bool last = (line.flags & kLineLast) != 0, failed = (line.flags & kLineFailed) != 0;
  if (line.type != kLineType || (line.flags & ~kLinesKnown) != 0 || line.length > kLineArguments) return false;
  if (!last && (line.length != kLineArguments || line.index == kMaxMessageLines - 1)) return false;
  return !failed || ((line.flags & kLineResponse) != 0 && last && line.index == 0 && line.length == 0);
}

std::vector<std::byte> build_payload(const FrameFields& fields, std::span<const LineSlot> lines) {
  FrameHead head{};
  head.magic = kFrameMagic;
  head.kind = static_cast<uint8_t>(fields.kind);
  head.lines = static_cast<uint8_t>(lines.size());
  head.key = fields.key;
  head.connection = fields.connection;
  if (fields.kind == FrameKind::kData) head.sequence = fields.sequence;
  if (fields.kind != FrameKind::kLines) {
    head.ack = fields.ack;
    head.window = fields.window;
  }
  std::vector<std::byte> payload(kPayloadHead + lines.size() * sizeof(LineSlot));
  std::memcpy(payload.data(), &head.magic, kPayloadHead);
  std::byte* to = payload.data() + kPayloadHead;
  for (LineSlot line : lines) {
    line.sequence = 0;
    line.connection = fields.connection;
    std::memcpy(to, &line, sizeof line);
    to += sizeof line;
  }
  return payload;
}

std::vector<std::byte> build_frame(const NetworkEnd& from, const NetworkEnd& to, const FrameFields& fields,
                                   std::span<const LineSlot> lines) {
  std::vector<std::byte> payload = build_payload(fields, lines);
  std::vector<std::byte> frame(kFramePayloadAt);
  frame.insert(frame.end(), payload.begin(), payload.end());
  std::byte* ip = &frame[kIpAt];
  std::byte* udp = &frame[kUdpAt];
  std::memcpy(&frame[0], to.mac.data(), 6);
  std::memcpy(&frame[6], from.mac.data(), 6);
  put16(&frame[12], kEtherTypeIpv4);
  ip[0] = std::byte{0x45};
  put16(ip + 2, static_cast<uint32_t>(frame.size() - kIpAt));
  put16(ip + 6, kDoNotFragment);
  ip[8] = std::byte{kTimeToLive};
  ip[9] = std::byte{kProtocolUdp};
  put32(ip + 12, from.address);
  put32(ip + 16, to.address);
  put16(ip + 10, ~internet_sum({ip, 20}));
  put16(udp, from.port);
  put16(udp + 2, to.port);
  put16(udp + 4, static_cast<uint32_t>(frame.size() - kUdpAt));
  uint16_t check = static_cast<uint16_t>(~udp_sum(frame.data(), {udp, frame.size() - kUdpAt}));
  put16(udp + 6, check == 0 ? 0xffff : check);  // zero would mean "no checksum" (RFC 768)
  return frame;
}

FrameRefusal check_payload(std::span<const std::byte> payload, const FrameRules& rules, CheckedFrame* checked) {
  if (!is_payload_size(payload.size(), rules)) return FrameRefusal::kSize;
  FrameHead head{};
  std::memcpy(&head.magic, payload.data(), kPayloadHead);
  if (head.magic != kFrameMagic || head.reserved != 0) return FrameRefusal::kMagic;
  FrameKind kind{head.kind};
  bool known = rules.reliable ? kind == FrameKind::kData || kind == FrameKind::kAck || kind == FrameKind::kGap
                              : kind == FrameKind::kLines;
  if (!known) return FrameRefusal::kKind;
  size_t lines = head.lines;
  if (payload.size() != kPayloadHead + lines * sizeof(LineSlot)) return FrameRefusal::kLineCount;
  if (carries_lines(kind) != (lines != 0)) return FrameRefusal::kLineCount;
  checked->lines.resize(lines);
  if (lines != 0) std::memcpy(checked->lines.data(), payload.data() + kPayloadHead, lines * sizeof(LineSlot));
  for (const LineSlot& line : checked->lines) {
    if (!line_may_travel(line) || line.sequence != 0 || line.connection != head.connection) {
      return FrameRefusal::kBadLine;
    }
  }
  checked->fields = {kind, head.key, head.sequence, head.ack, head.connection, head.window};
  return FrameRefusal::kOk;
}

FrameRefusal check_frame(std::span<const std::byte> frame, const NetworkEnd& own, const FrameRules& rules,
                         CheckedFrame* checked) {
  std::span<const std::byte> payload;
  FrameRefusal refusal = check_standard_heads(frame, own, rules, &checked->source, &payload);
  return refusal == FrameRefusal::kOk ? check_payload(payload, rules, checked) : refusal;
}

}  // namespace drover
