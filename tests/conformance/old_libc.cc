// Preloaded into the conformance runner where the machine's C and C++ libraries are older than those that it was
// linked with (Debian 12 has glibc 2.36 and GCC 12's libstdc++; the runner asks for 2.38 and GCC 13's): the five
// functions that it needs from the newer ones. run.py marks the runner's version requirements as weak.
//
// C23's strtol family differs from C17's in reading "0b101" with base 0 and 2; the runner's use never meets that.
#include <cstdlib>
#include <iostream>

extern "C" {

long __isoc23_strtol(const char* text, char** end, int base) { return std::strtol(text, end, base); }
long long __isoc23_strtoll(const char* text, char** end, int base) { return std::strtoll(text, end, base); }
unsigned long __isoc23_strtoul(const char* text, char** end, int base) { return std::strtoul(text, end, base); }
unsigned long long __isoc23_strtoull(const char* text, char** end, int base) { return std::strtoull(text, end, base); }

// std::ios_base_library_init(), GCC 13's way to have std::cout and its like made before they are used. GCC 12's is a
// static object in every file that includes <iostream>, this one too; a preloaded library is initialized first.
void _ZSt21ios_base_library_initv() {}

}  // extern "C"
