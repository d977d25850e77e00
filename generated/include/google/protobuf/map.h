// google::protobuf::Map as sources written for protobuf C++ name it; std::string as key or value stands for
// drover::String, which such a map holds.
#pragma once

#include <string>
#include <type_traits>

#include "object/map.h"

namespace google::protobuf {

template <typename K, typename V>
using Map = drover::Map<std::conditional_t<std::is_same_v<K, std::string>, drover::String, K>,
                        std::conditional_t<std::is_same_v<V, std::string>, drover::String, V>>;

// What iterating over a const map shows.
template <typename K, typename V>
using MapPair = drover::MapPair<std::conditional_t<std::is_same_v<K, std::string>, drover::String, K>,
                                const std::conditional_t<std::is_same_v<V, std::string>, drover::String, V>>;

}  // namespace google::protobuf
