// CompletionQueue: the calls that have ended, in the order in which their responses came, for programs that look for
// them elsewhere than where they poll (Dagger's completion queue). Responses are copied: those of one line into the
// queue itself, longer ones to the heap. RpcClientPool: one client for each thread, over ports of their own.
//
// Thread-safety: one thread for each queue and each client of a pool.
#pragma once

#include <array>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "host/lines/rpc_client.h"

namespace drover::lines {

class CompletedCall {
 public:
  CompletedCall() = default;
  explicit CompletedCall(const Completion& done) : tag_(done.tag), status_(done.status), size_(done.response.size()) {
    if (size_ > short_.size()) {
      long_.assign(done.response.begin(), done.response.end());
    } else if (size_ != 0) {
      std::memcpy(short_.data(), done.response.data(), size_);
    }
  }
  uint64_t tag() const { return tag_; }
  uint16_t status() const { return status_; }
  std::span<const std::byte> response() const { return {size_ > short_.size() ? long_.data() : short_.data(), size_}; }

 private:
  uint64_t tag_ = 0;
  uint16_t status_ = 0;
  size_t size_ = 0;
  alignas(16) std::array<std::byte, kLineArguments> short_;
  std::vector<std::byte> long_;
};

class CompletionQueue {
 public:
  // Takes what has come to the client, at most `limit` lines, and what has timed out.
  template <typename Client>  // BasicRpcClient, or a generated client
  uint32_t poll(Client* client, uint32_t limit) {
    auto keep = [this](const Completion& done) { ended_.emplace_back(done); };
    return client->poll(limit, keep) + client->expire(keep);
  }
  // The call that ended first; false: none.
  bool pop(CompletedCall* out) {
    if (ended_.empty()) return false;
    *out = std::move(ended_.front());
    ended_.pop_front();
    return true;
  }
  size_t size() const { return ended_.size(); }

 private:
  std::deque<CompletedCall> ended_;
};

// `Client`: BasicRpcClient, or a generated client.
template <Port P, typename Client = BasicRpcClient<P>>
class BasicRpcClientPool {
 public:
  // ports[i] carries connections[i]; both have the same size.
  BasicRpcClientPool(std::span<P* const> ports, std::span<const uint16_t> connections,
                     const RpcClientOptions& options = {}) {
    for (size_t i = 0; i < ports.size(); ++i) clients_.emplace_back(ports[i], connections[i], options);
  }
  size_t size() const { return clients_.size(); }
  Client& client(size_t thread) { return clients_[thread]; }

 private:
  std::deque<Client> clients_;
};

}  // namespace drover::lines
