// google::protobuf::RepeatedField and RepeatedPtrField as sources written for protobuf C++ name them. A repeated
// string field is a RepeatedPtrField<drover::String>; RepeatedPtrField<std::string> stands for the same type.
#pragma once

#include <string>
#include <type_traits>

#include "object/repeated.h"

namespace google::protobuf {

template <typename T>
using RepeatedField = drover::RepeatedField<T>;
template <typename T>
using RepeatedPtrField =
    drover::RepeatedPtrField<std::conditional_t<std::is_same_v<T, std::string>, drover::String, T>>;

}  // namespace google::protobuf
