// Where each field of a message stands in its object (docs/formats.md, section 2).
//
//   16-byte header | has-bits | oneof case words | 8-byte fields and oneof slots | 4-byte fields | 1-byte fields
//
// A C++ class that declares its members in the order of `member_order` has the same layout on every ABI where
// a uint64_t is 8-byte aligned; the generated classes assert it.
#pragma once

#include <string>
#include <vector>

#include "schema/model.h"

namespace drover::schema {

// One member of the object behind its prefix: a field, or the slot that a oneof's members share.
struct Member {
  int field = -1;  // index into MessageModel::fields, or
  int oneof = -1;  // index of the oneof
  uint32_t size = 0;
  uint32_t alignment = 0;
};

// The members in the order in which they are placed.
std::vector<Member> member_order(const MessageModel& message);

// Sets offsets, has-bits, case offsets, has_words and object_size. Returns an empty string, or which limit is exceeded.
std::string lay_out(MessageModel* message);

}  // namespace drover::schema
