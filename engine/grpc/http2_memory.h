// Memory for nghttp2: size classes with free lists, one pool an engine thread, so that a call in the steady state
// does not reach malloc. Blocks carry their class in a header of 16 bytes; big ones go to malloc.
//
//   | u64 class | u64 size | block ... |
//
// Not thread-safe: one thread owns the pool and every session that uses it.
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace drover::engine {

class Http2Memory {
 public:
  Http2Memory();
  ~Http2Memory();  // all sessions must be gone
  Http2Memory(const Http2Memory&) = delete;
  Http2Memory& operator=(const Http2Memory&) = delete;

  // To hand to nghttp2_session_server_new3; valid while this object lives.
  nghttp2_mem* mem() { return &mem_; }

  void* allocate(size_t size);
  void release(void* block);
  void* resize(void* block, size_t size);

 private:
  static constexpr size_t kStep = 64;        // classes of 64, 128, ... bytes, header included
  static constexpr size_t kClasses = 33;     // index n holds blocks of 64 n bytes; 0: not pooled
  static constexpr size_t kSlab = 64 << 10;  // taken from malloc at a time

  struct BlockHeader {
    uint64_t size_class;
    uint64_t size;  // what the caller may use
  };
  struct FreeBlock {
    FreeBlock* next;
  };

  BlockHeader* refill(size_t size_class);

  nghttp2_mem mem_;
  std::array<FreeBlock*, kClasses> free_{};
  struct Slab;
  Slab* slabs_ = nullptr;
  char* fresh_ = nullptr;
  size_t fresh_left_ = 0;
};

}  // namespace drover::engine
