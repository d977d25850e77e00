// The system interface of a program without a C library: input, output, exit. The three calls are Linux's on riscv32
// and aarch64, which qemu's user emulation answers; on a bare core they would be a UART and a test device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drover::bare {

// Reads all of the standard input into `to` and returns its size. Ends the program if it does not fit.
size_t read_input(char* to, size_t capacity);
void print(const char* text);
void print(uint32_t number);
[[noreturn]] void end(int code);

}  // namespace drover::bare
