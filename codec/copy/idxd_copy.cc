#include "codec/copy/idxd_copy.h"

#include <algorithm>

#if defined(__x86_64__) && __has_include(<linux/idxd.h>)
#include <immintrin.h>
#include <linux/idxd.h>

namespace drover {
namespace {

// A copy in progress. The device reads the descriptor on submission, and writes the record, its status last.
struct alignas(64) UnderWay {
  dsa_hw_desc descriptor;
  alignas(32) dsa_completion_record record;
};
static_assert(sizeof(dsa_hw_desc) == 64 && sizeof(dsa_completion_record) == 32);

class DeviceCopy final : public IdxdCopy {
 public:
  explicit DeviceCopy(IdxdQueue* queue) : queue_(*queue) {}
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;
  ~DeviceCopy() override { wait_for_all(); }

  void copy(char* to, const char* from, size_t size) override {
    if (size < kFrom) {
      std::memcpy(to, from, size);
      return;
    }
    // A descriptor's size is 32 bits.
    size_t most = std::min<uint64_t>(queue_.max_transfer(), uint64_t{1} << 31);
    for (size_t part = 0; size > 0; to += part, from += part, size -= part) {
      part = std::min(size, most);
      if (!hand_over(to, from, part)) by_processor(to, from, part);
    }
  }
  void wait() override { wait_for_all(); }

 private:
  bool hand_over(char* to, const char* from, size_t size) {
    if (count_ == kUnderWay && !completed(all_[first_])) return false;
    if (count_ == kUnderWay) finish_first();
    UnderWay& next = all_[(first_ + count_) % kUnderWay];
    next.descriptor = {};
    next.record = {};
    next.descriptor.opcode = DSA_OPCODE_MEMMOVE;
    // Always write a record, and copy into the caches, which answer the NIC's reads.
    next.descriptor.flags = IDXD_OP_FLAG_CRAV | IDXD_OP_FLAG_RCR | IDXD_OP_FLAG_CC;
    next.descriptor.completion_addr = reinterpret_cast<uintptr_t>(&next.record);
    next.descriptor.src_addr = reinterpret_cast<uintptr_t>(from);
    next.descriptor.dst_addr = reinterpret_cast<uintptr_t>(to);
    next.descriptor.xfer_size = static_cast<uint32_t>(size);
    if (!queue_.submit(next.descriptor)) return false;
    ++count_;
    return true;
  }
  static bool completed(const UnderWay& one) {
    return __atomic_load_n(&one.record.status, __ATOMIC_ACQUIRE) != DSA_COMP_NONE;
  }
  void wait_for_all() {
    while (count_ > 0) {
      while (!completed(all_[first_])) _mm_pause();
      finish_first();
    }
  }
  // The first has completed, with or without an error.
  void finish_first() {
    const UnderWay& one = all_[first_];
    queue_.done();
    auto* to = reinterpret_cast<char*>(one.descriptor.dst_addr);
    const auto* from = reinterpret_cast<const char*>(one.descriptor.src_addr);
    size_t size = one.descriptor.xfer_size, copied = 0;
    uint8_t status = one.record.status & DSA_COMP_STATUS_MASK;  // beside it: whether a fault was a write's
    if (status == DSA_COMP_SUCCESS) copied = size;
    // Source and destination do not overlap, so it copied forwards.
    if (status == DSA_COMP_PAGE_FAULT_NOBOF && one.record.result == 0 && one.record.bytes_completed <= size) {
      copied = one.record.bytes_completed;
    }
    device_bytes_ += copied;
    if (copied < size) by_processor(to + copied, from + copied, size - copied);
    first_ = (first_ + 1) % kUnderWay;
    --count_;
  }
  void by_processor(char* to, const char* from, size_t size) {
    std::memcpy(to, from, size);
    processor_bytes_ += size;
  }

  IdxdQueue& queue_;
  UnderWay all_[kUnderWay] = {};
  size_t first_ = 0, count_ = 0;
};

}  // namespace

std::unique_ptr<IdxdCopy> IdxdCopy::make(IdxdQueue* queue) { return std::make_unique<DeviceCopy>(queue); }

}  // namespace drover

#else

namespace drover {

std::unique_ptr<IdxdCopy> IdxdCopy::make(IdxdQueue*) { return nullptr; }

}  // namespace drover

#endif
