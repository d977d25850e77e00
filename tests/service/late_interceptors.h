// Interceptors for the soak: two for each call, which do what its metadata ask for, and else only proceed.
//
//   x-late: MASK     hooks by their numbers in InterceptionHookPoints, as bits: at batches that have one of them the
//                    first interceptor proceeds up to 4 ms later, on another thread. PRE_SEND_CANCEL is never late.
//   x-mark: TEXT     goes out as initial metadata "mark-first" and trailing metadata "mark-last"
//   x-change: yes    Echo: the request gets "<" behind its text, its reply ">" by its wire bytes
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "testing.grpc.pb.h"

namespace drover::testing {

// Runs functions later, on a thread of its own, which lives as long as the process.
class Later {
 public:
  static Later& instance() {
    static auto* made = new Later;
    return *made;
  }
  void run(std::chrono::microseconds after, std::function<void()> what) {
    std::lock_guard<std::mutex> lock(mutex_);
    due_.emplace(std::chrono::steady_clock::now() + after, std::move(what));
    wake_.notify_one();
  }

 private:
  Later() {
    std::thread([this] { main(); }).detach();
  }
  void main() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      if (due_.empty()) {
        wake_.wait(lock);
      } else if (std::chrono::steady_clock::now() < due_.begin()->first) {
        wake_.wait_until(lock, due_.begin()->first);
      } else {
        auto what = std::move(due_.begin()->second);
        due_.erase(due_.begin());
        lock.unlock();
        what();
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::multimap<std::chrono::steady_clock::time_point, std::function<void()>> due_;
};

class LateInterceptor final : public grpc::experimental::Interceptor {
 public:
  LateInterceptor(bool first, grpc::experimental::ServerRpcInfo* info) : first_(first), info_(info) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    const auto has = [methods](Hook hook) { return methods->QueryInterceptionHookPoint(hook); };
    if (has(Hook::POST_RECV_INITIAL_METADATA)) learn(*methods->GetRecvInitialMetadata());
    if (first_ && changes_ && has(Hook::POST_RECV_MESSAGE)) {
      if (auto* request = static_cast<EchoRequest*>(methods->GetRecvMessage())) {
        request->set_text(std::string(request->text()) + "<");
      }
    }
    if (first_ && changes_ && has(Hook::PRE_SEND_MESSAGE)) change_reply(methods->GetSerializedSendMessage());
    if (first_ && !mark_.empty() && has(Hook::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->insert({"mark-first", mark_});
    }
    if (!first_ && !mark_.empty() && has(Hook::PRE_SEND_STATUS)) {
      methods->GetSendTrailingMetadata()->insert({"mark-last", mark_});
    }
    if (!is_late(methods)) return methods->Proceed();
    // Batches of one call may come on two threads. Two that take the same number do no harm.
    const uint32_t random = random_.load(std::memory_order_relaxed) * 1664525 + 1013904223;
    random_.store(random, std::memory_order_relaxed);
    Later::instance().run(std::chrono::microseconds(random % 4000), [methods] { methods->Proceed(); });
  }

 private:
  void learn(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
    const auto text = [&metadata](const char* key) {
      const auto found = metadata.find(key);
      return found == metadata.end() ? std::string() : std::string(found->second.data(), found->second.size());
    };
    mark_ = text("x-mark");
    late_ = static_cast<uint32_t>(std::atoi(text("x-late").c_str()));
    changes_ = text("x-change") == "yes" && std::string_view(info_->method()) == "/drover.testing.TestService/Echo";
    random_ = static_cast<uint32_t>(std::hash<std::string>()(text("x-call")));
  }
  bool is_late(grpc::experimental::InterceptorBatchMethods* methods) {
    if (!first_) return false;
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Hook::PRE_SEND_CANCEL)) return false;  // over when Intercept returns
    for (uint32_t hook = 0; hook < 32; ++hook) {
      if ((late_ >> hook & 1) == 0) continue;
      if (methods->QueryInterceptionHookPoint(static_cast<Hook>(hook))) return true;
    }
    return false;
  }
  static void change_reply(grpc::ByteBuffer* bytes) {
    EchoReply reply;
    grpc::ByteBuffer copy = *bytes, changed;
    bool own = false;
    if (!grpc::SerializationTraits<EchoReply>::Deserialize(&copy, &reply).ok()) return;
    reply.set_text(std::string(reply.text()) + ">");
    if (grpc::SerializationTraits<EchoReply>::Serialize(reply, &changed, &own).ok()) bytes->Swap(&changed);
  }

  const bool first_;
  grpc::experimental::ServerRpcInfo* const info_;
  std::string mark_;
  uint32_t late_ = 0;
  std::atomic<uint32_t> random_{0};
  bool changes_ = false;
};

class LateInterceptorFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit LateInterceptorFactory(bool first) : first_(first) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    return new LateInterceptor(first_, info);
  }

 private:
  const bool first_;
};

inline void add_late_interceptors(grpc::ServerBuilder* builder) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
  creators.emplace_back(new LateInterceptorFactory(true));
  creators.emplace_back(new LateInterceptorFactory(false));
  builder->experimental().SetInterceptorCreators(std::move(creators));
}

}  // namespace drover::testing
