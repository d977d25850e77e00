// ConnectionCount: the client connections of the whole engine, and of each address (network_of).
// Thread-safe. Used when a connection comes or goes only.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace drover::engine {

class ConnectionCount {
 public:
  enum class Entry { kTaken, kFull, kAddressFull };

  Entry enter(const std::string& address, uint32_t most, uint32_t most_of_address) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (all_ >= most) return Entry::kFull;
    uint32_t& own = by_address_[address];
    if (own >= most_of_address) return Entry::kAddressFull;
    ++own;
    ++all_;
    return Entry::kTaken;
  }
  void leave(const std::string& address) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto own = by_address_.find(address);
    if (--own->second == 0) by_address_.erase(own);
    --all_;
  }
  uint32_t all() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  uint32_t all_ = 0;
  std::unordered_map<std::string, uint32_t> by_address_;
};

}  // namespace drover::engine
