#include "engine/grpc/http2_memory.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace drover::engine {

struct Http2Memory::Slab {
  Slab* next;
  uint64_t pad;
};

Http2Memory::Http2Memory() {
  mem_.mem_user_data = this;
  mem_.malloc = [](size_t size, void* self) { return static_cast<Http2Memory*>(self)->allocate(size); };
  mem_.free = [](void* block, void* self) { static_cast<Http2Memory*>(self)->release(block); };
  mem_.calloc = [](size_t count, size_t size, void* self) -> void* {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
    void* block = static_cast<Http2Memory*>(self)->allocate(bytes);
    return block ? std::memset(block, 0, bytes) : nullptr;
  };
  mem_.realloc = [](void* block, size_t size, void* self) {
    return static_cast<Http2Memory*>(self)->resize(block, size);
  };
}

Http2Memory::~Http2Memory() {
  while (slabs_) std::free(std::exchange(slabs_, slabs_->next));
}

void* Http2Memory::allocate(size_t size) {
  size_t size_class = (size + sizeof(BlockHeader) + kStep - 1) / kStep;
  BlockHeader* header;
  if (size_class >= kClasses) {
    if (size > SIZE_MAX - sizeof(BlockHeader)) return nullptr;
    header = static_cast<BlockHeader*>(std::malloc(sizeof(BlockHeader) + size));
    if (!header) return nullptr;
    *header = {0, size};
  } else if (FreeBlock* block = free_[size_class]) {
    free_[size_class] = block->next;
    header = reinterpret_cast<BlockHeader*>(block) - 1;
  } else {
    header = refill(size_class);
    if (!header) return nullptr;
  }
  return header + 1;
}

void Http2Memory::release(void* block) {
  if (!block) return;
  BlockHeader* header = static_cast<BlockHeader*>(block) - 1;
  if (header->size_class == 0) return std::free(header);
  auto* freed = static_cast<FreeBlock*>(block);
  freed->next = free_[header->size_class];
  free_[header->size_class] = freed;
}

void* Http2Memory::resize(void* block, size_t size) {
  if (!block) return allocate(size);
  size_t old_size = (static_cast<BlockHeader*>(block) - 1)->size;
  if (size <= old_size) return block;
  void* larger = allocate(size);
  if (!larger) return nullptr;
  std::memcpy(larger, block, old_size);
  release(block);
  return larger;
}

Http2Memory::BlockHeader* Http2Memory::refill(size_t size_class) {
  size_t bytes = size_class * kStep;
  if (fresh_left_ < bytes) {
    auto* slab = static_cast<Slab*>(std::aligned_alloc(kStep, kSlab));
    if (!slab) return nullptr;
    slab->next = slabs_;
    slabs_ = slab;
    fresh_ = reinterpret_cast<char*>(slab) + kStep;
    fresh_left_ = kSlab - kStep;
  }
  auto* header = reinterpret_cast<BlockHeader*>(fresh_);
  fresh_ += bytes;
  fresh_left_ -= bytes;
  *header = {size_class, bytes - sizeof(BlockHeader)};
  return header;
}

}  // namespace drover::engine
