// ResourceQuota: accepted. SetMaxThreads bounds the host's threads; the memory bound is the region's size instead.
#pragma once

#include <string>

namespace grpc {

class ResourceQuota {
 public:
  ResourceQuota() = default;
  explicit ResourceQuota(const std::string& /*name*/) {}
  ResourceQuota& Resize(size_t /*bytes*/) { return *this; }
  ResourceQuota& SetMaxThreads(int threads) {
    max_threads_ = threads;
    return *this;
  }
  int drover_max_threads() const { return max_threads_; }

 private:
  int max_threads_ = 0;
};

}  // namespace grpc
