#include "engine/http2/wire.h"

#include <iterator>

namespace drover::engine::http2 {

std::string error_name(ErrorCode code) {
  static constexpr std::string_view kNames[] = {"NO_ERROR",
                                                "PROTOCOL_ERROR",
                                                "INTERNAL_ERROR",
                                                "FLOW_CONTROL_ERROR",
                                                "SETTINGS_TIMEOUT",
                                                "STREAM_CLOSED",
                                                "FRAME_SIZE_ERROR",
                                                "REFUSED_STREAM",
                                                "CANCEL",
                                                "COMPRESSION_ERROR",
                                                "CONNECT_ERROR",
                                                "ENHANCE_YOUR_CALM",
                                                "INADEQUATE_SECURITY",
                                                "HTTP_1_1_REQUIRED"};
  auto number = static_cast<size_t>(code);
  return number < std::size(kNames) ? std::string(kNames[number]) : "error " + std::to_string(number);
}

}  // namespace drover::engine::http2
