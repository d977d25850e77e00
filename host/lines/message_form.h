// How a generated stub's messages become a message's bytes and come back: those of fixed shape as they are
// (fixed_message.h), all others by Drover's codec, as wire bytes. Bytes that come in are hostile.
// Thread-safety: one thread for each scratch.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "host/lines/fixed_message.h"
#include "host/lines/line_message.h"
#include "host/lines/status.h"

namespace drover::lines {

inline constexpr const char* kTooLongReason = "the message has more than 12,288 bytes";
inline constexpr const char* kMissingReason = "the message lacks a required field";
inline constexpr const char* kUndecodedReason = "the bytes are no encoding of the message";

// A generated class (generated/generated_message.h), which the codec encodes.
template <typename M>
concept CodecMessage = !FixedMessage<M> && requires(M& message, const M& constant, void* to) {
  { constant.ByteSizeLong() } -> std::convertible_to<size_t>;
  constant.SerializePartialToArray(to, 0);
  message.drover_merge(std::string_view());
};

// The message's bytes: its own, or those in `scratch`, until either changes. Not ok: it cannot be sent, and says why.
template <FixedMessage M>
Status to_bytes(const M& message, std::vector<std::byte>*, std::span<const std::byte>* bytes) {
  static_assert(M::kFixedBytes <= kMaxMessageBytes);
  *bytes = fixed_bytes(message);
  return {};
}
template <CodecMessage M>
Status to_bytes(const M& message, std::vector<std::byte>* scratch, std::span<const std::byte>* bytes) {
  if (!message.IsInitialized()) return {kStatusInvalidArgument, kMissingReason};
  const size_t size = message.ByteSizeLong();
  if (size > kMaxMessageBytes) return {kStatusResourceExhausted, kTooLongReason};
  if (scratch->size() < size) scratch->resize(size);
  if (!message.SerializePartialToArray(scratch->data(), static_cast<int>(size))) {
    return {kStatusInternal, "the message does not encode"};
  }
  *bytes = std::span(*scratch).first(size);
  return {};
}

// Puts the message that the bytes are into `out`. Else: what is wrong; `out` has no meaning then.
template <FixedMessage M>
const char* from_bytes(std::span<const std::byte> bytes, M* out) {
  const char* why = nullptr;
  const M* message = view_fixed<M>(bytes, &why);
  // By words: a wider load of what a ring's slot was just stored with waits (channel/line.h).
  if (message != nullptr) copy_arguments(out, message, sizeof(M));
  return why;
}
template <CodecMessage M>
const char* from_bytes(std::span<const std::byte> bytes, M* out) {
  out->Clear();
  if (!out->drover_merge({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).ok()) return kUndecodedReason;
  return out->IsInitialized() ? nullptr : kMissingReason;
}

// Calls `use(message)` with what the bytes are, in place where it has a fixed shape. Else: what is wrong.
template <FixedMessage M, typename Use>
const char* with_message(std::span<const std::byte> bytes, Use&& use) {
  const char* why = nullptr;
  if (const M* message = view_fixed<M>(bytes, &why)) use(*message);
  return why;
}
template <CodecMessage M, typename Use>
const char* with_message(std::span<const std::byte> bytes, Use&& use) {
  M message;
  const char* why = from_bytes(bytes, &message);
  if (why == nullptr) use(static_cast<const M&>(message));
  return why;
}

}  // namespace drover::lines
