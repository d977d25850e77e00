#include "host/checked_request.h"

#include <algorithm>
#include <new>

#include "codec/decode/decode.h"
#include "codec/encode/hostile_limits.h"
#include "object/owner.h"

namespace drover::host {

const Message* CheckedRequest::copy(const Region& region, const schema::MessageType& type, uint64_t offset,
                                    std::string* error) {
  Bounds rx{region.rx(), region.rx_size()};
  EncodeOptions bounded = hostile_limits(region.rx_size(), EncodeOptions().max_bytes);
  bounded.bounds = &rx;
  const auto* object = reinterpret_cast<const Message*>(region.base() + offset);
  EncodeResult encoded = encode(type, object, bounded, &encoded_);
  if (!encoded.ok()) return *error = to_string(encoded), nullptr;
  if (!reserve(encoded.size + 1)) return *error = "no memory for a copy of a request", nullptr;
  encoded_.copy_to(wire_.get());

  arena_.reset();
  void* memory = arena_.allocate_zeroed(type.entry().object_size);
  if (memory == nullptr) return *error = "no memory for a copy of a request", nullptr;
  static_cast<MessageHeader*>(memory)->owner = kReceived;
  DecodeOptions received;
  received.received = received.alias = received.terminate_aliases = true;
  received.depth_limit = bounded.depth_limit;
  auto* copied = static_cast<Message*>(memory);
  DecodeResult decoded = decode(type, copied, std::string_view(wire_.get(), encoded.size), arena_, received);
  if (!decoded.ok()) return *error = to_string(decoded), nullptr;
  return copied;
}

bool CheckedRequest::reserve(size_t bytes) {
  if (bytes <= capacity_) return true;
  size_t capacity = std::max(bytes, 2 * capacity_);
  wire_.reset(new (std::nothrow) char[capacity]);
  capacity_ = wire_ == nullptr ? 0 : capacity;
  return wire_ != nullptr;
}

void CheckedRequest::clear() {
  if (arena_.space_allocated() > 0) arena_.reset();
  if (capacity_ <= kKeptBytes) return;
  wire_.reset();
  capacity_ = 0;
}

}  // namespace drover::host
