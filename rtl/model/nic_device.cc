#include "rtl/model/nic_device.h"

namespace drover::rtl {

uint64_t NicDevice::load64_now(uint32_t address) {
  bool there = false;
  uint64_t value = 0;
  load64(address, [&](uint64_t word) { value = word, there = true; });
  while (!there) cycle();
  return value;
}

}  // namespace drover::rtl
