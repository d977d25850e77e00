#include "engine/dispatch/response_reader.h"

#include <algorithm>

#include "channel/control.h"
#include "codec/compiler.h"
#include "codec/encode/hostile_limits.h"
#include "engine/base/clock.h"
#include "engine/dispatch/host_link.h"
#include "engine/dispatch/raw_message.h"
#include "engine/dispatch/stream_state.h"

namespace drover::engine {
namespace {

static_assert(static_cast<int>(Compress::kHigh) == static_cast<int>(ReplyCompression::kHigh));

constexpr size_t kLongTrailerBytes = 4096;  // such a trailer takes time of its own
constexpr std::string_view kNoRoomInTx = "the service's reply found no room in its shared memory (channel.tx_bytes)";

// A response lies in its channel's tx and rx and in the request's memory.
EncodeOptions encode_limits(const CallState& state, size_t max_response_bytes) {
  const ChannelOptions& channel = state.host->host().layout->options();
  uint64_t memory = channel.tx_bytes + channel.rx_bytes;
  for (size_t i = 0; i < state.runs.size(); ++i) memory += state.runs[i].chunks * uint64_t{kChunkSize};
  return hostile_limits(memory, max_response_bytes);
}

// Ends an encoding that takes longer than inline_ns from its first call on.
struct InlineTime {
  const int64_t inline_ns;
  int64_t since_ns = 0;
  bool over = false;

  static bool go_on(void* context) {
    auto& self = *static_cast<InlineTime*>(context);
    int64_t now = monotonic_ns();
    if (self.since_ns == 0) self.since_ns = now;
    self.over = now - self.since_ns >= self.inline_ns;
    return !self.over;
  }
};

const Message* object_of(const HostLink& link, const schema::MessageType& type, uint64_t offset) {
  const char* object = link.region().at_tx(offset, type.entry().object_size);
  return object != nullptr && offset % 8 == 0 ? reinterpret_cast<const Message*>(object) : nullptr;
}

Bounds bounds_of(const HostLink& link) { return {link.region().base(), link.region().size()}; }

}  // namespace

size_t ResponseReader::room(const HostLink& link) const { return memory_.room(*link.replies); }

bool ResponseReader::read_trailer_of(const CallState& state, const CompleteSlot& slot, Answer* answer) {
  Reply& reply = answer->reply;
  if (const char* wrong = read_trailer(state.host->region(), slot.trailer, &trailer_)) {
    *answer = broken(wrong);
    return false;
  }
  reply.status_message = trailer_.message;
  reply.initial = trailer_.initial;
  reply.trailing = trailer_.trailing;
  if (state.headers_sent && !ResponseReader::is_step(slot) && !reply.initial.empty()) {
    *answer = broken("initial metadata twice");
    return false;
  }
  if (trailer_.bytes >= kLongTrailerBytes) answer->long_since_ns = monotonic_ns();
  return true;
}

DROVER_NOINLINE bool ResponseReader::read_compression(const CompleteSlot& slot, Answer* answer) {
  if (slot.compression > static_cast<uint8_t>(ReplyCompression::kHigh)) {
    *answer = broken("a compression that there is not");
    return false;
  }
  answer->reply.compress = static_cast<Compress>(slot.compression);
  return true;
}

DROVER_NOINLINE bool ResponseReader::read_head_of_stream(const CallState& state, const CompleteSlot& slot,
                                                         Answer* answer) {
  Reply& reply = answer->reply;
  const bool step = is_step(slot);
  if (!step) reply.code = status_code_of(slot.status);
  if (!step && (slot.flags & kCompleteNoRoom) != 0) reply.status_message = kNoRoomInTx;
  if (slot.trailer != 0 && !read_trailer_of(state, slot, answer)) return false;
  const char* wrong = nullptr;
  if (state.stream->headers_sent && !reply.initial.empty()) wrong = "initial metadata behind the first message";
  if (step && (!reply.trailing.empty() || !reply.status_message.empty())) wrong = "a status in front of the end";
  if (!step && slot.response != 0) wrong = "a message in the COMPLETE of a reply that streams";
  if (wrong != nullptr) {
    *answer = broken(wrong);
    return false;
  }
  reply.ends = !step;
  reply.has_message = step && (slot.flags & kReplyMessageHeadersOnly) == 0;
  reply.as_it_is = step && (slot.flags & kReplyMessageAsItIs) != 0;
  if (slot.compression != 0 && !read_compression(slot, answer)) return false;
  return reply.has_message && slot.response != 0;
}

template <bool kStream>
DROVER_INLINE bool ResponseReader::read_head(const CallState& state, const CompleteSlot& slot, Answer* answer) {
  if (kStream && (state.stream_flags & kMethodReplyStreams) != 0) return read_head_of_stream(state, slot, answer);
  Reply& reply = answer->reply;
  reply.code = status_code_of(slot.status);
  if ((slot.flags & kCompleteNoRoom) != 0) {
    reply.status_message = kNoRoomInTx;
  }
  if (slot.trailer != 0 && !read_trailer_of(state, slot, answer)) return false;
  if (reply.code != StatusCode::kOk) return false;
  reply.has_message = true;
  if (slot.compression != 0 && !read_compression(slot, answer)) [[unlikely]]
    return false;
  return slot.response != 0;  // 0: an empty message
}

ResponseReader::Answer ResponseReader::read_headers(const CallState& state, const CompleteSlot& slot) {
  Answer answer;
  Reply& reply = answer.reply;
  if (slot.trailer != 0 && !read_trailer_of(state, slot, &answer)) return answer;
  if (slot.compression != 0 && !read_compression(slot, &answer)) return answer;
  if (!reply.trailing.empty() || !reply.status_message.empty()) return broken("a status in front of the end");
  reply.ends = false;
  return answer;
}

bool ResponseReader::read_any_head(const CallState& state, const CompleteSlot& slot, Answer* answer) {
  return state.stream != nullptr ? read_head<true>(state, slot, answer) : read_head<false>(state, slot, answer);
}

// The message lies in `encoded`, which is the call's from now on.
template <bool kStream>
DROVER_INLINE void ResponseReader::take_over(CallState& state, std::unique_ptr<Encoded> encoded, Answer* answer) {
  HostLink& link = *state.host;
  if (kStream && (state.stream_flags & kMethodRaw) != 0 && !unwrap_raw(encoded.get())) {
    memory_.keep(std::move(encoded));
    *answer = broken("a raw message with other fields");
    return;
  }
  answer->reply.message = encoded->pieces();
  answer->reply.message_size = encoded->size();
  for (const Piece& piece : encoded->pieces()) answer->lent |= link.region().contains(piece.data);
  memory_.give(state, std::move(encoded), *link.replies);
}

ResponseReader::Answer ResponseReader::read(CallState& state, const CompleteSlot& slot) {
  if (state.stream != nullptr) [[unlikely]]
    return read_stream(state, slot);
  return read_as<false>(state, slot);
}

DROVER_NOINLINE ResponseReader::Answer ResponseReader::read_stream(CallState& state, const CompleteSlot& slot) {
  return read_as<true>(state, slot);
}

template <bool kStream>
DROVER_INLINE ResponseReader::Answer ResponseReader::read_as(CallState& state, const CompleteSlot& slot) {
  Answer answer;
  if (!read_head<kStream>(state, slot, &answer)) return answer;
  HostLink& link = *state.host;
  const schema::MessageType& type = link.host().methods[state.method].response;
  const Message* object = object_of(link, type, slot.response);
  if (object == nullptr) {
    answer = broken("the response object is not in tx memory");
    return answer;
  }
  InlineTime time{options_.inline_ns};
  Bounds bounds = bounds_of(link);
  EncodeOptions options = encode_limits(state, options_.max_response_bytes);
  options.bounds = &bounds;
  options.max_buffer_bytes = memory_.room(*link.replies);
  options.pause = InlineTime::go_on;
  options.pause_context = &time;
  std::unique_ptr<Encoded> to = memory_.take();
  EncodeResult result = encode(type, object, options, to.get());
  answer.long_since_ns |= time.since_ns;
  if (result.ok()) [[likely]] {
    take_over<kStream>(state, std::move(to), &answer);
  } else {
    memory_.keep(std::move(to));
    if (time.over) {
      answer.outcome = Outcome::kLong;
    } else {
      failed(state, result, &answer);
    }
  }
  return answer;
}

std::unique_ptr<LongAnswer> ResponseReader::begin_long(const CallState& state, const CompleteSlot& slot) {
  HostLink& link = *state.host;
  const schema::MessageType& type = link.host().methods[state.method].response;
  return std::make_unique<LongAnswer>(slot, type, object_of(link, type, slot.response), bounds_of(link),
                                      encode_limits(state, options_.max_response_bytes), memory_, *link.replies);
}

ResponseReader::Answer ResponseReader::finish(CallState& state, LongAnswer& done) {
  Answer answer;
  if (!read_any_head(state, done.slot(), &answer)) return answer;  // the host has changed its mind
  std::unique_ptr<Encoded> encoded = done.take();
  if (encoded != nullptr) {
    state.stream != nullptr ? take_over<true>(state, std::move(encoded), &answer)
                            : take_over<false>(state, std::move(encoded), &answer);
  } else {
    failed(state, done.result(), &answer);
  }
  return answer;
}

ResponseReader::Answer ResponseReader::copied(const CallState& state, const CompleteSlot& slot) {
  Answer answer;
  if (!read_any_head(state, slot, &answer)) return answer;  // the host has changed its mind
  answer.reply.message = {&state.reply_copy, 1};
  answer.reply.message_size = state.reply_copy.size;
  return answer;
}

void ResponseReader::failed(const CallState& state, const EncodeResult& result, Answer* answer) {
  if (result.error != EncodeError::kNoRoom) {
    *answer = broken(to_string(result));
    return;
  }
  answer->wanted_bytes = room(*state.host) + 1;
  answer->outcome = Outcome::kNoRoom;
  if (answer->wanted_bytes > memory_.most()) *answer = no_room();  // nor would it find any if the host had no other
}

ResponseReader::Answer ResponseReader::no_room() {
  ++refused_;
  Answer answer;
  answer.reply.code = StatusCode::kResourceExhausted;
  answer.reply.status_message = "the service's reply found no room in the engine (dispatch.max_reply_bytes)";
  return answer;
}

ResponseReader::Answer ResponseReader::broken(std::string why) {
  text_ = "the service's response could not be encoded: " + std::move(why);
  Answer answer;
  answer.reply.code = StatusCode::kInternal;
  answer.reply.status_message = text_;
  return answer;
}

}  // namespace drover::engine
