// A workload: serialized messages together with the schemas that they follow, for benchmarks, tests and `drover gen`.
//
//   Workload  ->  groups:   "bench3" = FileDescriptorSet + schema image
//             ->  messages: "bench3.M3" = type (in its group's image) + wire bytes
//
// There are two: the published HyperProtoBench, read from a directory, and the built-in
// `hyperproto-like`, made from a seed with the shape of the former (workload/hyperproto_like.h). Groups are apart
// because HyperProtoBench's schemas all use the same package and message names.
//
// Ownership: a Workload owns everything its messages refer to; it may be moved, and the MessageTypes stay good for as
// long as it lives. Thread-safety: const use from any thread.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/image_load.h"
#include "schema/message_type.h"

namespace drover::workload {

struct Group {
  std::string name;                           // "bench3", "like3"
  google::protobuf::FileDescriptorSet files;  // complete: every imported file is in it
  schema::OwnedImage image;                   // of those files
  bool published = true;  // false: bench2, bench5, like2, like5: the population behind them is not the published one
};

struct WorkloadMessage {
  std::string name;          // "bench3.M3", "like3.M3"
  schema::MessageType type;  // in groups[group].image
  std::string wire;          // well formed; all required fields present
  uint32_t group = 0;

  // As in the FileDescriptorSet: "hyperprotobench.M3".
  std::string_view full_name() const { return type.full_name(); }
};

struct Workload {
  std::string name;  // "hyperprotobench", "hyperproto-like"
  std::vector<Group> groups;
  std::vector<WorkloadMessage> messages;  // in their groups' order

  // The message of that name; null if it is absent.
  const WorkloadMessage* find(std::string_view message_name) const;
};

struct WorkloadResult {
  Workload workload;
  std::string error;  // what was wrong and where; empty on success
  bool ok() const { return error.empty(); }
};

enum class WorkloadPart {
  kPublished,  // what imitates or is bench0, 1, 3 and 4, whose population is published: 40 messages
  kAll,        // and what belongs to bench2 and bench5 (schemas to 14 levels, 1.6 MB): 60; report these apart
};

// Reads DIR/benchN/{schema.fds, messages.bin}. schema.fds is a serialized FileDescriptorSet; messages.bin holds records
// `u32 name length, name, u32 length, wire bytes`, little-endian. Every message is checked to decode by its schema.
WorkloadResult load_hyperprotobench(const std::string& directory, WorkloadPart part = WorkloadPart::kPublished);

// The built-in workload, made from a seed with the statistics of HyperProtoBench (workload/hyperproto_shape.h):
// "like0.*", "like1.*", "like3.*" and "like4.*" after the benches of these numbers, forty messages; with kAll also
// "like2.*" and "like5.*". Its schemas are proto2, each group in a package of its own ("hyperproto_like.like3") and a
// file of its own ("hyperproto_like/like3.proto"). The same seed gives the same schemas and bytes on every machine.
inline constexpr uint64_t kDefaultSeed = 1;
WorkloadResult hyperproto_like(uint64_t seed = kDefaultSeed, WorkloadPart part = WorkloadPart::kAll);

}  // namespace drover::workload
