// The key-value service: what a Get, a Set and a Scan do. The same source serves on droverd's lanes and on a simulated
// NIC. Thread-safety: any number of threads.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "kv.lines.pb.h"

namespace lines_kv {

class KeyValueStore final : public KeyValueLines::Service {
 public:
  explicit KeyValueStore(size_t max_keys = 1 << 20) : max_keys_(max_keys) {}

  uint16_t Get(const GetRequestFixed& request, GetResponseFixed* response) override {
    std::lock_guard lock(mutex_);
    auto entry = entries_.find(request.key());
    if (entry == entries_.end()) return drover::lines::kStatusNotFound;
    response->set_version(entry->second.version);
    return response->set_value(entry->second.value) ? drover::lines::kStatusOk : drover::lines::kStatusInternal;
  }

  uint16_t Set(const SetRequestFixed& request, SetResponseFixed* response) override {
    std::lock_guard lock(mutex_);
    auto entry = entries_.find(request.key());
    if (entry == entries_.end()) {
      if (entries_.size() >= max_keys_) return drover::lines::kStatusResourceExhausted;
      entry = entries_.emplace(request.key(), Entry{}).first;
    }
    entry->second.value = request.value();
    response->set_version(++entry->second.version);
    return drover::lines::kStatusOk;
  }

  uint16_t Scan(const ScanRequest& request, ScanResponse* response) override {
    std::lock_guard lock(mutex_);
    const std::string_view prefix = request.prefix();
    for (auto entry = entries_.lower_bound(prefix); entry != entries_.end(); ++entry) {
      const bool more = static_cast<uint32_t>(response->entries_size()) < request.limit();
      if (!more || std::string_view(entry->first).substr(0, prefix.size()) != prefix) break;
      ScanResponse::Entry* added = response->add_entries();
      added->set_key(entry->first);
      added->set_value(entry->second.value);
    }
    return drover::lines::kStatusOk;
  }

 private:
  struct Entry {
    uint64_t version = 0;
    std::string value;
  };
  const size_t max_keys_;
  std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace lines_kv
