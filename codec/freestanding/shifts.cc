// 64-bit shifts for 32-bit cores: compilers call them where they optimize for size (-Os). Named and defined as every
// compiler's run-time library has them; weak, should the program bring that.
#include <cstdint>

#if __SIZEOF_POINTER__ == 4
extern "C" {

[[gnu::weak]] uint64_t __ashldi3(uint64_t value, int by) {
  uint32_t low = static_cast<uint32_t>(value), high = static_cast<uint32_t>(value >> 32);
  if (by >= 32) {
    high = low << (by - 32);
    low = 0;
  } else if (by != 0) {
    high = high << by | low >> (32 - by);
    low <<= by;
  }
  return uint64_t{high} << 32 | low;
}

[[gnu::weak]] uint64_t __lshrdi3(uint64_t value, int by) {
  uint32_t low = static_cast<uint32_t>(value), high = static_cast<uint32_t>(value >> 32);
  if (by >= 32) {
    low = high >> (by - 32);
    high = 0;
  } else if (by != 0) {
    low = low >> by | high << (32 - by);
    high >>= by;
  }
  return uint64_t{high} << 32 | low;
}

[[gnu::weak]] int64_t __ashrdi3(int64_t value, int by) {
  uint32_t low = static_cast<uint32_t>(value);
  int32_t high = static_cast<int32_t>(value >> 32);
  if (by >= 32) {
    low = static_cast<uint32_t>(high >> (by - 32));
    high >>= 31;
  } else if (by != 0) {
    low = low >> by | static_cast<uint32_t>(high) << (32 - by);
    high >>= by;
  }
  return static_cast<int64_t>(uint64_t{static_cast<uint32_t>(high)} << 32 | low);
}

}  // extern "C"
#endif
