// The arena's blocks from malloc.
#include <cstdlib>

#include "object/arena.h"

namespace drover {
namespace {

class HeapBlockSource final : public BlockSource {
 public:
  Block allocate_block(size_t min_size) override {
    void* data = std::malloc(min_size);
    return {data, data == nullptr ? 0 : min_size};
  }
  void free_block(void* data, size_t) override { std::free(data); }
};

}  // namespace

BlockSource& heap_block_source() {
  static HeapBlockSource source;
  return source;
}

}  // namespace drover
