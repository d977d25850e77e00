// google::protobuf::RepeatedField and RepeatedPtrField as sources written for protobuf C++ name them. A repeated
// string field is a RepeatedPtrField<drover::String>; RepeatedPtrField<std::string> stands for the same type.
#pragma once

#include <iterator>
#include <string>
#include <type_traits>

#include "object/repeated.h"

namespace google::protobuf {

template <typename T>
using RepeatedField = drover::RepeatedField<T>;
template <typename T>
using RepeatedPtrField =
    drover::RepeatedPtrField<std::conditional_t<std::is_same_v<T, std::string>, drover::String, T>>;

// An output iterator that adds what is assigned to it.
template <typename Field>
class RepeatedFieldInserter {
 public:
  using iterator_category = std::output_iterator_tag;
  using value_type = void;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = void;

  explicit RepeatedFieldInserter(Field* field) : field_(field) {}
  template <typename T>
  RepeatedFieldInserter& operator=(const T& value) {
    *field_->Add() = value;
    return *this;
  }
  RepeatedFieldInserter& operator*() { return *this; }
  RepeatedFieldInserter& operator++() { return *this; }
  RepeatedFieldInserter operator++(int) { return *this; }

 private:
  Field* field_;
};

template <typename T>
RepeatedFieldInserter<drover::RepeatedField<T>> RepeatedFieldBackInserter(drover::RepeatedField<T>* field) {
  return RepeatedFieldInserter<drover::RepeatedField<T>>(field);
}
template <typename T>
RepeatedFieldInserter<drover::RepeatedPtrField<T>> RepeatedFieldBackInserter(drover::RepeatedPtrField<T>* field) {
  return RepeatedFieldInserter<drover::RepeatedPtrField<T>>(field);
}
template <typename T>
RepeatedFieldInserter<drover::RepeatedPtrField<T>> RepeatedPtrFieldBackInserter(drover::RepeatedPtrField<T>* field) {
  return RepeatedFieldInserter<drover::RepeatedPtrField<T>>(field);
}

}  // namespace google::protobuf
