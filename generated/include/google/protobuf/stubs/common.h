// What sources written for protobuf C++ expect of its library as a whole. Drover has nothing to start, check or shut.
#pragma once

#include <cstdint>
#include <string>

#define GOOGLE_PROTOBUF_VERIFY_VERSION static_cast<void>(0)

namespace google::protobuf {

using int8 = int8_t;
using int16 = int16_t;
using int32 = int32_t;
using int64 = int64_t;
using uint8 = uint8_t;
using uint16 = uint16_t;
using uint32 = uint32_t;
using uint64 = uint64_t;
using std::string;

inline void ShutdownProtobufLibrary() {}

}  // namespace google::protobuf
