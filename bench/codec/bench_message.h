// The messages of the codec benchmark, each with its schema and its bytes.
//
// protobuf C++'s generated classes for all of them are built into one program, so that the names of their files and
// types must differ. Those of HyperProtoBench do not (its schemas share a file name and a package): they are renamed
// to codec_bench/benchN.proto and codec_bench.benchN.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace drover::bench {

using Schema = google::protobuf::FileDescriptorSet;

struct BenchMessage {
  std::string name;       // as in codec.json: "bench3.M3"
  std::string set;        // what it is measured for: "hyperprotobench", "builtin", "packed", "kinds"
  std::string type_name;  // full name in `schema`
  std::shared_ptr<const Schema> schema;
  std::string wire;
};

// Messages below this size are small: an RPC's arguments rather than its data.
inline constexpr size_t kSmallMessage = 4096;

// A schema of the benchmark, and the file name (without .fds) under which the build keeps it.
struct NamedSchema {
  std::string name;
  std::shared_ptr<const Schema> schema;
};

struct BenchMessages {
  std::vector<BenchMessage> messages;
  std::vector<NamedSchema> schemas;
  std::string error;  // the error and its place; empty on success
};

// The 40 messages of DIR/bench{0,1,3,4}, whose population is published (workload/workload.h).
BenchMessages hyperprotobench_messages(const std::string& directory);

// The 40 messages of the built-in workload that imitate them, "like3.M3"; always the same.
BenchMessages builtin_messages();

}  // namespace drover::bench
