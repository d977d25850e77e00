#include "engine/grpc/message_coder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/clock.h"

namespace drover::engine {
MessageCoding& MessageCoder::coding_of(CallStream& stream) {
  if (stream.coding == nullptr) stream.coding = std::make_unique<MessageCoding>();
  return *stream.coding;
}

// ---- requests

bool MessageCoder::begin_request(CallStream& stream, std::string_view message, int64_t turn_ns) {
  MessageCoding& coding = coding_of(stream);
  coding.message = message;
  if (pool_.at_once(turn_ns, [&] { return step_request(stream); })) return true;
  if (!requests_.empty() && coding.inflater != nullptr) pool_.keep(std::move(coding.inflater));
  return false;
}

// True: it is over.
bool MessageCoder::step_request(CallStream& stream) {
  MessageCoding& coding = *stream.coding;
  if (coding.inflater == nullptr) {
    if (stream.request_streams && stream.io->requests.holds() && !stream.io->requests.held_compressed()) return true;
    coding.inflater = pool_.take_inflater();
    const Compression compression = compression_of(stream.request().encoding);
    if (!coding.inflater->begin(compression, coding.message, stream.max_request_bytes, &account_)) return true;
  }
  return coding.inflater->step() != Inflater::Result::kMore;
}

void MessageCoder::add_request(CallStream& stream, std::string_view message) {
  MessageCoding& coding = coding_of(stream);
  requests_.push_back(&stream);
  coding.request_waits = true;
  coding.message = message;
  if (coding.inflater != nullptr) coding.inflater->moved(message.data());
}

std::unique_ptr<Inflater> MessageCoder::take_request(CallStream& stream) {
  stream.coding->collected.clear();
  return std::move(stream.coding->inflater);
}

void MessageCoder::drop_request(CallStream& stream) {
  stream.coding->collected.clear();
  if (stream.coding->inflater != nullptr) pool_.keep(std::move(stream.coding->inflater));
}

Status MessageCoder::status_of(const CallStream& stream, const Inflater& request) {
  const auto internal = [&](const char* what) {
    return Status{StatusCode::kInternal, "a message compressed by " +
                                             std::string(compression_name(compression_of(stream.request().encoding))) +
                                             " " + what};
  };
  switch (request.result()) {
    case Inflater::Result::kDone:
      return {};
    case Inflater::Result::kCorrupt:
      return internal("is corrupted");
    case Inflater::Result::kCut:
      return internal("is cut short");
    case Inflater::Result::kTrailing:
      return internal("has bytes behind its end");
    case Inflater::Result::kTooLarge:
      return {StatusCode::kResourceExhausted, "Received message larger than max (more than " +
                                                  std::to_string(stream.max_request_bytes) +
                                                  " bytes once decompressed)"};
    case Inflater::Result::kMore:
    case Inflater::Result::kNoMemory:
      break;
  }
  return {StatusCode::kResourceExhausted, "no memory to decompress a message"};
}

// ---- replies

bool MessageCoder::begin_reply(CallStream& stream, std::span<const Piece> pieces, size_t size, int64_t turn_ns) {
  MessageCoding& coding = coding_of(stream);
  coding.pieces = pieces;
  coding.size = size;
  if (pool_.at_once(turn_ns, [&] { return step_reply(stream); })) return true;
  if (!replies_.empty() && coding.deflater != nullptr) pool_.keep(std::move(coding.deflater));
  return false;
}

// True: it is over.
bool MessageCoder::step_reply(CallStream& stream) {
  MessageCoding& coding = *stream.coding;
  if (coding.deflater == nullptr) {
    coding.deflater = pool_.take_deflater();
    if (!coding.deflater->begin(coding.reply_compression, level_, coding.pieces, coding.size, &account_)) return true;
  }
  return coding.deflater->step() != Deflater::Result::kMore;
}

void MessageCoder::add_reply(CallStream& stream, std::span<const Piece> pieces, size_t size) {
  MessageCoding& coding = coding_of(stream);
  replies_.push_back(&stream);
  coding.reply_waits = true;
  coding.pieces = pieces;
  coding.size = size;
}

Deflater* MessageCoder::reply(const CallStream& stream) {
  Deflater* deflater = stream.coding->deflater.get();
  return deflater->result() == Deflater::Result::kDone ? deflater : nullptr;
}

void MessageCoder::end_reply(CallStream& stream) { pool_.keep(std::move(stream.coding->deflater)); }

// ---- later turns

MessageCoder::Over MessageCoder::work(int64_t end_ns) {
  while (busy()) {
    reply_was_last_ = requests_.empty() || (!replies_.empty() && !reply_was_last_);
    std::deque<CallStream*>& list = reply_was_last_ ? replies_ : requests_;
    CallStream& stream = *list.front();
    if (reply_was_last_ ? step_reply(stream) : !is_wanted(stream) || step_request(stream)) {
      list.pop_front();
      (reply_was_last_ ? stream.coding->reply_waits : stream.coding->request_waits) = false;
      return {&stream, reply_was_last_};
    }
    if (monotonic_ns() >= end_ns) break;
  }
  return {};
}

void MessageCoder::forget(CallStream& stream) {
  if (stream.coding == nullptr) return;
  MessageCoding& coding = *stream.coding;
  if (coding.request_waits) std::erase(requests_, &stream);
  if (coding.reply_waits) std::erase(replies_, &stream);
  if (coding.inflater != nullptr) pool_.keep(std::move(coding.inflater));
  if (coding.deflater != nullptr) pool_.keep(std::move(coding.deflater));
  stream.coding.reset();
}

}  // namespace drover::engine
