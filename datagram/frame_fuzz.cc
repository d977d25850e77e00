// Fuzz target: any bytes as a frame and as a datagram. What passes the checks must build to the same bytes again, and
// go through a reliable connection without harm; what is refused has a name. The first byte chooses the rules; bit 7
// has the standard heads of the input replaced by good ones, since no fuzzer finds two checksums. Seeds:
// tests/corpus/frame_fuzz.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "datagram/frame_testing.h"
#include "datagram/reliable.h"

namespace {

using namespace drover;

void require(bool holds) {
  if (!holds) std::abort();
}

void receive(const CheckedFrame& frame) {
  static const ReliableState kNearWrap{0xfffffffe, 0xfffffff0};
  ReliableConnection connection({.window = 4}, kNearWrap);
  std::array lines{testing::make_line(0), testing::make_line(1), testing::make_line(2)};
  connection.send(lines);
  uint32_t expected = connection.state().expected;
  for (size_t room : {1, 100}) {
    Received received = connection.receive(frame.fields, frame.lines.size(), room);
    require(received.first + received.count <= frame.lines.size() && received.count <= room);
    expected += static_cast<uint32_t>(received.count);
    require(connection.state().expected == expected && connection.in_flight() <= lines.size());
  }
  while (auto again = connection.take_resend()) require(again->fields.sequence - kNearWrap.next < lines.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  FrameRules rules{.reliable = (data[0] & 1) != 0, .max_lines = (data[0] & 2) != 0 ? 1 : kMaxFrameLines};
  const std::byte* begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(begin + 1, begin + size);
  CheckedFrame checked;
  FrameRefusal refusal = check_payload(bytes, rules, &checked);
  require(std::string_view(frame_refusal_name(refusal)) != "unknown");
  if (refusal == FrameRefusal::kOk) {
    if (rules.reliable) receive(checked);
    // Fields that mean nothing in this kind are not sent.
    if (checked.fields.kind != FrameKind::kData) checked.fields.sequence = 0;
    CheckedFrame again;
    require(check_payload(build_payload(checked.fields, checked.lines), rules, &again) == FrameRefusal::kOk);
    if (rules.reliable) require(again.fields == checked.fields);
    require(again.lines.size() == checked.lines.size());
  }
  if ((data[0] & 0x80) != 0 && bytes.size() >= kFrameHeadSize && checked.lines.size() <= rules.max_lines) {
    std::vector<std::byte> good = build_frame(testing::kClientEnd, testing::kServerEnd, checked.fields, checked.lines);
    std::memcpy(bytes.data(), good.data(), kFramePayloadAt);
  }
  CheckedFrame whole;
  refusal = check_frame(bytes, testing::kServerEnd, rules, &whole);
  require(std::string_view(frame_refusal_name(refusal)) != "unknown");
  if (refusal == FrameRefusal::kOk && rules.reliable) receive(whole);
  return 0;
}
