#include "codec/copy/best_copy.h"

namespace drover {

BestCopy& best_memcpy_engine() {
  static const OpenedIdxdQueue opened = open_idxd_queue();
  static const std::string what =
      opened.queue == nullptr ? "the processor (" + opened.error + ")" : "Intel DSA, " + opened.queue->name();
  thread_local BestCopy engine(opened.queue.get(), what);
  return engine;
}

}  // namespace drover
