// The numbers of gRPC's binary log (proto/grpc/binarylog/v1/binarylog.proto), and protobuf's wire format as far as
// entries need it, for a writer without protobuf.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drover::binlog {

enum class Event : uint8_t {
  kClientHeader = 1,
  kServerHeader = 2,
  kClientMessage = 3,
  kServerMessage = 4,
  kClientHalfClose = 5,
  kServerTrailer = 6,
  kCancel = 7,
};

inline constexpr uint32_t kLoggerServer = 2;

enum class AddressType : uint8_t { kUnknown = 0, kIpv4 = 1, kIpv6 = 2, kUnix = 3 };

// Field numbers, by message.
namespace entry {
inline constexpr uint32_t kTimestamp = 1, kCallId = 2, kSequenceId = 3, kType = 4, kLogger = 5, kClientHeader = 6,
                          kServerHeader = 7, kMessage = 8, kTrailer = 9, kPayloadTruncated = 10, kPeer = 11;
}
namespace client_header {
inline constexpr uint32_t kMetadata = 1, kMethodName = 2, kAuthority = 3, kTimeout = 4;
}
namespace server_header {
inline constexpr uint32_t kMetadata = 1;
}
namespace trailer {
inline constexpr uint32_t kMetadata = 1, kStatusCode = 2, kStatusMessage = 3, kStatusDetails = 4;
}
namespace message {
inline constexpr uint32_t kLength = 1, kData = 2;
}
namespace metadata {
inline constexpr uint32_t kEntry = 1;
}
namespace metadata_entry {
inline constexpr uint32_t kKey = 1, kValue = 2;
}
namespace address {
inline constexpr uint32_t kType = 1, kAddress = 2, kIpPort = 3;
}
namespace time {  // google.protobuf.Timestamp and Duration
inline constexpr uint32_t kSeconds = 1, kNanos = 2;
}

// ---- protobuf's wire format

inline size_t varint_size(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}
inline void append_varint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}
inline void append_number(uint32_t field, uint64_t value, std::string* out) {
  append_varint(uint64_t{field} << 3, out);
  append_varint(value, out);
}
// The tag and length in front of `size` bytes.
inline void append_length(uint32_t field, uint64_t size, std::string* out) {
  append_varint(uint64_t{field} << 3 | 2, out);
  append_varint(size, out);
}
inline void append_bytes(uint32_t field, std::string_view bytes, std::string* out) {
  append_length(field, bytes.size(), out);
  out->append(bytes);
}

}  // namespace drover::binlog
