#include "channel/chunk_pool.h"

#include <algorithm>
#include <bit>

#include "object/owner.h"

namespace drover {
namespace {

constexpr uint32_t kBits = 64;

// Bits [first, first+count) of one word, count in 1..64.
uint64_t bits(uint32_t first, uint32_t count) {
  uint64_t low = count >= kBits ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  return low << first;
}

// Calls f(word index, mask) for each word that bits [first, first+count) touch.
template <typename F>
void for_words(uint32_t first, uint32_t count, F&& f) {
  while (count > 0) {
    uint32_t bit = first % kBits;
    uint32_t here = std::min(count, kBits - bit);
    f(first / kBits, bits(bit, here));
    first += here;
    count -= here;
  }
}

}  // namespace

ChunkPool::ChunkPool(const Area& area, Threads threads)
    : area_(area),
      total_(static_cast<uint32_t>(area.size / kChunkSize)),
      locked_(threads == Threads::kMany),
      free_count_(total_),
      free_((total_ + kBits - 1) / kBits),
      held_(free_.size()) {
  if (area.offset % kChunkSize != 0 || area.size % kChunkSize != 0 || area.size / kChunkSize > UINT32_MAX) {
    fatal("ChunkPool: the area is not whole chunks");
  }
  for_words(0, total_, [&](uint32_t word, uint64_t mask) { free_[word] |= mask; });
}

uint32_t ChunkPool::free_chunks() const { return free_count_.load(std::memory_order_relaxed); }

uint64_t ChunkPool::allocate(uint32_t chunks) {
  if (!locked_) return allocate_locked(chunks);
  std::lock_guard lock(mutex_);
  return allocate_locked(chunks);
}

uint64_t ChunkPool::allocate_locked(uint32_t chunks) {
  uint32_t free_now = free_count_.load(std::memory_order_relaxed);
  if (chunks == 0 || chunks > free_now) return kNone;
  uint64_t first;
  if (chunks == 1 && stack_size_ > 0) [[likely]] {
    first = stack_[--stack_size_];
    held_[first / kBits] |= uint64_t{1} << first % kBits;
  } else {
    first = take_run(chunks);
    if (first == kNone && stack_size_ > 0) {
      flush_stack();  // its chunks may be what joins two runs
      first = take_run(chunks);
    }
    if (first == kNone) return kNone;
    for_words(static_cast<uint32_t>(first), chunks, [&](uint32_t word, uint64_t mask) { held_[word] |= mask; });
  }
  free_count_.store(free_now - chunks, std::memory_order_relaxed);
  return area_.offset + first * kChunkSize;
}

// The lowest run of `chunks` free bits, taken out of the bitmap; kNone: no such run.
uint64_t ChunkPool::take_run(uint32_t chunks) {
  uint32_t words = static_cast<uint32_t>(free_.size());
  while (lowest_ < words && free_[lowest_] == 0) ++lowest_;
  uint32_t begin = 0, length = 0;  // the run of free bits that ends where we look
  for (uint32_t word = lowest_; word < words; ++word) {
    uint64_t value = free_[word];
    for (uint32_t bit = 0; bit < kBits;) {
      uint64_t rest = value >> bit;
      if (rest == 0) {
        length = 0;
        break;
      }
      uint32_t taken = static_cast<uint32_t>(std::countr_zero(rest));
      if (taken > 0) {
        length = 0;
        bit += taken;
        rest >>= taken;
      }
      uint32_t run = std::min(static_cast<uint32_t>(std::countr_one(rest)), kBits - bit);
      if (length == 0) begin = word * kBits + bit;
      length += run;
      bit += run;
      if (length >= chunks) {
        for_words(begin, chunks, [&](uint32_t w, uint64_t mask) { free_[w] &= ~mask; });
        return begin;
      }
    }
  }
  return kNone;
}

void ChunkPool::set_free(uint32_t first, uint32_t chunks) {
  for_words(first, chunks, [&](uint32_t word, uint64_t mask) { free_[word] |= mask; });
  lowest_ = std::min(lowest_, first / kBits);
}

void ChunkPool::flush_stack() {
  while (stack_size_ > 0) set_free(stack_[--stack_size_], 1);
}

void ChunkPool::lock_and_free(uint64_t offset, uint32_t chunks) {
  std::lock_guard lock(mutex_);
  free_locked(offset, chunks);
}

void ChunkPool::free_locked(uint64_t offset, uint32_t chunks) {
  uint64_t at = offset - area_.offset;  // huge if it lies below
  if (at % kChunkSize != 0 || at / kChunkSize >= total_ || chunks == 0 || chunks > total_ - at / kChunkSize) {
    fatal("ChunkPool::free: not a run of this pool");
  }
  uint32_t first = static_cast<uint32_t>(at / kChunkSize);
  free_count_.store(free_count_.load(std::memory_order_relaxed) + chunks, std::memory_order_relaxed);
  if (chunks != 1 || stack_size_ == stack_.size()) return free_run(first, chunks);
  uint64_t bit = uint64_t{1} << first % kBits, &held = held_[first / kBits];
  if ((held & bit) == 0) fatal("ChunkPool::free: a chunk that is not handed out");
  held &= ~bit;
  stack_[stack_size_++] = first;
}

void ChunkPool::free_run(uint32_t first, uint32_t chunks) {
  bool held = true;
  for_words(first, chunks, [&](uint32_t word, uint64_t mask) { held = held && (held_[word] & mask) == mask; });
  if (!held) fatal("ChunkPool::free: chunks that are not handed out");
  for_words(first, chunks, [&](uint32_t word, uint64_t mask) { held_[word] &= ~mask; });
  set_free(first, chunks);
}

void RunList::free_several(ChunkPool& pool) {
  for (size_t i = 0; i < size_; ++i) pool.free((*this)[i].offset, (*this)[i].chunks);
  clear();
}

ChunkRun RunList::remove(uint64_t offset) {
  for (size_t i = 0; i < size_; ++i) {
    ChunkRun found = (*this)[i];
    if (found.offset != offset) continue;
    ChunkRun last = (*this)[size_ - 1];
    if (i < kInline) {
      inline_[i] = last;
    } else {
      more_[i - kInline] = last;
    }
    if (size_ > kInline) more_.pop_back();
    --size_;
    return found;
  }
  return {};
}

BlockSource::Block ChunkBlockSource::allocate_block(size_t min_size) {
  if (min_size > pool_->area().size) return {};
  uint32_t chunks = ChunkPool::chunks_for(min_size);
  uint64_t offset = pool_->allocate(chunks);
  if (offset == ChunkPool::kNone) return {};
  runs_.push({offset, chunks});
  return {base_ + offset, chunks * kChunkSize};
}

void ChunkBlockSource::free_block(void* data, size_t) {
  ChunkRun run = runs_.remove(static_cast<uint64_t>(static_cast<char*>(data) - base_));
  if (run.chunks > 0) pool_->free(run.offset, run.chunks);
}

}  // namespace drover
