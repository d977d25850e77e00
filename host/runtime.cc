#include "host/runtime.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "host/listen_address.h"
#include "host/log.h"
#include "host/queue_poller.h"

namespace drover::host {
namespace {

constexpr int kWatchMs = 1'000;  // how often the control thread looks at the workers' own complaints
constexpr int kDrainLookMs = 2;
constexpr auto kFirstPause = std::chrono::milliseconds(10);
constexpr auto kLongestPause = std::chrono::milliseconds(1'000);
// If no call has been here for this long, an engine that does not report the end of its drain is not waited for.
constexpr auto kDrainPatience = std::chrono::seconds(5);
// How long an engine may take until all workers know that no further call comes.
constexpr auto kTellPatience = std::chrono::seconds(1);
constexpr int kMessagesPerTurn = 64;
constexpr uint32_t kLoggedErrors = 20;  // of one engine
constexpr uint64_t kForeverMs = 365ull * 24 * 3600 * 1000;

// The engine's text, for a terminal.
std::string printable(std::string text) {
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

}  // namespace

Runtime::Runtime(Offer offer) : offer_(std::move(offer)) {
  nudge_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (offer_.led_by_queues) return;
  Crew::Options crew;
  crew.max_threads = offer_.options.max_threads;
  crew.takeover_ns = offer_.options.takeover_ns;
  crew.cpus = offer_.options.host_cpus;
  crew_ = std::make_unique<Crew>(crew);
}

std::unique_ptr<Runtime> Runtime::start(Offer offer, std::vector<uint32_t>* ports, std::string* error) {
  std::unique_ptr<Runtime> runtime(new Runtime(std::move(offer)));
  AttachError why;
  auto attachment = runtime->attach(ports, &why, [] { return false; });
  if (!attachment) {
    *error = why.message;
    runtime->stopped_ = true;
    return nullptr;
  }
  runtime->adopt(std::move(attachment), *ports);
  runtime->control_ = std::thread([raw = runtime.get()] { raw->control_main(); });
  return runtime;
}

std::unique_ptr<Attachment> Runtime::attach(std::vector<uint32_t>* ports, AttachError* error,
                                            const std::function<bool()>& give_up) {
  auto attachment = Attachment::open(offer_, ports, error, give_up);
  const HostOptions& asked = offer_.options;
  const bool wished = offer_.rx_bytes != asked.rx_bytes || offer_.tx_bytes != asked.tx_bytes;
  if (attachment || error->code != ControlCode::kResourceExhausted || !wished) return attachment;
  const std::string refusal = printable(error->message);
  // Not for good: the next engine may have the room.
  const uint64_t wished_rx = std::exchange(offer_.rx_bytes, asked.rx_bytes);
  const uint64_t wished_tx = std::exchange(offer_.tx_bytes, asked.tx_bytes);
  attachment = Attachment::open(offer_, ports, error, give_up);
  offer_.rx_bytes = wished_rx;
  offer_.tx_bytes = wished_tx;
  if (attachment) log(LogLevel::kWarning, "%s: large messages may find no room", refusal.c_str());
  return attachment;
}

Runtime::~Runtime() {
  if (!control_.joinable()) return;
  shutdown(Clock::time_point::max());
  control_.join();
}

void Runtime::adopt(std::unique_ptr<Attachment> attachment, const std::vector<uint32_t>& ports) {
  for (size_t i = 0; i < ports.size(); ++i) {
    std::string host, port;
    if (split_port(offer_.addresses[i], &host, &port) && port == "0") {
      offer_.addresses[i] = host + ":" + std::to_string(ports[i]);
    }
  }
  engine_drained_ = false;
  engine_errors_ = 0;
  attachment_ = std::move(attachment);
  workers_.clear();
  for (uint32_t i = 0; i < offer_.options.workers; ++i) {
    workers_.push_back(std::make_shared<Worker>(attachment_->link(), i));
    if (crew_ == nullptr) {
      offer_.poller->lead(workers_.back());
    } else {
      if (offer_.poller != nullptr) offer_.poller->keep(workers_.back());
      crew_->add(workers_.back());
    }
  }
}

void Runtime::shutdown(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  deadline_ = shutdown_asked_ ? std::min(deadline_, deadline) : deadline;
  shutdown_asked_ = true;
  nudge();
  stopped_wake_.wait(lock, [this] { return stopped_; });
}

void Runtime::wait() {
  std::unique_lock lock(mutex_);
  stopped_wake_.wait(lock, [this] { return stopped_; });
}

void Runtime::nudge() { ::eventfd_write(nudge_.get(), 1); }

bool Runtime::shutting_down() {
  std::lock_guard lock(mutex_);
  return shutdown_asked_;
}

// ---- the control thread

void Runtime::control_main() {
  while (!shutting_down()) {
    if (attachment_ != nullptr) {
      serve_until_change();
    } else {
      reattach();
    }
  }
  drain();
  finish();
}

bool Runtime::poll_control(int timeout_ms) {
  pollfd fds[2] = {{nudge_.get(), POLLIN, 0}, {attachment_ ? attachment_->socket().fd() : -1, POLLIN, 0}};
  ::poll(fds, 2, timeout_ms);
  if ((fds[0].revents & POLLIN) != 0) {
    eventfd_t ignored;
    ::eventfd_read(nudge_.get(), &ignored);
  }
  return fds[1].revents != 0;
}

void Runtime::serve_until_change() {
  if (poll_control(kWatchMs)) take_messages();
  if (attachment_ == nullptr) return;
  if (const char* what = attachment_->link()->broken.load(std::memory_order_acquire)) abandon_engine(what);
}

// An engine that says more than this in a turn is read on in the next: there may be a shutdown to begin.
void Runtime::take_messages() {
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    ControlError error;
    std::vector<UniqueFd> fds;
    auto message = attachment_->socket().receive(&fds, 0, &error);
    if (!message) {
      if (error.code == ControlCode::kWouldBlock || error.code == ControlCode::kTimeout) return;
      return abandon_engine(error.code == ControlCode::kClosed ? "it closed the connection" : error.message.c_str());
    }
    if (auto* status = std::get_if<HostStatus>(&*message)) {
      engine_drained_ = engine_drained_ || status->state == HostStatus::State::kDrained;
    } else if (auto* refusal = std::get_if<Error>(&*message)) {
      if (engine_errors_++ < kLoggedErrors)
        log(LogLevel::kError, "the engine says: %s", printable(refusal->text).c_str());
    } else if (std::holds_alternative<Draining>(*message)) {
      log(LogLevel::kInfo, "the engine drains");
    }
  }
}

void Runtime::abandon_engine(const char* why) {
  log(LogLevel::kWarning, "the engine has gone: %s", why);
  attachment_->link()->gone.store(true, std::memory_order_release);
  wake_workers();
  workers_.clear();  // the crew keeps those that still have calls
  attachment_.reset();
}

void Runtime::wake_workers() {
  for (auto& worker : workers_) worker->request_cancel_scan();
}

void Runtime::reattach() {
  auto pause = kFirstPause;
  while (!shutting_down()) {
    std::vector<uint32_t> ports;
    AttachError error;
    auto attachment = attach(&ports, &error, [this] { return shutting_down(); });
    if (attachment) {
      log(LogLevel::kWarning, "attached to another engine");
      return adopt(std::move(attachment), ports);
    }
    if (shutting_down()) return;
    log(LogLevel::kError, "no engine: %s; trying again", error.message.c_str());
    poll_control(static_cast<int>(pause.count()));
    pause = std::min(2 * pause, kLongestPause);
  }
}

uint32_t Runtime::calls_in_flight() const {
  uint32_t sum = 0;
  for (const auto& worker : workers_) sum += worker->calls_in_flight();
  return sum;
}

uint32_t Runtime::asynchronous_calls() const {
  uint32_t sum = 0;
  for (const auto& worker : workers_) sum += worker->asynchronous_calls();
  return sum;
}

void Runtime::close_requests() {
  if (offer_.requests != nullptr) offer_.requests->close();
}

void Runtime::drain() {
  if (attachment_ == nullptr) return close_requests();
  auto left = [this]() -> std::chrono::milliseconds {
    std::lock_guard lock(mutex_);
    if (deadline_ == Clock::time_point::max()) return std::chrono::milliseconds(kForeverMs);
    return std::max(std::chrono::milliseconds(0),
                    std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()));
  };
  ControlError error;
  attachment_->socket().send(Drain{static_cast<uint64_t>(left().count())}, kWatchMs, &error);
  const auto began = Clock::now();
  auto last_busy = began;
  const uint32_t lanes = attachment_->link()->layout.channels();
  bool cancelled = false, closed = false;
  while (attachment_ != nullptr) {
    if (poll_control(kDrainLookMs)) take_messages();
    if (attachment_ == nullptr) return close_requests();  // it has died; finish waits for the handlers
    if (crew_ == nullptr) offer_.poller->serve_if_free();
    const bool told = engine_drained_ || attachment_->link()->drains.load(std::memory_order_acquire) >= lanes;
    if (!closed && (told || cancelled || Clock::now() - began > kTellPatience)) {
      close_requests();
      closed = true;
    }
    // Cancelled calls of completion queues end when the application ends them, which may be after this.
    uint32_t busy = calls_in_flight() - (cancelled ? asynchronous_calls() : 0);
    if (busy != 0) last_busy = Clock::now();
    bool quiet = engine_drained_ || cancelled || Clock::now() - last_busy > kDrainPatience;
    if (busy == 0 && quiet) return;
    if (left().count() == 0) {
      // Once, and again for calls that came in late.
      cancelled = true;
      attachment_->link()->cancel_all.store(true, std::memory_order_release);
      wake_workers();
    }
  }
}

void Runtime::finish() {
  if (attachment_ != nullptr) {
    attachment_->link()->gone.store(true, std::memory_order_release);
    wake_workers();
    workers_.clear();
  }
  crew_.reset();  // waits for the workers, and so for every handler
  attachment_.reset();
  std::lock_guard lock(mutex_);
  stopped_ = true;
  stopped_wake_.notify_all();
}

}  // namespace drover::host
