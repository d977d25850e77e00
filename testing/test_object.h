// TestObject: one object of any type, and the arena that it lies in.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "message/message.h"
#include "message/operations.h"
#include "object/arena.h"
#include "schema/message_type.h"

namespace drover::testing {

class TestObject {
 public:
  explicit TestObject(const schema::MessageType& type) : type_(type) {
    object_ = static_cast<Message*>(arena_.allocate_zeroed(type.entry().object_size));
    *object_->drover_owner() = reinterpret_cast<OwnerWord>(&arena_);
  }
  DecodeResult decode(std::string_view wire, const DecodeOptions& options = {}) {
    return drover::decode(type_, object_, wire, arena_, options);
  }
  DecodeResult decode(std::span<const std::string_view> pieces, const DecodeOptions& options = {}) {
    return drover::decode(type_, object_, pieces, arena_, options);
  }
  std::string encode(const EncodeOptions& options = {}) const {
    Encoded encoded;
    EncodeResult result = drover::encode(type_, object_, options, &encoded);
    if (!result.ok()) return "error: " + to_string(result);
    std::string bytes(encoded.size(), '\0');
    encoded.copy_to(bytes.data());
    return bytes;
  }
  std::string text() const { return message::debug_text(type_, *object_, {}); }
  Message* get() { return object_; }
  const Message* get() const { return object_; }
  Arena* arena() { return &arena_; }
  const schema::MessageType& type() const { return type_; }

 private:
  schema::MessageType type_;
  Arena arena_;
  Message* object_;
};

}  // namespace drover::testing
