// finish_preserialized: reads the records forward and emits wire bytes backward. Written for clarity, and for input
// from an untrusted writer; the RTL (rtl/serializer/) must agree with it on every stream.
#include <algorithm>
#include <bit>
#include <vector>

#include "codec/preserialize/preserialize.h"
#include "codec/wire.h"

namespace drover {
namespace {

class Reader {
 public:
  Reader(std::span<const char> records, std::span<const char> payload, std::span<const char> engine,
         std::span<const char> host)
      : records_(records), payload_(payload), engine_(engine), host_(host) {}

  StreamError run(std::string* wire) {
    StreamError error = StreamError::kOk;
    while (error == StreamError::kOk && !done_) error = record();
    if (error != StreamError::kOk) return error;
    wire->assign(reversed_.rbegin(), reversed_.rend());
    return StreamError::kOk;
  }

 private:
  bool slot(uint64_t* value) {
    if (records_.size() - at_ < 8) return false;
    std::memcpy(value, records_.data() + at_, 8);
    at_ += 8;
    return true;
  }
  // Front to back what stands in `bytes`.
  void emit(std::span<const char> bytes) { reversed_.append(bytes.rbegin(), bytes.rend()); }
  void emit_varint(uint64_t value) {
    char bytes[wire::kMaxVarint];
    char* end = wire::write_varint(bytes, value);
    emit({bytes, end});
  }

  static uint64_t varint_of(uint32_t op, uint64_t value) {
    switch (op) {
      case kRecordInt32:
      case kRecordClosedEnum:
        return static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)});
      case kRecordBool:
        return static_cast<uint32_t>(value) != 0;
      case kRecordSint32:
        return static_cast<uint32_t>(wire::zigzag(static_cast<int32_t>(value)));
      case kRecordSint64:
        return wire::zigzag(static_cast<int64_t>(value));
      case kRecordUint32:
        return static_cast<uint32_t>(value);
      default:
        return value;
    }
  }
  static bool is_wide(uint32_t op) { return op == kRecordVarint64 || op == kRecordSint64 || op == kRecordFixed64; }

  StreamError record();
  StreamError elements(uint32_t op, uint32_t count);
  StreamError bytes(uint32_t op, uint32_t size);

  std::span<const char> records_, payload_, engine_, host_;
  size_t at_ = 0;
  std::string reversed_;
  std::vector<size_t> closes_;
  bool done_ = false;
};

StreamError Reader::bytes(uint32_t op, uint32_t size) {
  std::span<const char> from;
  if (op == kRecordInline || op == kRecordRawInline) {
    size_t padded = (size_t{size} + 7) / 8 * 8;
    if (records_.size() - at_ < padded) return StreamError::kTruncated;
    from = records_.subspan(at_, size);
    at_ += padded;
  } else if (op == kRecordPayload || op == kRecordRawPayload) {
    if (payload_.size() < size) return StreamError::kOutOfBounds;
    from = payload_.last(size);
    payload_ = payload_.first(payload_.size() - size);
  } else {
    std::span<const char> memory = op == kRecordEngine || op == kRecordRawEngine ? engine_ : host_;
    uint64_t place;
    if (!slot(&place)) return StreamError::kTruncated;
    if (place > memory.size() || memory.size() - place < size) return StreamError::kOutOfBounds;
    from = memory.subspan(place, size);
  }
  emit(from);
  return StreamError::kOk;
}

StreamError Reader::elements(uint32_t op, uint32_t count) {
  if (op == kRecordEnd || op > kRecordClosedEnum) return StreamError::kBadRecord;
  size_t each = is_wide(op) ? 8 : 4;
  uint64_t padded = (uint64_t{count} * each + 7) / 8 * 8;
  if (records_.size() - at_ < padded) return StreamError::kTruncated;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, records_.data() + at_ + size_t{i} * each, each);
    if (op == kRecordFixed32 || op == kRecordFixed64) {
      emit({reinterpret_cast<const char*>(&value), each});
    } else {
      emit_varint(varint_of(op, value));
    }
  }
  at_ += padded;
  return StreamError::kOk;
}

StreamError Reader::record() {
  uint64_t word;
  if (!slot(&word)) return StreamError::kTruncated;
  auto head = std::bit_cast<RecordHead>(word);
  RecordOpByte op_byte = RecordOpByte::decode(head.op);
  uint32_t tag = head.tag, op = op_byte.code, value = head.value;
  bool long_tag = op_byte.long_tag;
  if (op == kRecordInlineUtf8) op = kRecordInline;
  if (op == kRecordEnd) {
    done_ = true;
    return closes_.empty() ? StreamError::kOk : StreamError::kBadNesting;
  }
  bool has_tag = op <= kRecordTag || op == kRecordPayload || op == kRecordEngine || op == kRecordHost;
  uint64_t tag_slot = 0;
  if (has_tag && long_tag && tag == 0 && !slot(&tag_slot)) return StreamError::kTruncated;

  StreamError error = StreamError::kOk;
  if (op == kRecordClose) {
    closes_.push_back(reversed_.size());
  } else if (op == kRecordElements) {
    error = elements(tag, value);
  } else if (op == kRecordOpen) {
    if (closes_.empty()) return StreamError::kBadNesting;
    emit_varint(reversed_.size() - closes_.back());
    closes_.pop_back();
  } else if (op == kRecordInline || (op >= kRecordPayload && op <= kRecordRawHost)) {
    error = bytes(op, value);
    if (has_tag) emit_varint(value);
  } else if (op <= kRecordClosedEnum) {
    uint64_t wide = value;
    if (is_wide(op) && !slot(&wide)) return StreamError::kTruncated;
    if (op == kRecordFixed32 || op == kRecordFixed64) {
      emit({reinterpret_cast<const char*>(&wide), op == kRecordFixed32 ? size_t{4} : size_t{8}});
    } else {
      emit_varint(varint_of(op, wide));
    }
  } else if (op != kRecordTag) {
    return StreamError::kBadRecord;
  }
  if (error != StreamError::kOk) return error;
  if (has_tag) {
    if (long_tag && tag == 0) {
      emit_varint(static_cast<uint32_t>(tag_slot));
    } else {
      char both[2] = {static_cast<char>(tag), static_cast<char>(tag >> 8)};
      emit({both, long_tag ? size_t{2} : size_t{1}});
    }
  }
  return reversed_.size() > wire::kMaxMessage ? StreamError::kTooLarge : StreamError::kOk;
}

}  // namespace

StreamError finish_preserialized(std::span<const char> records, std::span<const char> payload,
                                 std::span<const char> engine, std::span<const char> host, std::string* wire) {
  return Reader(records, payload, engine, host).run(wire);
}

}  // namespace drover
