// FieldMaskUtil: masks of field paths, and what they do to messages (google/protobuf/util/field_mask_util.h), for
// generated classes.
//
// A mask may come from a client: the time is linear in its paths and their lengths, times the depth of the messages
// that they name. MergeMessageTo, TrimMessage, and Subtract in its second mask, take no notice of paths that have
// message::kMaxDepth (1000) parts or more. Thread-safety: as the messages given.
#pragma once

#include <google/protobuf/field_mask.pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "message/reflection.h"

namespace drover::util {

class FieldMaskUtil {
  using FieldMask = google::protobuf::FieldMask;

 public:
  // "a,b.c". FromString drops empty paths.
  static std::string ToString(const FieldMask& mask);
  static void FromString(std::string_view text, FieldMask* out);
  // "fooBar,baz.quxQuux": false for a path that its camel case cannot give back, or that is not camel case.
  static bool ToJsonString(const FieldMask& mask, std::string* out);
  static bool FromJsonString(std::string_view text, FieldMask* out);

  // Ends the process if T has no such field, as the two functions below do for a path.
  template <reflection::GeneratedMessage T>
  static void FromFieldNumbers(const std::vector<int64_t>& numbers, FieldMask* out) {
    for (const int64_t number : numbers) add_field_number(T::drover_type(), number, out);
  }
  // Through singular messages only: the last part may be a list or map.
  template <reflection::GeneratedMessage T>
  static bool IsValidPath(std::string_view path) {
    return is_valid_path(T::drover_type(), path);
  }
  template <reflection::GeneratedMessage T>
  static bool IsValidFieldMask(const FieldMask& mask) {
    for (const auto& path : mask.paths()) {
      if (!is_valid_path(T::drover_type(), std::string_view(path))) return false;
    }
    return true;
  }
  template <reflection::GeneratedMessage T>
  static void AddPathToFieldMask(std::string_view path, FieldMask* mask) {
    add_path(T::drover_type(), path, mask);
  }
  // By field number.
  template <reflection::GeneratedMessage T>
  static FieldMask GetFieldMaskForAllFields() {
    FieldMask out;
    add_all_fields(T::drover_type(), &out);
    return out;
  }

  // Sorted, without paths inside others.
  static void ToCanonicalForm(const FieldMask& mask, FieldMask* out);
  static void Union(const FieldMask& a, const FieldMask& b, FieldMask* out);
  static void Intersect(const FieldMask& a, const FieldMask& b, FieldMask* out);
  // `a` without `b`.
  template <reflection::GeneratedMessage T>
  static void Subtract(const FieldMask& a, const FieldMask& b, FieldMask* out) {
    subtract(T::drover_type(), a, b, out);
  }
  static bool IsPathInFieldMask(std::string_view path, const FieldMask& mask);

  class MergeOptions {
   public:
    // A message field is merged unless it is to be replaced; a list is appended to.
    void set_replace_message_fields(bool value) { replace_message_fields_ = value; }
    bool replace_message_fields() const { return replace_message_fields_; }
    void set_replace_repeated_fields(bool value) { replace_repeated_fields_ = value; }
    bool replace_repeated_fields() const { return replace_repeated_fields_; }

   private:
    bool replace_message_fields_ = false;
    bool replace_repeated_fields_ = false;
  };
  // The fields of the mask, from `source` to `*destination`. Paths that T does not have are passed over. Ends the
  // process if both are the same message.
  template <reflection::GeneratedMessage T>
  static void MergeMessageTo(const T& source, const FieldMask& mask, const MergeOptions& options, T* destination) {
    merge(reflection::of(source), mask, options, reflection::of(destination));
  }

  class TrimOptions {
   public:
    void set_keep_required_fields(bool value) { keep_required_fields_ = value; }
    bool keep_required_fields() const { return keep_required_fields_; }

   private:
    bool keep_required_fields_ = false;
  };
  // Clears all that is not in the mask; an empty mask clears nothing. Returns whether anything was cleared. Required
  // messages deeper than message::kMaxDepth stay as they are, if required fields are to be kept.
  template <reflection::GeneratedMessage T>
  static bool TrimMessage(const FieldMask& mask, T* message, const TrimOptions& options) {
    return trim(mask, reflection::of(message), options);
  }
  template <reflection::GeneratedMessage T>
  static bool TrimMessage(const FieldMask& mask, T* message) {
    return trim(mask, reflection::of(message), TrimOptions());
  }

 private:
  static bool is_valid_path(const schema::MessageType& type, std::string_view path);
  static void add_path(const schema::MessageType& type, std::string_view path, FieldMask* mask);
  static void add_field_number(const schema::MessageType& type, int64_t number, FieldMask* mask);
  static void add_all_fields(const schema::MessageType& type, FieldMask* mask);
  static void subtract(const schema::MessageType& type, const FieldMask& a, const FieldMask& b, FieldMask* out);
  static void merge(const reflection::ConstObject& source, const FieldMask& mask, const MergeOptions& options,
                    const reflection::Object& destination);
  static bool trim(const FieldMask& mask, const reflection::Object& message, const TrimOptions& options);
};

}  // namespace drover::util
