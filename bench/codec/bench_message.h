// What the codec benchmark measures with: messages, each with its schema and its bytes.
//
// The schemas of HyperProtoBench share a file name and a package; they are renamed to codec_bench/benchN.proto and
// codec_bench.benchN, so that protobuf C++'s generated classes for all of them fit into one program.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace drover::bench {

struct BenchMessage {
  std::string name;       // as in codec.json: "bench3.M3"
  std::string set;        // "bench3", "builtin": what it belongs to
  std::string type_name;  // full name in `schema`
  std::shared_ptr<const google::protobuf::FileDescriptorSet> schema;
  std::string wire;
};

// DIR/benchN/schema.fds, renamed. Empty if the file does not exist or does not parse.
google::protobuf::FileDescriptorSet hyperprotobench_schema(const std::filesystem::path& directory, int bench);

// The benches with the published population, as shared/hyperprotobench/README.md tells.
inline constexpr int kPublishedBenches[] = {0, 1, 3, 4};

// The 40 published messages. On a failure *error tells what it is, and the result is empty.
std::vector<BenchMessage> hyperprotobench_messages(const std::filesystem::path& directory, std::string* error);

}  // namespace drover::bench
