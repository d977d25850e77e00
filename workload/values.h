// Seeded values of single fields: numbers of a given encoded length, texts of a given size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "schema/message_type.h"
#include "workload/random.h"

namespace drover::workload {

// A value for a field of `type` of kind bool, enum or any number, as FieldValues::scalars holds it. Kinds that are
// varints take `length` bytes on the wire (1 to 10; more than the kind has is cut; lengths that no value has become
// the next that one has). An int32 or int64 of ten bytes is negative. An enum's is a value that the enum has. floats
// are multiples of 1/1024 below 1024 in size.
uint64_t random_scalar(const schema::FieldEntry& field, const schema::MessageType& type, size_t length, Random& random);

std::string random_letters(size_t size, Random& random);
std::string random_bytes(size_t size, Random& random);
// `size` bytes of UTF-8, with characters of one to four bytes.
std::string random_utf8(size_t size, Random& random);

}  // namespace drover::workload
