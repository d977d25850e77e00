// HTTP/2's numbers and the frame header, as RFC 9113 has them. Nothing here keeps state.
//
//   | length u24 | type u8 | flags u8 | stream u31 | payload of `length` bytes ... |      all big-endian
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace drover::engine::http2 {

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline constexpr size_t kFrameHeaderBytes = 9;
inline constexpr uint32_t kDefaultWindow = 65'535;
inline constexpr uint32_t kMaxWindow = 0x7fffffff;
inline constexpr uint32_t kDefaultFrameSize = 16'384;  // of both directions, until SETTINGS_MAX_FRAME_SIZE says more
inline constexpr uint32_t kLargestFrameSize = 0xffffff;
inline constexpr uint32_t kMaxStreamId = 0x7fffffff;

// RFC 9113, 6.
enum class FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kRstStream = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoaway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};

inline constexpr uint8_t kFlagEndStream = 0x1;
inline constexpr uint8_t kFlagAck = 0x1;
inline constexpr uint8_t kFlagEndHeaders = 0x4;
inline constexpr uint8_t kFlagPadded = 0x8;
inline constexpr uint8_t kFlagPriority = 0x20;

// RFC 9113, 7.
enum class ErrorCode : uint32_t {
  kNoError = 0,
  kProtocolError = 1,
  kInternalError = 2,
  kFlowControlError = 3,
  kSettingsTimeout = 4,
  kStreamClosed = 5,
  kFrameSizeError = 6,
  kRefusedStream = 7,
  kCancel = 8,
  kCompressionError = 9,
  kConnectError = 10,
  kEnhanceYourCalm = 11,
  kInadequateSecurity = 12,
  kHttp11Required = 13,
};

// RFC 9113, 6.5.2; the last one RFC 9218, 2.1.
enum class Setting : uint16_t {
  kHeaderTableSize = 1,
  kEnablePush = 2,
  kMaxConcurrentStreams = 3,
  kInitialWindowSize = 4,
  kMaxFrameSize = 5,
  kMaxHeaderListSize = 6,
  kNoRfc7540Priorities = 9,
};

inline constexpr size_t kSettingBytes = 6;
inline constexpr size_t kPingBytes = 8;
inline constexpr size_t kPriorityBytes = 5;
inline constexpr size_t kGoawayBytes = 8;  // at least

inline uint32_t get_u16(const char* p) {
  return static_cast<uint32_t>(static_cast<uint8_t>(p[0])) << 8 | static_cast<uint8_t>(p[1]);
}
inline uint32_t get_u24(const char* p) { return get_u16(p) << 8 | static_cast<uint8_t>(p[2]); }
inline uint32_t get_u32(const char* p) { return get_u16(p) << 16 | get_u16(p + 2); }
inline uint32_t get_u31(const char* p) { return get_u32(p) & 0x7fffffff; }

inline char* put_u16(char* p, uint32_t value) {
  p[0] = static_cast<char>(value >> 8);
  p[1] = static_cast<char>(value);
  return p + 2;
}
inline char* put_u32(char* p, uint32_t value) { return put_u16(put_u16(p, value >> 16), value & 0xffff); }

struct FrameHeader {
  uint32_t length = 0;
  FrameType type = FrameType::kData;  // or another value: an extension frame
  uint8_t flags = 0;
  uint32_t stream = 0;

  static FrameHeader read(const char* p) {
    return {get_u24(p), static_cast<FrameType>(p[3]), static_cast<uint8_t>(p[4]), get_u31(p + 5)};
  }
  char* write(char* p) const {
    p[0] = static_cast<char>(length >> 16);
    put_u16(p + 1, length & 0xffff);
    p[3] = static_cast<char>(type);
    p[4] = static_cast<char>(flags);
    return put_u32(p + 5, stream);
  }
  bool has(uint8_t flag) const { return (flags & flag) != 0; }
};

// "PROTOCOL_ERROR" and so on; "error 17" for a code that RFC 9113 does not define.
std::string error_name(ErrorCode code);

}  // namespace drover::engine::http2
