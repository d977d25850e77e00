#include "object/arena.h"

#include <bit>

namespace drover {
namespace {

constexpr size_t kSmallestRecycled = 16;

}  // namespace

void* Arena::allocate_slow(size_t size) {
  if (source_ == nullptr || size > SIZE_MAX / 2) return nullptr;
  size_t wanted = block_bytes_ + initial_size_;
  if (wanted < kFirstHeapBlock) wanted = kFirstHeapBlock;
  if (wanted > kLargestGrowth) wanted = kLargestGrowth;
  if (wanted < size + sizeof(BlockHeader)) wanted = size + sizeof(BlockHeader);
  BlockSource::Block block = source_->allocate_block(wanted);
  if (block.data == nullptr && wanted > size + sizeof(BlockHeader)) {
    block = source_->allocate_block(size + sizeof(BlockHeader));
  }
  if (block.data == nullptr) return nullptr;
  auto* header = new (block.data) BlockHeader{{}, block.size};
  header->next.set(blocks_);
  blocks_ = header;
  block_bytes_ += block.size;
  char* begin = reinterpret_cast<char*>(header + 1);
  char* end = static_cast<char*>(block.data) + (block.size & ~size_t{7});
  // A large object gets a block of its own; go on in whichever block has more left.
  if (end - (begin + size) > end_ - ptr_) {
    ptr_ = begin + size;
    end_ = end;
  }
  return begin;
}

void Arena::recycle(void* memory, size_t size) {
  size = (size + 7) & ~size_t{7};
  if (size < kSmallestRecycled) return;
  if (free_lists_ == nullptr) {
    free_lists_ = static_cast<Link<FreeNode>*>(allocate_zeroed(kFreeLists * sizeof(Link<FreeNode>)));
    if (free_lists_ == nullptr) return;
  }
  int list = static_cast<int>(std::bit_width(size)) - 1;
  if (list >= kFreeLists) list = kFreeLists - 1;
  auto* node = new (memory) FreeNode{{}, size};
  node->next.set(free_lists_[list].get());
  free_lists_[list].set(node);
}

void* Arena::allocate_recycled(size_t size) {
  size = (size + 7) & ~size_t{7};
  if (free_lists_ != nullptr && size >= kSmallestRecycled) {
    // The latest piece of this very class may do; any piece of the next class does.
    int list = static_cast<int>(std::bit_width(size)) - 1;
    for (int at = list; at <= list + 1 && at < kFreeLists; ++at) {
      FreeNode* node = free_lists_[at].get();
      if (node == nullptr || node->size < size) continue;
      free_lists_[at].set(node->next.get());
      return node;
    }
  }
  return allocate(size);
}

void Arena::free_blocks() {
  if (initial_ != nullptr) forget_terminated_copies(initial_, initial_size_);
  while (blocks_ != nullptr) {
    BlockHeader* block = blocks_;
    blocks_ = block->next.get();
    size_t size = block->size;
    forget_terminated_copies(block, size);
    source_->free_block(block, size);
  }
  block_bytes_ = 0;
  free_lists_ = nullptr;
}

}  // namespace drover
