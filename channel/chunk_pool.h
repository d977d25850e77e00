// ChunkPool: who has which 4096-byte chunks of an area of the region. ChunkBlockSource: an Arena's blocks from it.
//
// The books are in the private memory of the side that allocates; the other side only ever sees offsets. Single
// chunks come from a last-in-first-out stack, runs from the lowest address where they fit, and both prefer memory
// that was used before: a page that was touched costs no fault.
//
//   free_ (bitmap):  1 = free and not in the stack        held_ (bitmap): 1 = handed out
//
// Misuse (a run given back twice, or one that was never handed out) ends the process: the books are wrong then.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "channel/layout.h"
#include "object/arena.h"

namespace drover {

class ChunkPool {
 public:
  static constexpr uint64_t kNone = UINT64_MAX;
  enum class Threads { kOne, kMany };  // kMany: every call takes a mutex

  // `area`: offset and size are multiples of kChunkSize.
  explicit ChunkPool(const Area& area, Threads threads = Threads::kOne);
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  // The region offset of a run of `chunks` contiguous chunks, or kNone if no such run is free (or chunks is 0).
  uint64_t allocate(uint32_t chunks);
  // Gives back a run, or a whole-chunk part of one.
  void free(uint64_t offset, uint32_t chunks) {
    if (locked_) return lock_and_free(offset, chunks);
    free_locked(offset, chunks);
  }

  uint32_t total_chunks() const { return total_; }
  uint32_t free_chunks() const;  // exact on the owning thread, a recent value elsewhere
  const Area& area() const { return area_; }

  static uint32_t chunks_for(uint64_t bytes) { return static_cast<uint32_t>((bytes + kChunkSize - 1) / kChunkSize); }

 private:
  uint64_t allocate_locked(uint32_t chunks);
  uint64_t take_run(uint32_t chunks);
  void free_locked(uint64_t offset, uint32_t chunks);
  void lock_and_free(uint64_t offset, uint32_t chunks);
  void free_run(uint32_t first, uint32_t chunks);
  void flush_stack();
  void set_free(uint32_t first, uint32_t chunks);

  const Area area_;
  const uint32_t total_;
  const bool locked_;
  std::atomic<uint32_t> free_count_;
  uint32_t lowest_ = 0;  // no free bit in words below this one
  std::vector<uint64_t> free_;
  std::vector<uint64_t> held_;
  std::array<uint32_t, 64> stack_;
  uint32_t stack_size_ = 0;
  std::mutex mutex_;
};

// One run of a pool.
struct ChunkRun {
  uint64_t offset;  // region offset
  uint32_t chunks;
};

// A list of runs; the first four need no heap.
class RunList {
 public:
  static constexpr size_t kInline = 4;
  void push(ChunkRun run) {
    if (size_ < kInline) [[likely]] {
      inline_[size_++] = run;
    } else {
      more_.push_back(run);
      ++size_;
    }
  }
  // Makes push succeed until the list has `size` runs.
  void reserve(size_t size) {
    if (size > kInline) more_.reserve(size - kInline);
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Of all its runs.
  uint64_t chunks() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < size_; ++i) sum += (*this)[i].chunks;
    return sum;
  }
  const ChunkRun& operator[](size_t i) const { return i < kInline ? inline_[i] : more_[i - kInline]; }
  ChunkRun remove(uint64_t offset);  // the run that begins there; 0 chunks: no run
  void clear() {
    if (size_ > kInline) more_.clear();
    size_ = 0;
  }
  // Gives every run back to its pool and empties the list.
  void free_all(ChunkPool& pool) {
    if (size_ != 1) return free_several(pool);
    size_ = 0;
    pool.free(inline_[0].offset, inline_[0].chunks);
  }

 private:
  void free_several(ChunkPool& pool);

  std::array<ChunkRun, kInline> inline_;  // as far as size_
  size_t size_ = 0;
  std::vector<ChunkRun> more_;
};

// Serves one Arena (or several of one call) from a pool and remembers the runs. Memory can outlive the Arena: after
// `take_runs` the source no longer owns what the Arena gives back, and the taker of the list frees it (a response lives
// until the engine's RELEASE). Other runs are freed with the source, which must therefore outlive its Arenas. One
// thread at a time.
class ChunkBlockSource final : public BlockSource {
 public:
  ChunkBlockSource(ChunkPool& pool, char* region_base) : pool_(&pool), base_(region_base) {}
  ChunkBlockSource(const ChunkBlockSource&) = delete;
  ChunkBlockSource& operator=(const ChunkBlockSource&) = delete;
  ~ChunkBlockSource() { runs_.free_all(*pool_); }

  Block allocate_block(size_t min_size) override;
  void free_block(void* data, size_t size) override;

  const RunList& runs() const { return runs_; }
  RunList take_runs() {
    RunList taken = std::move(runs_);
    runs_.clear();
    return taken;
  }

 private:
  ChunkPool* pool_;
  char* base_;
  RunList runs_;
};

}  // namespace drover
