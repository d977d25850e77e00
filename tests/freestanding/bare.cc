// The entry point, the system calls and the three memory functions: all that a freestanding program here stands on.
#include "tests/freestanding/bare.h"

int main(int argc, char** argv);

namespace {

#if defined(__riscv)
long system_call(long number, long a, long b, long c) {
  register long a0 asm("a0") = a;
  register long a1 asm("a1") = b;
  register long a2 asm("a2") = c;
  register long a7 asm("a7") = number;
  asm volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
  return a0;
}
asm(".globl _start\n"
    "_start:\n"
    "  mv a0, sp\n"
    "  andi sp, sp, -16\n"
    "  call begin\n");
#elif defined(__aarch64__)
long system_call(long number, long a, long b, long c) {
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x8 asm("x8") = number;
  asm volatile("svc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x8) : "memory");
  return x0;
}
asm(".globl _start\n"
    "_start:\n"
    "  mov x0, sp\n"
    "  and x1, x0, #-16\n"
    "  mov sp, x1\n"
    "  bl begin\n");
#else
#error "no entry point for this machine"
#endif

constexpr long kRead = 63, kWrite = 64, kExit = 93;

}  // namespace

extern "C" {
[[noreturn, gnu::used]] void begin(long* stack) {
  drover::bare::end(main(static_cast<int>(stack[0]), reinterpret_cast<char**>(stack + 1)));
}
void* memcpy(void* to, const void* from, size_t size) {
  auto* out = static_cast<char*>(to);
  auto* in = static_cast<const char*>(from);
  // Words, if both ends are aligned alike; what the codec copies in bulk mostly is not.
  if (((reinterpret_cast<uintptr_t>(out) | reinterpret_cast<uintptr_t>(in)) & (sizeof(long) - 1)) == 0) {
    for (; size >= sizeof(long); size -= sizeof(long), out += sizeof(long), in += sizeof(long)) {
      *reinterpret_cast<long*>(out) = *reinterpret_cast<const long*>(in);
    }
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
}

namespace drover::bare {

size_t read_input(char* to, size_t capacity) {
  size_t have = 0;
  for (;;) {
    if (have == capacity) {
      print("the input is larger than this program's memory\n");
      end(2);
    }
    long got = system_call(kRead, 0, reinterpret_cast<long>(to + have), static_cast<long>(capacity - have));
    if (got < 0) {
      print("the input cannot be read\n");
      end(2);
    }
    if (got == 0) return have;
    have += static_cast<size_t>(got);
  }
}

void print(const char* text) {
  size_t size = 0;
  while (text[size] != '\0') ++size;
  system_call(kWrite, 1, reinterpret_cast<long>(text), static_cast<long>(size));
}

void print(uint32_t number) {
  char text[11];
  char* at = text + sizeof(text) - 1;
  *at = '\0';
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  print(at);
}

void end(int code) {
  system_call(kExit, code, 0, 0);
  for (;;) {
  }
}

}  // namespace drover::bare
