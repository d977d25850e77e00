// Wire bytes in forms that are legal but that no encoder would choose: what a decoder has to take all the same.
#pragma once

#include <cstdint>
#include <string>

#include "workload/random.h"
#include "workload/value_tree.h"

namespace drover::workload {

// Appends the message; of a thousand fields, odd_permille are written oddly: packed where the tree says unpacked and
// the reverse, a repeated field in several runs with others between, a singular field twice (the last counts; messages
// in two parts, which merge), varints, tags and lengths with superfluous continuation bytes (tags and lengths in at
// most five bytes, as protobuf C++ reads), fields out of order. Decoded, it says what append_wire's bytes say.
void append_odd_wire(const ValueNode& node, uint32_t odd_permille, Random random, std::string* wire);

}  // namespace drover::workload
