// HostLinks: the hosts of one engine thread: those that are attached, those that are gone but whose memory calls still
// use, and the one descriptor that all of their doorbells ring. A host that is gone ends here once nothing pins it.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/metrics.h"
#include "engine/dispatch/host_events.h"
#include "engine/dispatch/host_link.h"
#include "object/unique_fd.h"

namespace drover::engine {

class HostLinks {
 public:
  // `events` may be null; it hears host_let_go.
  HostLinks(uint32_t thread, ThreadMetrics& metrics, HostEvents* events);
  HostLinks(const HostLinks&) = delete;
  HostLinks& operator=(const HostLinks&) = delete;

  HostLink& attach(std::shared_ptr<const HostAttachment> host);
  // The attached host of that id, or null.
  HostLink* find(uint64_t host);
  // Detached, and not dropped.
  bool is_gone(uint64_t host) const;
  // It takes and gives nothing more; it stays until nothing pins it.
  void detach(HostLink& link);
  void unpin(HostLink& link) {
    --link.pins;
    unpinned(link);
  }
  // A pin has gone.
  void unpinned(HostLink& link) {
    if (link.gone && !link.pinned()) [[unlikely]]
      end(link);
  }

  std::span<const std::unique_ptr<HostLink>> attached() const { return attached_; }
  // Detached ones whose memory calls still use.
  std::span<const std::unique_ptr<HostLink>> gone() const { return gone_; }
  // An epoll descriptor with one eventfd for each attached host. A detached host can no longer ring.
  int wake_fd() const { return wake_.get(); }

 private:
  void end(HostLink& link);

  const uint32_t thread_;
  ThreadMetrics& metrics_;
  HostEvents* const events_;
  UniqueFd wake_;
  std::vector<std::unique_ptr<HostLink>> attached_;
  std::vector<std::unique_ptr<HostLink>> gone_;
};

}  // namespace drover::engine
