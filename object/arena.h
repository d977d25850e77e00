// Arena: the memory of one tree of objects, freed at once (docs/formats.md, section 2).
//
// A bump allocator over blocks that a BlockSource supplies: the heap (default), chunks of a region, or none at all.
// Memory given back with `recycle` is kept in per-size lists and handed out again, so that a long-lived message that
// changes repeatedly does not grow without bound.
//
//   block:  [ BlockHeader | objects ... -> ptr_      free      end_ ]
//
// A block may lie in memory that another process reads. What the arena keeps there, block headers and lists of recycled
// memory, holds no addresses: links are relative to where they stand.
//
// Thread-safety: none; one thread at a time. Lifetime: every object allocated from it dies with it (or with
// `reset`); destructors are not run. Freestanding, but for the heap (object/heap_blocks.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace drover {

// Releases what String::terminated_copy (string.h) holds for Strings inside [begin, begin+size). Most processes never
// make such a copy, so their number is checked first (atomic builtins). Without an operating system there is no String,
// only its words.
#if __STDC_HOSTED__
void forget_terminated_copies(const void* begin, size_t size);
inline size_t terminated_copy_count = 0;
inline bool has_terminated_copies() { return __atomic_load_n(&terminated_copy_count, __ATOMIC_RELAXED) != 0; }
#else
inline void forget_terminated_copies(const void*, size_t) {}
inline bool has_terminated_copies() { return false; }
#endif

// Where an Arena gets its blocks. Implementations are not owned by the Arena and must outlive it.
class BlockSource {
 public:
  struct Block {
    void* data = nullptr;  // 8-byte aligned; null: out of memory
    size_t size = 0;
  };
  // A block of at least `min_size` bytes.
  virtual Block allocate_block(size_t min_size) = 0;
  virtual void free_block(void* data, size_t size) = 0;

 protected:
  ~BlockSource() = default;
};

// Blocks from malloc; never runs out short of the process's own limit.
BlockSource& heap_block_source();

// protobuf's way to give an Arena its first block. The members that name block sizes and functions are absent.
struct ArenaOptions {
  char* initial_block = nullptr;
  size_t initial_block_size = 0;
};

class Arena {
 public:
  Arena() : Arena(heap_block_source()) {}
  explicit Arena(const ArenaOptions& options)
      : Arena(heap_block_source(), options.initial_block, options.initial_block_size) {}
  Arena(char* initial_block, size_t size) : Arena(heap_block_source(), initial_block, size) {}
  explicit Arena(BlockSource& source) : source_(&source) {}
  // Starts in `initial`, which the caller owns and which must outlive the arena.
  Arena(BlockSource& source, void* initial, size_t size)
      : ptr_(static_cast<char*>(initial)),
        end_(ptr_ + (size & ~size_t{7})),
        source_(&source),
        initial_(initial),
        initial_size_(size) {}
  // Uses only that memory, 8-byte aligned; out of memory at its end.
  struct FixedMemory {
    void* data;
    size_t size;
  };
  explicit Arena(const FixedMemory& fixed)
      : ptr_(static_cast<char*>(fixed.data)),
        end_(ptr_ + (fixed.size & ~size_t{7})),
        source_(nullptr),
        initial_(fixed.data),
        initial_size_(fixed.size) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    if (blocks_ != nullptr || has_terminated_copies()) [[unlikely]]
      free_blocks();
  }

  // `size` bytes, 8-byte aligned, not zeroed; null if the source has no more.
  void* allocate(size_t size) {
    size = (size + 7) & ~size_t{7};
    if (size <= static_cast<size_t>(end_ - ptr_)) [[likely]] {
      void* result = ptr_;
      ptr_ += size;
      return result;
    }
    return allocate_slow(size);
  }

  // The same from the current block only, if it has room for `slack` more bytes behind the result, which may be
  // overwritten until the next allocation. Null without that room.
  char* try_allocate(size_t size, size_t slack) { return has_room(size, slack) ? take(size) : nullptr; }
  // The two halves of that. take() needs a has_room(), take_words() also a size that is a multiple of 8.
  bool has_room(size_t size, size_t slack) const {
    return ((size + 7) & ~size_t{7}) + slack <= static_cast<size_t>(end_ - ptr_);
  }
  char* take(size_t size) { return take_words((size + 7) & ~size_t{7}); }
  char* take_words(size_t size) {
    char* result = ptr_;
    ptr_ += size;
    return result;
  }

  // Extends the latest allocation in place; false if it was not the latest, or the block has no room.
  bool try_extend(void* memory, size_t size, size_t new_size) {
    size = (size + 7) & ~size_t{7};
    new_size = (new_size + 7) & ~size_t{7};
    if (static_cast<char*>(memory) + size != ptr_ || new_size - size > static_cast<size_t>(end_ - ptr_)) return false;
    ptr_ += new_size - size;
    return true;
  }

  void* allocate_zeroed(size_t size) {
    void* result = allocate(size);
    if (result != nullptr) [[likely]]
      std::memset(result, 0, size);
    return result;
  }

  // A message of type T that lives in this arena (null: out of memory). The arena never runs its destructor.
  template <typename T>
  T* create() {
    void* memory = allocate(sizeof(T));
    return memory == nullptr ? nullptr : new (memory) T(this);
  }
  template <typename T>
  static T* CreateMessage(Arena* arena) {  // protobuf's spelling; a null arena makes a heap message
    return arena == nullptr ? new T() : arena->create<T>();
  }
  // A message, or any trivially destructible T; a null arena makes it on the heap.
  template <typename T, typename... Arguments>
  static T* Create(Arena* arena, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) == 0 && std::is_constructible_v<T, Arena*>) {
      return CreateMessage<T>(arena);
    } else {
      static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
      static_assert(alignof(T) <= 8);
      if (arena == nullptr) return new T(std::forward<Arguments>(arguments)...);
      void* memory = arena->allocate(sizeof(T));
      return memory == nullptr ? nullptr : new (memory) T(std::forward<Arguments>(arguments)...);
    }
  }
  // `count` elements, not initialized.
  template <typename T>
  static T* CreateArray(Arena* arena, size_t count) {
    static_assert(std::is_trivial_v<T> && alignof(T) <= 8);
    if (count > SIZE_MAX / sizeof(T)) return nullptr;
    return static_cast<T*>(arena == nullptr ? ::operator new[](count * sizeof(T)) : arena->allocate(count * sizeof(T)));
  }

  // Gives memory back for reuse by allocate_recycled. `size` as it was asked for.
  void recycle(void* memory, size_t size);
  // Like allocate, but looks among recycled memory first; for buffers that grow.
  void* allocate_recycled(size_t size);

  bool has_recycled() const { return free_lists_ != nullptr; }

  // Frees everything; the initial block is used again.
  void reset() {
    if (blocks_ != nullptr || has_terminated_copies()) [[unlikely]]
      free_blocks();
    free_lists_ = nullptr;
    ptr_ = static_cast<char*>(initial_);
    end_ = ptr_ + (initial_size_ & ~size_t{7});
  }
  uint64_t Reset() {  // protobuf's spelling; returns the bytes that were allocated
    uint64_t allocated = space_allocated();
    reset();
    return allocated;
  }
  uint64_t SpaceAllocated() const { return space_allocated(); }
  // What is left at the end of blocks before the current one counts as used.
  uint64_t SpaceUsed() const { return space_allocated() - static_cast<size_t>(end_ - ptr_); }

  // Bytes of all blocks, the initial one included.
  size_t space_allocated() const { return initial_size_ + block_bytes_; }
  // True if every byte handed out so far came from the initial block.
  bool only_initial_block() const { return blocks_ == nullptr; }
  // How many bytes of the initial block are taken, from its front; while it is the only one.
  size_t initial_used() const { return static_cast<size_t>(ptr_ - static_cast<char*>(initial_)); }

  // Bytes inside [begin, begin+size) outlive this arena and may be referred to instead of copied
  // (the request's memory, for the arena of the same call's response).
  void set_borrowable(const void* begin, size_t size) {
    borrowable_begin_ = reinterpret_cast<uintptr_t>(begin);
    borrowable_size_ = size;
  }
  bool may_borrow(const void* data, size_t size) const {
    uintptr_t at = reinterpret_cast<uintptr_t>(data) - borrowable_begin_;
    return at < borrowable_size_ && size <= borrowable_size_ - at;
  }

  // Created by an object for its own allocations, and freed with it; not the user's arena (the message's GetArena() is
  // null).
  void set_made_by_object() { made_by_object_ = true; }
  bool made_by_object() const { return made_by_object_; }

  static constexpr size_t kFirstHeapBlock = 1024;
  static constexpr size_t kLargestGrowth = 256 * 1024;

 private:
  // A pointer as its distance from itself; 0: null. Not an OffsetPtr, which is the format of objects.
  template <typename T>
  struct Link {
    T* get() const {
      return distance == 0 ? nullptr
                           : reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(this) + static_cast<uintptr_t>(distance));
    }
    void set(T* target) {
      distance = target == nullptr
                     ? 0
                     : static_cast<intptr_t>(reinterpret_cast<uintptr_t>(target) - reinterpret_cast<uintptr_t>(this));
    }
    intptr_t distance;
  };
  struct BlockHeader {
    Link<BlockHeader> next;
    size_t size;
  };
  struct FreeNode {
    Link<FreeNode> next;
    size_t size;
  };
  static constexpr int kFreeLists = 32;  // by power of two

  void* allocate_slow(size_t size);
  void free_blocks();

  char* ptr_ = nullptr;
  char* end_ = nullptr;
  BlockSource* source_;  // null: none
  BlockHeader* blocks_ = nullptr;
  size_t block_bytes_ = 0;
  void* initial_ = nullptr;
  size_t initial_size_ = 0;
  uintptr_t borrowable_begin_ = 0;
  size_t borrowable_size_ = 0;
  Link<FreeNode>* free_lists_ = nullptr;  // allocated at the first recycle, inside the arena
  bool made_by_object_ = false;
};

}  // namespace drover
