// IdxdQueue: a work queue of Intel's Data Streaming Accelerator, as the kernel's idxd driver gives it to a process: a
// page of the device (the portal). One instruction writes a 64-byte descriptor to it; the device then does the copy by
// itself, in the process's own addresses.
//
//   dedicated queue   MOVDIR64B; the process counts its descriptors, since the device drops those beyond the queue's
//   size shared queue      ENQCMD; the device says whether it took it
//
// An administrator sets queues up (accel-config; type "user"). /sys/bus/dsa/devices/wqD.Q describes a queue, and the
// process opens /dev/dsa/wqD.Q. Thread-safety: submit() and done() from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct dsa_hw_desc;  // <linux/idxd.h>  NOLINT(readability-identifier-naming): the kernel's

namespace drover {

// One that is set up for user programs.
struct IdxdQueueInfo {
  std::string name;  // "wq0.0"
  bool dedicated = false;
  uint32_t size = 0;          // descriptors that it holds
  uint64_t max_transfer = 0;  // bytes that one descriptor copies at most
};
// Those below `sysfs`, dedicated ones first; `why_not` gives the reason for each of the others, or for an empty list.
std::vector<IdxdQueueInfo> find_idxd_queues(const std::string& sysfs, std::string* why_not);

class IdxdQueue {
 public:
  // Hands a descriptor to the portal; false: the queue is full.
  using Submit = bool (*)(void* portal, const dsa_hw_desc& descriptor);

  // `limit`: descriptors that may be under way at once; 0: the portal says by itself when there are too many.
  IdxdQueue(std::string name, void* portal, Submit by, uint64_t max_transfer, uint32_t limit)
      : name_(std::move(name)), portal_(portal), submit_(by), max_transfer_(max_transfer), limit_(limit) {}
  IdxdQueue(const IdxdQueue&) = delete;
  IdxdQueue& operator=(const IdxdQueue&) = delete;
  ~IdxdQueue();

  // False: it is full. The device sees everything that was written before the call.
  bool submit(const dsa_hw_desc& descriptor);
  // For each descriptor that submit() took, once the device has completed it.
  void done() { under_way_.fetch_sub(1, std::memory_order_relaxed); }

  const std::string& name() const { return name_; }
  uint64_t max_transfer() const { return max_transfer_; }

 private:
  friend struct OpenedIdxdQueue open_idxd_queue();

  std::string name_;
  void* portal_;
  Submit submit_;
  uint64_t max_transfer_;
  uint32_t limit_;
  size_t mapped_ = 0;  // bytes of the portal that are to be unmapped
  std::atomic<uint32_t> under_way_ = 0;
};

// The first queue that this process may use; or null, and the reason: no device, no queue for users, no permission, no
// such instruction, not built in.
struct OpenedIdxdQueue {
  std::unique_ptr<IdxdQueue> queue;
  std::string error;
};
OpenedIdxdQueue open_idxd_queue();

}  // namespace drover
