#include "engine/dispatch/long_answer.h"

#include <new>

#include "engine/base/clock.h"

namespace drover::engine {

LongAnswer::LongAnswer(const CompleteSlot& slot, const schema::MessageType& type, const Message* object,
                       const Bounds& bounds, const EncodeOptions& options, ReplyMemory& memory, ReplyAccount& account)
    : slot_(slot),
      type_(type),
      object_(object),
      bounds_(bounds),
      options_(options),
      memory_(memory),
      account_(account),
      encoded_(std::make_unique<Encoded>()) {
  options_.bounds = &bounds_;
  options_.pause = pause;
  options_.pause_context = this;
  result_.error = EncodeError::kOutOfMemory;  // unless it runs
  fiber_.start([this] {
    try {
      result_ = encode(type_, object_, options_, encoded_.get());
    } catch (const std::bad_alloc&) {
      result_.error = EncodeError::kOutOfMemory;
    }
  });
}

LongAnswer::~LongAnswer() {
  stop_ = true;
  while (fiber_.running()) fiber_.resume();
  memory_.discharge(account_, charged_);
}

bool LongAnswer::step(int64_t end_ns) {
  end_ns_ = end_ns;
  if (fiber_.running()) {
    options_.max_buffer_bytes = encoded_->buffer_bytes() + memory_.room(account_);
    fiber_.resume();
    charge();
  }
  return !fiber_.running();
}

std::unique_ptr<Encoded> LongAnswer::take() {
  memory_.discharge(account_, charged_);
  charged_ = 0;
  return result_.ok() ? std::move(encoded_) : nullptr;
}

void LongAnswer::charge() {
  size_t bytes = encoded_->buffer_bytes();
  if (bytes > charged_) memory_.charge(account_, bytes - charged_);
  charged_ = bytes;
}

bool LongAnswer::pause(void* self) { return static_cast<LongAnswer*>(self)->pause_if_due(); }

bool LongAnswer::pause_if_due() {
  if (!stop_ && monotonic_ns() >= end_ns_) fiber_.pause();
  return !stop_;
}

}  // namespace drover::engine
