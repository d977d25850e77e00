// Mutations of wire bytes at the boundaries of their fields, at any depth: what blind mutation of bytes seldom finds,
// since a wrong length hides all that lies behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workload/random.h"

namespace drover::workload {

// The places where something begins or ends: tags, values, payloads and ends of fields, inside nested messages too
// (whatever parses as one is taken for one). Ascending, each once, 0 and the size included.
std::vector<size_t> field_boundaries(const std::string& wire);

// Changes one thing: a tag's number or wire type, a length (by a little, to the rest, to much too much), a varint's
// value or its number of bytes; removes, doubles, swaps or moves a field; wraps one into another field, a group or many
// levels; opens or closes a group; cuts the bytes off at a boundary; or inserts or flips a byte there. Lengths of
// messages around the place are left as they are in one case of two, and set right in the others.
void mutate_wire(Random& random, std::string* wire);

}  // namespace drover::workload
