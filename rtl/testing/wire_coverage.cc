#include "rtl/testing/wire_coverage.h"

#include "codec/wire.h"

namespace drover::rtl {
namespace {

using schema::Kind;

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (uint8_t kind = 1; kind < schema::kKindCount; ++kind) names.push_back(schema::kind_name(Kind{kind}));
  return names;
}
bool is_one_of(Kind kind, std::initializer_list<Kind> list) {
  for (Kind k : list) {
    if (k == kind) return true;
  }
  return false;
}
// Whether a length class has a multiple of 4, and of 8.
constexpr bool kHasFours[] = {true, false, true, true, true, true, true, true, true};
constexpr bool kHasEights[] = {true, false, false, true, true, true, true, true, true};

bool label_fits(Kind kind, size_t label) {
  bool scalar = !is_one_of(kind, {Kind::kString, Kind::kBytes, Kind::kMessage, Kind::kGroup});
  switch (label) {
    case WireCoverage::kPacked:
      return scalar;
    case WireCoverage::kMapKey:
      return kind == Kind::kString || (scalar && !is_one_of(kind, {Kind::kFloat, Kind::kDouble, Kind::kEnum}));
    case WireCoverage::kMapValue:
      return kind != Kind::kGroup;
    default:
      return true;
  }
}
bool length_fits(Kind kind, size_t label, size_t length) {
  uint32_t wire_type = schema::kWireTypeOfKind[static_cast<size_t>(kind)];
  if (label == WireCoverage::kPacked) {
    return wire_type == wire::kFixed32 ? kHasFours[length] : wire_type == wire::kFixed64 ? kHasEights[length] : true;
  }
  switch (wire_type) {
    case wire::kVarint:
      return length >= 1 && length <= 3;
    case wire::kFixed32:
      return length == 2;
    case wire::kFixed64:
      return length == 3;
    default:  // the shortest field of a message has two bytes
      return !(schema::is_message_kind(static_cast<uint8_t>(kind)) && length == 1);
  }
}

}  // namespace

bool WireCoverage::possible(const Coverage::Bin& bin) {
  Kind kind = static_cast<Kind>(bin[0] + 1);
  size_t label = bin[1], length = bin[2], place = bin[3];
  if (!label_fits(kind, label) || !length_fits(kind, label, length)) return false;
  if (place == kWhole) return length < 5;
  if (place == kValueAcross) return length > 1;
  if (place == kHeadAcross) {
    // In a map's entry a tag has one byte: only a length makes two of the head.
    bool length_in_head = label == kPacked || schema::kWireTypeOfKind[bin[0] + 1] == wire::kLengthDelimited;
    return length_in_head || (label != kMapKey && label != kMapValue);
  }
  return true;
}

bool WireCoverage::possible_encoded(const Coverage::Bin& bin) {
  Kind kind = static_cast<Kind>(bin[0] + 1);
  if (!possible(bin)) return false;
  if (bin[1] == kPacked) return bin[2] != 0;  // an empty one is not written
  if (kind == Kind::kBool) return bin[2] == 1;
  if (is_one_of(kind, {Kind::kUint32, Kind::kSint32})) return bin[2] <= 2;
  return true;
}

WireCoverage::WireCoverage(std::string name, std::function<bool(const Coverage::Bin&)> is_possible)
    : coverage_(std::move(name),
                {{"kind", kind_names()},
                 {"label", {"singular", "oneof", "repeated", "packed", "map-key", "map-value"}},
                 {"length", {"0", "1", "2-5", "6-10", "11-63", "64", "65-1023", "1024-4095", "4096+"}},
                 {"place", {"one-beat", "value-at-first-byte", "head-across", "value-across"}}},
                std::move(is_possible)) {}

size_t WireCoverage::length_class(size_t bytes) {
  constexpr size_t kLast[] = {0, 1, 5, 10, 63, 64, 1023, 4095};
  size_t i = 0;
  while (i < std::size(kLast) && bytes > kLast[i]) ++i;
  return i;
}

WireCoverage::Place WireCoverage::place_of(const workload::WireField& field) {
  if (field.payload % 64 == 0) return kAtFirst;
  if (field.begin / 64 != field.payload / 64) return kHeadAcross;
  size_t last = field.payload_end == field.payload ? field.payload : field.payload_end - 1;
  return field.payload / 64 == last / 64 ? kWhole : kValueAcross;
}

void WireCoverage::add(const schema::MessageType& type, std::string_view wire) { walk(type, wire, 0, wire.size()); }

void WireCoverage::hit(const schema::FieldEntry& field, Label label, const workload::WireField& at) {
  coverage_.hit({size_t{field.kind} - 1, label, length_class(at.payload_end - at.payload), place_of(at)});
}

void WireCoverage::walk(const schema::MessageType& type, std::string_view wire, size_t begin, size_t end) {
  workload::WireReader reader(wire, begin, end);
  workload::WireField at;
  while (reader.next(&at)) {
    const schema::FieldEntry* field = type.find_field(at.number);
    if (field == nullptr) continue;
    if (field->label == schema::kLabelMap) {
      if (at.wire_type == wire::kLengthDelimited) entry(type.sub(*field), wire, at);
      continue;
    }
    uint32_t declared = schema::kWireTypeOfKind[field->kind];
    bool packed = at.wire_type == wire::kLengthDelimited && declared != wire::kLengthDelimited &&
                  field->label == schema::kLabelRepeated && declared != wire::kStartGroup;
    if (at.wire_type != declared && !packed) continue;  // an unknown field
    hit(*field,
        packed                                   ? kPacked
        : field->label == schema::kLabelRepeated ? kRepeated
        : field->case_offset != 0                ? kOneof
                                                 : kSingular,
        at);
    if (schema::is_message_kind(field->kind)) walk(type.sub(*field), wire, at.payload, at.payload_end);
  }
}

void WireCoverage::entry(const schema::MessageType& type, std::string_view wire, const workload::WireField& field) {
  workload::WireReader reader(wire, field.payload, field.payload_end);
  workload::WireField at;
  while (reader.next(&at)) {
    const schema::FieldEntry* part = type.find_field(at.number);
    if (part == nullptr || at.wire_type != schema::kWireTypeOfKind[part->kind]) continue;
    hit(*part, at.number == 1 ? kMapKey : kMapValue, at);
    if (schema::is_message_kind(part->kind)) walk(type.sub(*part), wire, at.payload, at.payload_end);
  }
}

}  // namespace drover::rtl
