#include <grpcpp/ext/call_metric_recorder.h>
#include <grpcpp/server_context.h>

#include <ctime>

#include <deque>
#include <limits>
#include <mutex>
#include <utility>

#include "channel/doorbell.h"
#include "host/async_call.h"
#include "host/auth_context.h"
#include "host/call.h"
#include "host/load_reports.h"

namespace grpc {

// The client's metadata as gRPC shows it. Filled once per call, at the first request for it.
struct ServerContextBase::Metadata {
  std::mutex mutex;
  std::atomic<bool> filled{false};
  std::multimap<string_ref, string_ref> client;
  string_ref authority;
  std::deque<std::string> kept;  // what client and authority show, where rx is not to be trusted with it
};

namespace {

string_ref ref(std::string_view s) { return string_ref(s.data(), s.size()); }

}  // namespace

ServerContextBase::ServerContextBase() = default;
// Held for a few instructions; costs nothing for contexts of the runtime's.
class ServerContextBase::AsyncLock {
 public:
  explicit AsyncLock(const ServerContextBase& context) : lock_(context.async_ ? &context.lock_ : nullptr) {
    while (lock_ != nullptr && lock_->exchange(true, std::memory_order_acquire)) drover::cpu_relax();
  }
  ~AsyncLock() {
    if (lock_ != nullptr) lock_->store(false, std::memory_order_release);
  }
  AsyncLock(const AsyncLock&) = delete;
  AsyncLock& operator=(const AsyncLock&) = delete;

 private:
  std::atomic<bool>* const lock_;
};

ServerContextBase::~ServerContextBase() {
  if (async_) [[unlikely]] {
    drover::host::Call* call = nullptr;
    {
      AsyncLock lock(*this);
      call = std::exchange(call_, nullptr);
    }
    if (call != nullptr) call->async->abandon();
  }
  delete load_.load(std::memory_order_relaxed);
  delete metadata_.load(std::memory_order_relaxed);
}

void ServerContextBase::drover_bind(drover::host::Call& call) {
  call_ = &call;
  async_ = true;
}

void ServerContextBase::drover_unbind(bool cancelled) {
  AsyncLock lock(*this);
  was_cancelled_ = cancelled;
  call_ = nullptr;
}

const ServerContextBase::Metadata& ServerContextBase::metadata() const {
  Metadata* metadata = metadata_.load(std::memory_order_acquire);
  if (metadata == nullptr) {
    auto* made = new Metadata();
    if (metadata_.compare_exchange_strong(metadata, made, std::memory_order_acq_rel)) {
      metadata = made;
    } else {
      delete made;
    }
  }
  if (metadata->filled.load(std::memory_order_acquire)) return *metadata;
  std::lock_guard lock(metadata->mutex);
  if (metadata->filled.load(std::memory_order_relaxed)) return *metadata;
  AsyncLock async_lock(*this);
  drover::host::MetadataView view;
  if (call_ != nullptr) view = call_->client_metadata();
  auto keep = [this, metadata](std::string_view s) {
    return ref(async_ || call_->check_requests() ? std::string_view(metadata->kept.emplace_back(s)) : s);
  };
  for (const auto& [key, value] : view.pairs) metadata->client.emplace(keep(key), keep(value));
  metadata->authority = view.authority.empty() ? string_ref() : keep(view.authority);
  metadata->filled.store(true, std::memory_order_release);
  return *metadata;
}

const std::multimap<string_ref, string_ref>& ServerContextBase::client_metadata() const { return metadata().client; }

void ServerContextBase::reset_slow() {
  dirty_ = false;
  compression_level_set_ = compression_algorithm_set_ = false;
  compression_level_ = GRPC_COMPRESS_LEVEL_NONE;
  compression_algorithm_ = GRPC_COMPRESS_NONE;
  added_initial_.clear();
  added_trailing_.clear();
}

void ServerContextBase::drover_reset_load() { delete load_.exchange(nullptr, std::memory_order_relaxed); }

void ServerContextBase::drover_reset_client() {
  Metadata* metadata = metadata_.load(std::memory_order_acquire);
  if (metadata == nullptr || !metadata->filled.load(std::memory_order_acquire)) return;
  metadata->client.clear();
  metadata->kept.clear();
  metadata->filled.store(false, std::memory_order_relaxed);
}

void ServerContextBase::AddInitialMetadata(const std::string& key, const std::string& value) {
  dirty_ = true;
  added_initial_.emplace_back(key, value);
}

void ServerContextBase::AddTrailingMetadata(const std::string& key, const std::string& value) {
  dirty_ = true;
  added_trailing_.emplace_back(key, value);
}

experimental::CallMetricRecorder* ServerContextBase::ExperimentalGetCallMetricRecorder() {
  experimental::CallMetricRecorder* load = load_.load(std::memory_order_acquire);
  if (load != nullptr) return load;
  AsyncLock async_lock(*this);
  const drover::host::LoadReports* reports = call_ == nullptr ? nullptr : call_->load_reports();
  if (reports == nullptr) return nullptr;
  auto made = reports->make_recorder();
  if (!load_.compare_exchange_strong(load, made.get(), std::memory_order_acq_rel)) return load;  // another thread's
  return made.release();
}

void ServerContextBase::drover_report_load(const drover::host::LoadReports& reports) {
  std::string report = reports.report(load_.load(std::memory_order_acquire));
  if (!report.empty()) AddTrailingMetadata(drover::host::LoadReports::kTrailer, report);
}

std::chrono::system_clock::time_point ServerContextBase::deadline() const { return Timespec2Timepoint(raw_deadline()); }

gpr_timespec ServerContextBase::raw_deadline() const {
  AsyncLock async_lock(*this);
  if (call_ == nullptr || call_->deadline_ns == drover::kNoDeadline) return gpr_inf_future(GPR_CLOCK_REALTIME);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t left = call_->deadline_ns - drover::monotonic_ns();
  int64_t at = 0;
  if (__builtin_add_overflow(now.tv_sec * 1'000'000'000 + now.tv_nsec, left, &at)) {
    return gpr_inf_future(GPR_CLOCK_REALTIME);
  }
  return gpr_time_from_ns(at, GPR_CLOCK_REALTIME);
}

bool ServerContextBase::IsCancelled() const {
  AsyncLock async_lock(*this);
  return call_ == nullptr ? was_cancelled_ : call_->cancelled.load(std::memory_order_acquire);
}

void ServerContextBase::TryCancel() const {
  drover::host::CallInbox* inbox = nullptr;
  std::shared_ptr<const drover::host::CallInterception::Interceptors> interceptors;
  drover::host::CallInterception* interception = nullptr;
  {
    AsyncLock async_lock(*this);
    if (call_ != nullptr) {
      interception = call_->interception.get();
      if (interception != nullptr) interceptors = interception->interceptors();
      inbox = &call_->ask_cancel();
    }
  }
  // Without the lock, since it may end this very call; and also if an interceptor throws.
  struct Scan {
    drover::host::CallInbox* const inbox;
    ~Scan() {
      if (inbox != nullptr) inbox->request_held_scan();
    }
  } scan{inbox};
  if (interceptors != nullptr) interception->tell_of_cancel(*interceptors);
}

std::string ServerContextBase::peer() const {
  AsyncLock async_lock(*this);
  return call_ == nullptr ? std::string() : std::string(call_->peer());
}

string_ref ServerContextBase::ExperimentalGetAuthority() const {
  if (async_) return metadata().authority;
  if (call_ == nullptr) return string_ref();
  return call_->check_requests() ? metadata().authority : ref(call_->authority());
}

std::shared_ptr<const AuthContext> ServerContextBase::auth_context() const {
  static const auto cleartext = std::make_shared<const drover::host::PeerAuthContext>("");
  AsyncLock async_lock(*this);
  const std::string_view identity = call_ == nullptr ? std::string_view() : call_->identity();
  if (identity.empty()) return cleartext;
  return std::make_shared<const drover::host::PeerAuthContext>(identity);
}

ServerUnaryReactor* ServerContextBase::DefaultReactor() {
  if (call_ == nullptr) drover::fatal("DefaultReactor() of a context that belongs to no call");
  return call_->default_reactor();
}

}  // namespace grpc
