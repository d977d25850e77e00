// How the built-in workload is made from its Shape: first a plan (which types, nested how, with which fields and
// numbers), then the FileDescriptorSet of the plan, then values for every field of it.
//
// Everything that the Shape counts is dealt out like cards: kinds, gaps between field numbers, lengths of varints and
// strings come out as often as they were measured, and the seed only decides where. That keeps the statistics of
// forty messages as close as those of four million.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

#include "workload/hyperproto_shape.h"
#include "workload/random.h"

namespace drover::workload {

struct FieldPlan {
  uint8_t kind = 0;  // schema::Kind
  uint32_t number = 0;
  uint16_t elements = 0;  // 0: singular
  size_t child = 0;       // the type of a message field
};

struct TypePlan {
  std::string name;       // "M3"; all types of a message are numbered through
  std::string full_name;  // "hyperproto_like.like3.M3.M4"
  size_t depth = 1;
  std::vector<size_t> children;
  std::vector<FieldPlan> fields;  // ascending by number
};

// One message: types[0] is the outermost, each other is the type of one field of its parent.
struct MessagePlan {
  MessageShape shape;
  std::vector<TypePlan> types;
};

std::vector<MessagePlan> plan_messages(const Shape& shape, Random random);

// The proto2 file "hyperproto_like/like3.proto" of package hyperproto_like.like3.
google::protobuf::FileDescriptorSet plan_to_files(const Shape& shape, const std::vector<MessagePlan>& plans,
                                                  Random random);

// `count` cards, each index i as often as counts[i] says, in proportion if they add up to another number; shuffled.
std::vector<uint16_t> deal(const uint16_t* counts, size_t size, size_t count, Random& random);

}  // namespace drover::workload
