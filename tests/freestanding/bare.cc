// The entry point and the system calls.
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
