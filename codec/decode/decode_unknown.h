// Unknown fields: appended to the object's `unknown` String as wire bytes, tags and varints in shortest form.
//
// The tag is encoded again, not copied: its first byte in the buffer may be the NUL of the string in front.
#pragma once

#include "codec/decode/decoder.h"

namespace drover {

template <typename Memory>
DROVER_NOINLINE char* Decoder<Memory>::extend_unknown(char* object, size_t size, const char* p) {
  auto* pointer = reinterpret_cast<raw::Pointer*>(object + offsetof(MessageHeader, unknown));
  auto* bytes = reinterpret_cast<raw::Words*>(pointer->get());
  if (bytes == nullptr) {
    bytes = static_cast<raw::Words*>(arena_.allocate_zeroed(sizeof(raw::Words)));
    if (bytes == nullptr) return const_cast<char*>(fail(DecodeError::kOutOfMemory, p));
    pointer->set(bytes);
  }
  size_t have = bytes->data == 0 || bytes->borrowed() ? 0 : bytes->string_storage();
  uint64_t wanted = uint64_t{bytes->size} + size;
  if (wanted > raw::Words::kMaxString) return const_cast<char*>(fail(DecodeError::kTooLarge, p));
  if (wanted + 1 > have) {
    uint32_t cls = static_cast<uint32_t>(std::bit_width(wanted));
    if (cls < 5) cls = 5;
    char* block = static_cast<char*>(arena_.allocate_recycled(size_t{1} << cls));
    if (block == nullptr) return const_cast<char*>(fail(DecodeError::kOutOfMemory, p));
    for (uint32_t at = 0; at < bytes->size; at += kUnknownAtOnce) {
      const uint32_t left = bytes->size - at;
      std::memcpy(block + at, bytes->begin() + at, left < kUnknownAtOnce ? left : kUnknownAtOnce);
      if (left > kUnknownAtOnce && input_.pauses() && !input_.go_on()) return nullptr;
    }
    if (have != 0) arena_.recycle(bytes->begin(), have);
    bytes->set_begin(block);
    bytes->meta = (bytes->meta & ~((1u << raw::Words::kBackShift) - 1)) | cls << raw::Words::kClassShift;
  }
  char* to = bytes->begin() + bytes->size;
  bytes->size = static_cast<uint32_t>(wanted);
  to[size] = '\0';
  return to;
}

template <typename Memory>
DROVER_NOINLINE bool Decoder<Memory>::append_unknown_varint(char* object, uint32_t tag, uint64_t value, const char* p) {
  char* to = extend_unknown(object, wire::varint_size(tag) + wire::varint_size(value), p);
  if (to == nullptr) return false;
  wire::write_varint(wire::write_varint(to, tag), value);
  return true;
}

template <typename Memory>
DROVER_NOINLINE const char* Decoder<Memory>::unknown_field(const char* p, char* object, uint32_t tag, int depth) {
  size_t tag_size = wire::varint_size(tag);
  switch (tag & 7) {
    case wire::kVarint: {
      uint64_t value;
      const char* behind = wire::read_varint(p, &value);
      if (behind == nullptr) return fail(DecodeError::kOverlongVarint, p);
      return append_unknown_varint(object, tag, value, p) ? behind : nullptr;
    }
    case wire::kFixed32:
    case wire::kFixed64: {
      size_t size = (tag & 7) == wire::kFixed32 ? 4 : 8;
      char* to = extend_unknown(object, tag_size + size, p);
      if (to == nullptr) return nullptr;
      std::memcpy(wire::write_varint(to, tag), p, size);
      return p + size;
    }
    case wire::kLengthDelimited: {
      uint32_t size;
      p = length(p, &size);
      if (p == nullptr) return nullptr;
      char* to = extend_unknown(object, tag_size + wire::varint_size(size) + size, p);
      if (to == nullptr) return nullptr;
      return input_.copy(p, wire::write_varint(wire::write_varint(to, tag), size), size);
    }
    case wire::kStartGroup:
      return unknown_group(p, object, tag, depth);
    default:
      return fail(DecodeError::kBadTag, p);
  }
}

template <typename Memory>
DROVER_NOINLINE const char* Decoder<Memory>::unknown_group(const char* p, char* object, uint32_t tag, int depth) {
  const uint32_t end_tag = tag + 1;  // the end-group tag of the same number
  if (depth <= 0) return fail(DecodeError::kDepthLimit, p);
  char* to = extend_unknown(object, wire::varint_size(tag), p);
  if (to == nullptr) return nullptr;
  wire::write_varint(to, tag);
  for (;;) {
    if (input_.done(&p)) return p == nullptr ? fail_past_limit() : fail(DecodeError::kUnmatchedEndGroup, p);
    uint32_t inner = 0;
    const char* start = p;
    p = wire::read_varint32(p, &inner);
    if (p != nullptr && inner == end_tag) break;
    if (p == nullptr || inner >> 3 == 0 || (inner & 7) > wire::kFixed32 || (inner & 7) == wire::kEndGroup) {
      return bad_tag(inner, start, p);
    }
    p = unknown_field(p, object, inner, depth - 1);
    if (p == nullptr) return nullptr;
  }
  to = extend_unknown(object, wire::varint_size(end_tag), p);
  if (to == nullptr) return nullptr;
  wire::write_varint(to, end_tag);
  return p;
}

template <typename Memory>
DROVER_NOINLINE bool Decoder<Memory>::append_unknown_entry(char* object, const FieldEntry& field, const char* map_entry,
                                                           const char* p) {
  const schema::FieldRange fields = image_.fields(image_.message(field.sub));
  const FieldEntry &key = fields[0], &value = fields[1];
  char scalar[16];
  char* scalar_end = scalar;
  std::string_view text;
  const char* at = map_entry + key.offset;
  switch (static_cast<schema::Kind>(key.kind)) {
    case schema::Kind::kString:
      if (auto* words = raw::words(map_entry, key.offset); words->size != 0) text = {words->begin(), words->size};
      break;
    case schema::Kind::kBool:
      *scalar_end++ = *at;
      break;
    case schema::Kind::kInt32:
      scalar_end = wire::write_varint(scalar, static_cast<uint64_t>(int64_t{raw::load<int32_t>(at)}));
      break;
    case schema::Kind::kSint32:
      scalar_end = wire::write_varint(scalar, static_cast<uint32_t>(wire::zigzag(raw::load<int32_t>(at))));
      break;
    case schema::Kind::kUint32:
      scalar_end = wire::write_varint(scalar, raw::load<uint32_t>(at));
      break;
    case schema::Kind::kSint64:
      scalar_end = wire::write_varint(scalar, wire::zigzag(raw::load<int64_t>(at)));
      break;
    case schema::Kind::kInt64:
    case schema::Kind::kUint64:
      scalar_end = wire::write_varint(scalar, raw::load<uint64_t>(at));
      break;
    default:
      std::memcpy(scalar, at, schema::kStorageOfKind[key.kind]);
      scalar_end += schema::kStorageOfKind[key.kind];
  }
  uint64_t number = static_cast<uint64_t>(int64_t{raw::load<int32_t>(map_entry + value.offset)});
  bool is_text = schema::is_string_kind(key.kind);
  size_t key_size = is_text ? wire::varint_size(text.size()) + text.size() : static_cast<size_t>(scalar_end - scalar);
  size_t inside = 1 + key_size + 1 + wire::varint_size(number);
  uint32_t tag = wire::make_tag(field.number, wire::kLengthDelimited);
  char* to = extend_unknown(object, wire::varint_size(tag) + wire::varint_size(inside) + inside, p);
  if (to == nullptr) return false;
  to = wire::write_varint(wire::write_varint(to, tag), inside);
  to = wire::write_varint(to, wire::make_tag(1, key.wire_type));
  if (is_text) {
    to = wire::write_varint(to, text.size());
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    to += text.size();
  } else {
    std::memcpy(to, scalar, key_size);
    to += key_size;
  }
  wire::write_varint(wire::write_varint(to, wire::make_tag(2, wire::kVarint)), number);
  return true;
}

}  // namespace drover
