// What the codec asks of the compiler beyond C++20.
//
// DROVER_MUSTTAIL 1: handlers can end in a guaranteed tail call, so that a message is decoded by jumping from field to
// field with the decoder's state in registers. Elsewhere (gcc 12, 32-bit RISC-V) each handler returns to a loop.
#pragma once

#define DROVER_INLINE inline __attribute__((always_inline))
#define DROVER_NOINLINE __attribute__((noinline))

#if defined(__clang__) && defined(__has_cpp_attribute) && (defined(__x86_64__) || defined(__aarch64__))
#if __has_cpp_attribute(clang::musttail)
#define DROVER_MUSTTAIL 1
#endif
#endif
#ifndef DROVER_MUSTTAIL
#define DROVER_MUSTTAIL 0
#endif

// More arguments in registers, none of which a handler has to save. (AddressSanitizer's fake stack cannot do that.)
#if DROVER_MUSTTAIL && defined(__has_attribute) && defined(__has_feature)
#if __has_attribute(preserve_none) && !__has_feature(address_sanitizer)
#define DROVER_HANDLER_CALL __attribute__((preserve_none))
#endif
#endif
#ifndef DROVER_HANDLER_CALL
#define DROVER_HANDLER_CALL
#endif
