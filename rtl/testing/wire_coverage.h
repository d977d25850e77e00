// Functional coverage of messages on the wire: field kind x label x length of the value x where it stands in the
// stream's beats. Of those that the deserializer has decoded as the codec does, and that the serializer's walker has
// encoded so.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "rtl/testing/coverage.h"
#include "schema/message_type.h"
#include "workload/wire_reader.h"

namespace drover::rtl {

class WireCoverage {
 public:
  explicit WireCoverage(std::string name, std::function<bool(const Coverage::Bin&)> is_possible = possible);

  // All fields of a message that the hardware has done. It begins at a beat's first byte.
  void add(const schema::MessageType& type, std::string_view wire);
  const Coverage& coverage() const { return coverage_; }

  // ---- the axes
  enum Label : size_t { kSingular, kOneof, kRepeated, kPacked, kMapKey, kMapValue, kLabels };
  // Bytes of the value; of a group, between its tags.
  static constexpr size_t kLengths = 9;
  static size_t length_class(size_t bytes);
  // Tag and value in one beat; the value at a beat's first byte; the head (tag and length) in two beats; the value in
  // several.
  enum Place : size_t { kWhole, kAtFirst, kHeadAcross, kValueAcross, kPlaces };
  static Place place_of(const workload::WireField& field);
  // Of kind - 1, label, length, place.
  static bool possible(const Coverage::Bin& bin);
  // The same of what encoders write: no varint is longer than its value wants.
  static bool possible_encoded(const Coverage::Bin& bin);

 private:
  void walk(const schema::MessageType& type, std::string_view wire, size_t begin, size_t end);
  void entry(const schema::MessageType& type, std::string_view wire, const workload::WireField& field);
  void hit(const schema::FieldEntry& field, Label label, const workload::WireField& at);

  Coverage coverage_;
};

}  // namespace drover::rtl
