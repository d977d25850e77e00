#include "engine/dispatch/response_reader.h"

#include <algorithm>

#include "engine/dispatch/host_link.h"

namespace drover::engine {
namespace {

constexpr size_t kPooledEncodedBytes = 64 << 10;  // reply buffers are kept for the next call, unless they are bigger
constexpr size_t kPooledBytes = 4 << 20;          // of all that are kept
constexpr size_t kPooledEncoded = 1024;

// The widest that wire bytes get: an int32 of 4 bytes takes 10, and its tag one to five.
constexpr uint64_t kWirePerMemory = 4;
// Oneofs share memory, so an object may have more fields than bytes; this bounds the thread's time for it.
constexpr uint64_t kWorkPerMemory = 4, kLeastWork = 1 << 20, kMostWork = 128 << 20;

// The limit on one response's encoding work. A response lies in its channel's tx and rx and in the request's memory; a
// longer encoding repeats the same objects, and would keep the thread from other hosts.
EncodeOptions encode_limits(const CallState& state, size_t max_response_bytes) {
  const ChannelOptions& channel = state.host->host().layout->options();
  uint64_t memory = channel.tx_bytes + channel.rx_bytes;
  for (size_t i = 0; i < state.runs.size(); ++i) memory += state.runs[i].chunks * uint64_t{kChunkSize};
  EncodeOptions options;
  options.max_bytes = std::min<uint64_t>(max_response_bytes, kWirePerMemory * memory);
  options.work_allowance = std::clamp(kWorkPerMemory * memory, kLeastWork, kMostWork);
  return options;
}

}  // namespace

ResponseReader::ResponseReader(size_t max_response_bytes) : max_response_bytes_(max_response_bytes) {
  spare_.reserve(kPooledEncoded);  // recycling takes no memory
}

ResponseReader::Answer ResponseReader::read(CallState& state, const CompleteSlot& slot) {
  HostLink& link = *state.host;
  const Region& region = link.region();
  Answer answer;
  Reply& reply = answer.reply;
  reply.code = status_code_of(slot.status);
  if ((slot.flags & kCompleteNoRoom) != 0) {
    reply.status_message = "the service's reply found no room in its shared memory (channel.tx_bytes)";
  }
  if (slot.trailer != 0) {
    if (const char* wrong = read_trailer(region, slot.trailer, &trailer_)) return broken(wrong);
    reply.status_message = trailer_.message;
    reply.initial = trailer_.initial;
    reply.trailing = trailer_.trailing;
  }
  if (reply.code != StatusCode::kOk) return answer;
  reply.has_message = true;
  if (slot.response == 0) return answer;  // an empty message

  const schema::MessageType& type = link.host().methods[state.method].response;
  const char* object = region.at_tx(slot.response, type.entry().object_size);
  if (object == nullptr || slot.response % 8 != 0) return broken("the response object is not in tx memory");
  Bounds bounds{region.base(), region.size()};
  EncodeOptions options = encode_limits(state, max_response_bytes_);
  options.bounds = &bounds;
  state.reply = take_encoded();
  EncodeResult result = encode(type, reinterpret_cast<const Message*>(object), options, state.reply);
  if (!result.ok()) {
    recycle(state);
    return broken(to_string(result));
  }
  for (const Piece& piece : state.reply->pieces()) answer.lent |= region.contains(piece.data);
  reply.message = state.reply->pieces();
  reply.message_size = result.size;
  return answer;
}

ResponseReader::Answer ResponseReader::broken(std::string why) {
  text_ = "the service's response could not be encoded: " + std::move(why);
  Answer answer;
  answer.reply.code = StatusCode::kInternal;
  answer.reply.status_message = text_;
  return answer;
}

Encoded* ResponseReader::take_encoded() {
  if (spare_.empty()) return new Encoded;
  Encoded* encoded = spare_.back().release();
  spare_.pop_back();
  spare_bytes_ -= encoded->buffer_bytes();
  return encoded;
}

void ResponseReader::recycle(CallState& state) {
  std::unique_ptr<Encoded> owner(state.reply);
  state.reply = nullptr;
  const size_t bytes = owner->buffer_bytes();
  if (bytes > kPooledEncodedBytes || spare_bytes_ + bytes > kPooledBytes) return;
  if (spare_.size() >= kPooledEncoded) return;
  spare_bytes_ += bytes;
  spare_.push_back(std::move(owner));
}

}  // namespace drover::engine
