// Fuzz target: any bytes as a control packet. A packet that parses must encode to the same bytes again; one that
// does not must be refused with a name. Seeds: tests/corpus/control_fuzz.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "channel/control.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace drover;
  std::string_view packet(reinterpret_cast<const char*>(data), size);
  ControlError error;
  auto message = parse_control(packet, &error);
  if (message) {
    if (encode_control(*message, &error) != packet) std::abort();
  } else if (error.code == ControlCode::kNone || error.message.empty()) {
    std::abort();
  }
  return 0;
}
