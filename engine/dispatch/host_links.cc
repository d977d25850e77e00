#include "engine/dispatch/host_links.h"

#include <sys/epoll.h>

#include <algorithm>

namespace drover::engine {

HostLinks::HostLinks(uint32_t thread, ThreadMetrics& metrics, HostEvents* events)
    : thread_(thread), metrics_(metrics), events_(events), wake_(::epoll_create1(EPOLL_CLOEXEC)) {}

HostLink& HostLinks::attach(std::shared_ptr<const HostAttachment> host) {
  int bell = host->bells[thread_].get();
  attached_.push_back(std::make_unique<HostLink>(std::move(host), thread_, metrics_));
  HostLink& link = *attached_.back();
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  if (::epoll_ctl(wake_.get(), EPOLL_CTL_ADD, bell, &event) != 0) link.fail("its doorbell cannot be watched");
  return link;
}

HostLink* HostLinks::find(uint64_t host) {
  for (const auto& link : attached_) {
    if (link->host().id == host) return link.get();
  }
  return nullptr;
}

bool HostLinks::is_gone(uint64_t host) const {
  return std::any_of(gone_.begin(), gone_.end(), [host](const auto& link) { return link->host().id == host; });
}

void HostLinks::detach(HostLink& link) {
  ::epoll_ctl(wake_.get(), EPOLL_CTL_DEL, link.host().bells[thread_].get(), nullptr);
  auto at = std::find_if(attached_.begin(), attached_.end(), [&link](const auto& one) { return one.get() == &link; });
  gone_.push_back(std::move(*at));
  attached_.erase(at);
  link.gone = true;
}

void HostLinks::end(HostLink& link) {
  uint64_t id = link.host().id;
  std::erase_if(gone_, [&link](const auto& one) { return one.get() == &link; });
  if (events_ != nullptr) events_->host_let_go(id, thread_);
}

}  // namespace drover::engine
