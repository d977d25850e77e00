// FreedMemory: whether memory that C++ code frees still holds a text. For tests of what wipes its memory: a program
// that uses it links freed_memory_testing.cc, which replaces the global operators new and delete.
#pragma once

#include <string_view>

namespace drover::engine {

// One at a time; sees all threads.
class FreedMemory {
 public:
  // `text` outlives it.
  explicit FreedMemory(std::string_view text);
  ~FreedMemory();
  FreedMemory(const FreedMemory&) = delete;
  FreedMemory& operator=(const FreedMemory&) = delete;

  // Since it was made.
  bool held_it() const;
};

}  // namespace drover::engine
