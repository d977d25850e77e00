// Decoding, driven by seeds: a random schema, a random message of it (odd forms among them), a few mutations at field
// boundaries, cuts anywhere. The codec reads it whole and in pieces, protobuf C++ as a dynamic message, and all must
// agree (testing/peer_compare.h).
//
//   input: u8 schema | u8 message | u16 message seed | u8 mutations | u8 cuts | u8 odd | u8 flags | u64 seed of these
//   flags: 1 alias in pieces, 2 long repeated fields, 4 long strings
//
// Mutations are drawn from a seed, not read from the input: nearby inputs share schema and message, and libFuzzer
// explores which of them reach new code.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "testing/hex.h"
#include "testing/peer_compare.h"
#include "testing/test_schema.h"
#include "workload/message_generator.h"
#include "workload/random_schema.h"
#include "workload/wire_mutation.h"

namespace drover::workload {
namespace {

using testing::Compare;
using testing::TestSchema;

struct Input {
  uint8_t schema, message;
  uint16_t message_seed;
  uint8_t mutations, cuts, odd, flags;
  uint64_t seed;
};
static_assert(sizeof(Input) == 16);

struct FuzzSchema {
  explicit FuzzSchema(uint8_t number) : schema(make(number)), names(message_names(schema.files())) {}

  static google::protobuf::FileDescriptorSet make(uint8_t number) {
    SchemaOptions options;
    options.syntax = number % 2 == 0 ? SchemaOptions::Syntax::kProto3 : SchemaOptions::Syntax::kProto2;
    options.maps = number % 4 >= 2;
    options.enums = number % 2 == 0 || number % 8 == 1;
    return random_schema(number, options);
  }
  // What may be compared of damaged messages of this schema (differences 3 and 4).
  static Compare how(uint8_t number) {
    bool maps = number % 4 >= 2, closed_enums = number % 8 == 1;
    return maps || closed_enums ? Compare::kAcceptance : Compare::kBytes;
  }

  TestSchema schema;
  std::vector<std::string> names;
};

const FuzzSchema& schema_of(uint8_t number) {
  static std::array<std::unique_ptr<FuzzSchema>, 64> schemas;
  number %= 64;
  if (schemas[number] == nullptr) schemas[number] = std::make_unique<FuzzSchema>(number);
  return *schemas[number];
}

void run(const Input& input) {
  const FuzzSchema& fuzz_schema = schema_of(input.schema);
  const std::string& name = fuzz_schema.names[input.message % fuzz_schema.names.size()];
  schema::MessageType type = fuzz_schema.schema.type(name);
  Random random(input.seed);
  MessageOptions options;
  options.max_levels = 4;
  options.max_size = 2000;
  options.unknown_permille = 200;
  options.utf8 = true;
  options.odd_permille = input.odd % 4 == 0 ? 300 : 0;
  if ((input.flags & 2) != 0) {  // long packed fields: the vector code's share
    static constexpr uint32_t kLong[8] = {0, 0, 5, 10, 20, 30, 30, 10};
    std::copy_n(kLong, 8, options.repeated_counts);
    options.max_size = 6000;
  }
  if ((input.flags & 4) != 0) {  // long strings, likewise
    static constexpr uint32_t kLong[12] = {0, 0, 0, 5, 10, 20, 20, 20, 20, 20, 10, 5};
    std::copy_n(kLong, 12, options.string_lengths);
    options.max_size = 6000;
  }
  std::string wire = generate_wire(type, input.message_seed, options);
  for (int i = input.mutations % 6; i > 0; --i) mutate_wire(random, &wire);
  testing::Pieces pieces;
  pieces.alias = (input.flags & 1) != 0;
  for (int i = input.cuts % 8; i > 0; --i) pieces.cuts.push_back(random.index(wire.size() + 1));
  std::sort(pieces.cuts.begin(), pieces.cuts.end());
  auto peer = fuzz_schema.schema.peer(name);
  std::string difference = testing::compare(type, wire, FuzzSchema::how(input.schema % 64), pieces, peer.get());
  if (difference.empty()) return;
  testing::die(difference + "\nmessage " + name + "\n" + testing::to_hex(wire) + "\n" +
               fuzz_schema.schema.files().file(0).DebugString());
}

}  // namespace
}  // namespace drover::workload

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  drover::workload::Input input{};
  std::memcpy(&input, data, size < sizeof(input) ? size : sizeof(input));
  drover::workload::run(input);
  return 0;
}
