#include "engine/base/freed_memory_testing.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace drover::engine {
namespace {

std::atomic<const char*> g_text{nullptr};
std::atomic<size_t> g_size{0};
std::atomic<bool> g_found{false};

void look_and_free(void* memory) {
  const char* text = g_text.load();
  if (text != nullptr && memory != nullptr &&
      ::memmem(memory, ::malloc_usable_size(memory), text, g_size.load()) != nullptr) {
    g_found = true;
  }
  std::free(memory);
}

void* take(size_t size) {
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

FreedMemory::FreedMemory(std::string_view text) {
  g_found = false;
  g_size = text.size();
  g_text = text.data();
}
FreedMemory::~FreedMemory() { g_text = nullptr; }
bool FreedMemory::held_it() const { return g_found; }

}  // namespace drover::engine

void* operator new(size_t size) { return drover::engine::take(size); }
void* operator new[](size_t size) { return drover::engine::take(size); }
void operator delete(void* memory) noexcept { drover::engine::look_and_free(memory); }
void operator delete[](void* memory) noexcept { drover::engine::look_and_free(memory); }
void operator delete(void* memory, size_t) noexcept { drover::engine::look_and_free(memory); }
void operator delete[](void* memory, size_t) noexcept { drover::engine::look_and_free(memory); }
