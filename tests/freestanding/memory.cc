// The three functions of a C library that the codec calls, for programs without one. Simple; a device has faster ones.
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {

void* memcpy(void* to, const void* from, size_t size) {
  auto* out = static_cast<char*>(to);
  auto* in = static_cast<const char*>(from);
  for (; size >= sizeof(long); size -= sizeof(long), out += sizeof(long), in += sizeof(long)) {
    long word;
    __builtin_memcpy(&word, in, sizeof(word));  // one load if the core supports unaligned loads
    __builtin_memcpy(out, &word, sizeof(word));
  }
  for (; size != 0; --size) *out++ = *in++;
  return to;
}
void* memmove(void* to, const void* from, size_t size) {
  auto* out = static_cast<char*>(to);
  auto* in = static_cast<const char*>(from);
  if (reinterpret_cast<uintptr_t>(out) <= reinterpret_cast<uintptr_t>(in)) return memcpy(to, from, size);
  while (size-- != 0) out[size] = in[size];
  return to;
}
void* memset(void* to, int value, size_t size) {
  auto* out = static_cast<char*>(to);
  unsigned long word = static_cast<unsigned char>(value) * (~0ul / 255);
  for (; size != 0 && (reinterpret_cast<uintptr_t>(out) & (sizeof(long) - 1)) != 0; --size)
    *out++ = static_cast<char>(value);
  for (; size >= sizeof(long); size -= sizeof(long), out += sizeof(long)) *reinterpret_cast<unsigned long*>(out) = word;
  for (; size != 0; --size) *out++ = static_cast<char>(value);
  return to;
}

}  // extern "C"
