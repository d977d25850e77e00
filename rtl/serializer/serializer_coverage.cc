#include "rtl/serializer/serializer_coverage.h"

#include <bit>
#include <cstring>
#include <iterator>
#include <vector>

#include "codec/preserialize/preserialize.h"
#include "codec/preserialize/preserialized_format.h"
#include "codec/wire.h"

namespace drover::rtl {
namespace {

constexpr uint32_t kOpOf[SerializerCoverage::kOps] = {
    kRecordInt32,      kRecordUint32,    kRecordVarint64,   kRecordBool,       kRecordSint32, kRecordSint64,
    kRecordFixed32,    kRecordFixed64,   kRecordClosedEnum, kRecordInlineUtf8, kRecordInline, kRecordOpen,
    kRecordTag,        kRecordClose,     kRecordPayload,    kRecordEngine,     kRecordHost,   kRecordRawInline,
    kRecordRawPayload, kRecordRawEngine, kRecordRawHost,    kRecordElements};
const char* const kOpNames[SerializerCoverage::kOps] = {
    "int32", "uint32",     "varint64",    "bool",       "sint32",   "sint64",  "fixed32", "fixed64",
    "enum",  "utf8",       "inline",      "open",       "tag",      "close",   "payload", "engine",
    "host",  "raw-inline", "raw-payload", "raw-engine", "raw-host", "elements"};
constexpr uint64_t kPayloadAhead = 65536;  // EarlyBytes of drover_serializer

bool is_inline(uint32_t op) { return op == kRecordInline || op == kRecordInlineUtf8 || op == kRecordRawInline; }
bool is_payload(uint32_t op) { return op == kRecordPayload || op == kRecordRawPayload; }
bool is_memory(uint32_t op) {
  return op == kRecordEngine || op == kRecordRawEngine || op == kRecordHost || op == kRecordRawHost;
}
bool is_wide(uint32_t op) { return op == kRecordVarint64 || op == kRecordSint64 || op == kRecordFixed64; }
bool has_tag(uint32_t op) {
  return op <= kRecordTag || op == kRecordPayload || op == kRecordEngine || op == kRecordHost;
}
uint32_t varint_size(uint64_t value) {
  uint32_t size = 1;
  while (value >>= 7) ++size;
  return size;
}

// The bytes on the wire of a scalar.
uint32_t scalar_size(uint32_t op, uint64_t value) {
  auto narrow = static_cast<uint32_t>(value);
  switch (op) {
    case kRecordInt32:
    case kRecordClosedEnum:
      return varint_size(static_cast<uint64_t>(int64_t{static_cast<int32_t>(narrow)}));
    case kRecordUint32:
      return varint_size(narrow);
    case kRecordBool:
      return 1;
    case kRecordSint32:
      return varint_size((narrow << 1) ^ (0u - (narrow >> 31)));
    case kRecordSint64:
      return varint_size((value << 1) ^ (uint64_t{0} - (value >> 63)));
    case kRecordFixed32:
      return 4;
    case kRecordFixed64:
      return 8;
    default:
      return varint_size(value);
  }
}

// Lengths that an op can have; and the fewest and most bytes of the arena that it then takes.
struct Sizes {
  bool possible = false;
  uint32_t least = 0, most = 0;
};
constexpr uint32_t kFirstOf[] = {0, 1, 2, 6, 11, 64, 65, 1024}, kLastOf[] = {0, 1, 5, 10, 63, 64, 1023, ~0u};

Sizes sizes_of(uint32_t op, size_t length) {
  auto all = [](bool possible, uint32_t least, uint32_t most) { return Sizes{possible, least, most}; };
  switch (op) {
    case kRecordInt32:
    case kRecordClosedEnum:
    case kRecordVarint64:
    case kRecordSint64:
      return all(length >= 1 && length <= 3, 1 + kFirstOf[length], 5 + kLastOf[length]);
    case kRecordUint32:
    case kRecordSint32:
      return all(length == 1 || length == 2, 1 + kFirstOf[length], 5 + kLastOf[length]);
    case kRecordBool:
      return all(length == 1, 2, 6);
    case kRecordFixed32:
      return all(length == 2, 5, 9);
    case kRecordFixed64:
      return all(length == 3, 9, 13);
    case kRecordOpen:
    case kRecordPayload:
    case kRecordEngine:
    case kRecordHost:
      return all(true, 2, 10);
    case kRecordTag:
      return all(length == 0, 1, 5);
    case kRecordClose:
      return all(length == 0, 0, 0);
    case kRecordInline:
    case kRecordInlineUtf8:
      return all(true, 2 + kFirstOf[length], length == 7 ? 5000 : 10 + kLastOf[length]);
    case kRecordRawInline:
      return all(true, kFirstOf[length], length == 7 ? 5000 : kLastOf[length]);
    case kRecordElements:
      return all(true, kFirstOf[length], length == 7 ? 50000 : 10 * kLastOf[length]);
    default:  // raw payload, engine, host
      return all(true, 0, 0);
  }
}

bool record_possible(const Coverage::Bin& bin) {
  using Cover = SerializerCoverage;
  uint32_t op = kOpOf[bin[0]];
  Sizes sizes = sizes_of(op, bin[1]);
  if (!sizes.possible) return false;
  bool two_slots = has_tag(op) || is_wide(op) || is_memory(op);
  if (bin[2] == Cover::kAcrossLines && !two_slots) return false;
  switch (bin[3]) {
    case Cover::kNoBytes:
      return sizes.least == 0;
    case Cover::kAlignedBytes:
      return sizes.most >= 1;
    case Cover::kInsideLine:
      return sizes.most >= 1 && sizes.least <= 63;
    default:
      return sizes.most >= 2;
  }
}

bool far_possible(const Coverage::Bin& bin) {
  if (bin[2] == 0) return false;                   // nothing lies nowhere
  if (bin[3] == 1) return kFirstOf[bin[2]] <= 63;  // inside a line, not from its first byte on
  if (bin[3] == 2) return kLastOf[bin[2]] >= 2;    // over its end
  return true;
}

std::vector<std::string> length_names() { return {"0", "1", "2-5", "6-10", "11-63", "64", "65-1023", "1024+"}; }

}  // namespace

struct SerializerCoverage::Record {
  uint32_t op = 0, tag_bytes = 0;
  uint64_t value = 0, extra = 0;
  uint32_t slots = 1;       // of the head, with its tag and value
  uint32_t body_slots = 0;  // behind them
};

SerializerCoverage::SerializerCoverage()
    : records_("records",
               {{"op", {std::begin(kOpNames), std::end(kOpNames)}},
                {"length", length_names()},
                {"slot", {"first", "middle", "last", "across-lines"}},
                {"arena", {"no-bytes", "aligned", "inside-a-line", "over-lines"}},
                {"way", {"read", "pushed"}}},
               record_possible),
      far_parts_("far parts",
                 {{"source", {"early-payload", "late-payload", "engine", "host"}},
                  {"form", {"tagged", "raw"}},
                  {"length", length_names()},
                  {"from", {"line's-first-byte", "inside-a-line", "over-lines"}},
                  {"beat", {"first-byte", "later"}},
                  {"way", {"read", "pushed"}}},
                 far_possible) {}

size_t SerializerCoverage::op_index(uint32_t op) {
  size_t i = 0;
  while (i + 1 < kOps && kOpOf[i] != op) ++i;
  return i;
}

uint32_t SerializerCoverage::op(size_t index) { return kOpOf[index]; }

size_t SerializerCoverage::length_class(size_t bytes) {
  size_t i = 0;
  while (i + 1 < kLengths && bytes > kLastOf[i]) ++i;
  return i;
}

SerializerCoverage::Place SerializerCoverage::place_of(uint32_t bytes) const {
  if (bytes == 0) return kNoBytes;
  uint32_t first = (arena_ - bytes) % 64;
  if (first == 0) return kAlignedBytes;
  return first + bytes <= 64 ? kInsideLine : kOverLine;
}

void SerializerCoverage::hit_far(const Stream& stream, const Record& record, uint64_t address, size_t wire_offset) {
  Source source = is_payload(record.op) ? stream.payload_bytes <= kPayloadAhead ? kEarlyPayload : kLatePayload
                  : record.op == kRecordHost || record.op == kRecordRawHost ? kHostMemory
                                                                            : kEngineMemory;
  size_t from = address % 64 == 0 ? 0 : address % 64 + record.value <= 64 ? 1 : 2;
  far_parts_.hit({source, has_tag(record.op) ? 0u : 1u, length_class(record.value), from,
                  (stream.header_bytes + wire_offset) % 64 == 0 ? 0u : 1u, stream.pushed ? 1u : 0u});
}

void SerializerCoverage::add(const Stream& stream) {
  auto slot = [&](size_t i) {
    uint64_t word = 0;
    if ((i + 1) * 8 <= stream.records.size()) std::memcpy(&word, stream.records.data() + i * 8, 8);
    return word;
  };
  struct Far {
    Record record;
    uint64_t address;
    uint64_t from_end;  // of the wire
  };
  std::vector<Far> far;
  std::vector<uint64_t> closes;
  uint64_t wire = 0, payload_left = stream.payload_bytes;
  for (size_t at = 0;;) {
    auto head = std::bit_cast<RecordHead>(slot(at));
    auto op_byte = RecordOpByte::decode(head.op);
    Record record;
    record.op = op_byte.code;
    if (record.op == kRecordEnd) break;
    bool long_tag = has_tag(record.op) && op_byte.long_tag && head.tag == 0;
    record.value = head.value;
    record.slots = 1 + long_tag + (is_wide(record.op) || is_memory(record.op));
    record.extra = slot(at + record.slots - 1);
    if (has_tag(record.op)) {
      record.tag_bytes = long_tag ? varint_size(static_cast<uint32_t>(slot(at + 1))) : op_byte.long_tag ? 2 : 1;
    }
    uint64_t length = record.value, bytes = record.tag_bytes;  // of the arena
    if (record.op <= kRecordClosedEnum) {
      length = scalar_size(record.op, is_wide(record.op) ? record.extra : record.value);
      bytes += length;
    } else if (record.op == kRecordOpen) {
      length = wire - closes.back();
      closes.pop_back();
      bytes += varint_size(length);
    } else if (record.op == kRecordTag || record.op == kRecordClose) {
      length = 0;
      if (record.op == kRecordClose) closes.push_back(wire);
    } else if (record.op == kRecordElements) {
      const uint32_t op = head.tag;
      record.body_slots = static_cast<uint32_t>(is_wide(op) ? record.value : (record.value + 1) / 2);
      for (uint64_t i = 0; i < record.value; ++i) {
        uint64_t word = slot(at + 1 + (is_wide(op) ? i : i / 2));
        bytes += scalar_size(op, is_wide(op) ? word : word >> (i % 2 * 32) & 0xffffffff);
      }
    } else {
      if (has_tag(record.op)) bytes += varint_size(record.value);
      if (is_inline(record.op)) {
        bytes += record.value;
        record.body_slots = static_cast<uint32_t>((record.value + 7) / 8);
      } else if (record.value != 0) {
        wire += record.value;
        if (is_payload(record.op)) payload_left -= record.value;
        far.push_back({record, is_payload(record.op) ? stream.payload + payload_left : record.extra, wire});
      }
    }
    size_t in_line = at % 8;
    Slot where = in_line + record.slots > 8    ? kAcrossLines
                 : in_line == 0                ? kFirstSlot
                 : in_line + record.slots == 8 ? kLastSlot
                                               : kMiddleSlot;
    records_.hit({op_index(record.op), length_class(length), where, place_of(static_cast<uint32_t>(bytes)),
                  stream.pushed ? 1u : 0u});
    arena_ -= static_cast<uint32_t>(bytes);
    wire += bytes;
    at += record.slots + record.body_slots;
  }
  arena_ -= static_cast<uint32_t>(stream.header_bytes);
  for (const Far& part : far) hit_far(stream, part.record, part.address, wire - part.from_end);
}

}  // namespace drover::rtl
