#include "host/lines/engine/lines_engine.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <chrono>
#include <utility>

#include "host/log.h"

namespace drover::lines {
namespace {

constexpr uint64_t kChunkBytes = 64 << 10;  // of a channel, either way: lines need none
constexpr auto kAnswerTime = std::chrono::seconds(10);
constexpr auto kAskAgain = std::chrono::milliseconds(10);
constexpr int kSendMs = 1'000;

std::string printable(std::string text) {
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

}  // namespace

std::unique_ptr<LinesEngine> LinesEngine::start(const LinesEngineOptions& options, std::string* error) {
  std::optional<host::HostOptions> from = options.host ? options.host : host::HostOptions::from_environment(error);
  if (!from) return nullptr;
  host::Offer offer;
  offer.options = std::move(*from);
  offer.options.workers = options.lanes;
  offer.line_names = options.serves;
  offer.engine_names = options.serves;
  offer.engine_names.insert(offer.engine_names.end(), options.calls.begin(), options.calls.end());
  offer.ring_slots = options.ring_slots;
  offer.rx_bytes = offer.tx_bytes = kChunkBytes;
  std::vector<uint32_t> ports;
  host::AttachError why;
  auto attachment = host::Attachment::open(offer, &ports, &why);
  if (attachment == nullptr) return *error = why.message, nullptr;
  return std::unique_ptr<LinesEngine>(new LinesEngine(std::move(attachment)));
}

LinesEngine::LinesEngine(std::unique_ptr<host::Attachment> attachment)
    : attachment_(std::move(attachment)), nudge_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const host::EngineLink& link = *attachment_->link();
  for (uint32_t lane = 0; lane < link.layout.options().workers; ++lane) {
    ports_.push_back(std::make_unique<LanePort>(link.region, link.layout, link.bells, lane, link.spin, gone_));
  }
  control_ = std::thread([this] { control_main(); });
}

LinesEngine::~LinesEngine() {
  ::eventfd_write(nudge_.get(), 1);
  control_.join();
  leave("this process detached");
}

std::string LinesEngine::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

// ---- the control thread

void LinesEngine::control_main() {
  for (;;) {
    pollfd fds[2] = {{nudge_.get(), POLLIN, 0}, {attachment_->socket().fd(), POLLIN, 0}};
    ::poll(fds, 2, -1);
    if (fds[0].revents != 0) return;
    if (fds[1].revents != 0 && !take_message()) return;
  }
}

// False: the engine has gone.
bool LinesEngine::take_message() {
  ControlError error;
  std::vector<UniqueFd> fds;
  std::unique_lock lock(mutex_);
  auto message = attachment_->socket().receive(&fds, 0, &error);
  if (!message) {
    if (error.code == ControlCode::kWouldBlock || error.code == ControlCode::kTimeout) return true;
    lock.unlock();
    leave(error.code == ControlCode::kClosed ? "the engine has gone: it closed the control socket"
                                             : "the engine has gone: " + error.message);
    return false;
  }
  if (auto* opened = std::get_if<ConnectionOpened>(&*message)) {
    auto question = questions_.find(opened->request);
    if (question != questions_.end()) question->second = std::move(*opened);
    answered_.notify_all();
  } else if (auto* refusal = std::get_if<Error>(&*message)) {
    failure_ = "the engine ended the attachment: " + printable(refusal->text);  // the end of the socket follows
  }
  return true;
}

void LinesEngine::leave(const std::string& why) {
  {
    std::lock_guard lock(mutex_);
    if (gone_.exchange(true)) return;
    if (failure_.empty()) failure_ = why;
    answered_.notify_all();
  }
  const host::EngineLink& link = *attachment_->link();
  for (uint32_t lane = 0; lane < lanes(); ++lane) {
    wake_worker_always(*reinterpret_cast<WorkerShared*>(link.region.base() + link.layout.worker_shared(lane)));
  }
}

// ---- the lanes' threads

std::optional<ConnectionOpened> LinesEngine::ask(const std::string& name, uint32_t lane, std::string* error) {
  std::unique_lock lock(mutex_);
  ControlError why;
  const uint32_t number = next_question_++;
  if (gone_ || !attachment_->socket().send(OpenConnection{number, lane, name}, kSendMs, &why)) {
    *error = gone_ ? failure_ : why.message;
    return std::nullopt;
  }
  auto question = questions_.emplace(number, std::nullopt).first;
  answered_.wait_for(lock, kAnswerTime, [&] { return question->second.has_value() || gone_; });
  std::optional<ConnectionOpened> answer = std::move(question->second);
  questions_.erase(question);
  if (!answer) *error = gone_ ? failure_ : "the engine does not answer";
  return answer;
}

std::optional<uint16_t> LinesEngine::open(const std::string& name, uint32_t lane, int64_t wait_ns, std::string* error) {
  const int64_t end = monotonic_ns() + wait_ns;
  for (;;) {
    std::optional<ConnectionOpened> answer = ask(name, lane, error);
    if (!answer) return std::nullopt;
    if (answer->code == ControlCode::kNone) {
      auto number = static_cast<uint16_t>(answer->connection);
      port(lane).opened(number);
      return number;
    }
    *error = "cannot open a connection to " + name + ": " + printable(answer->text);
    if (answer->code != ControlCode::kNotServed || monotonic_ns() >= end) return std::nullopt;
    std::this_thread::sleep_for(kAskAgain);
  }
}

}  // namespace drover::lines
