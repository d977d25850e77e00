// Decoding beside protobuf C++'s generated classes, with mutations at field boundaries: the test schemas t.Every,
// t.Maps, t.Required and t3.Implicit. Merging is compared too: a second part of the input is read into the same
// message.
//
//   input: u8 choice of message and ways | u16 length of the first part | first part | second part
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "codec/testdata/every.pb.h"
#include "codec/testdata/implicit.pb.h"
#include "testing/deterministic.h"
#include "testing/hex.h"
#include "testing/peer_compare.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"
#include "workload/message_generator.h"
#include "workload/wire_mutation.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace drover::workload {
namespace {

using testing::Compare;

constexpr size_t kHeader = 3;

struct Subject {
  Subject(const google::protobuf::Message& prototype_message, Compare compare_how)
      : prototype(prototype_message),
        how(compare_how),
        schema(prototype.GetDescriptor()),
        type(schema.type(prototype.GetTypeName())) {}
  const google::protobuf::Message& prototype;
  Compare how;
  testing::TestSchema schema;
  schema::MessageType type;
};

const Subject& subject(uint8_t choice) {
  static const Subject subjects[] = {Subject(t::Every::default_instance(), Compare::kBytes),
                                     Subject(t::Maps::default_instance(), Compare::kBytesBehindMaps),
                                     Subject(t3::Implicit::default_instance(), Compare::kBytesBehindMaps),
                                     Subject(t::Required::default_instance(), Compare::kBytes)};
  return subjects[choice % 4];
}

[[noreturn]] void report(const std::string& what, const Subject& subject, std::string_view wire) {
  testing::die(what + "\nmessage " + subject.prototype.GetTypeName() + "\n" + testing::to_hex(wire));
}

void run_merge(const Subject& subject, std::string_view first, std::string_view second) {
  testing::TestObject object(subject.type);
  std::unique_ptr<google::protobuf::Message> peer(subject.prototype.New());
  for (std::string_view part : {first, second}) {
    DecodeResult result = object.decode(part);
    google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(part.data()),
                                                 static_cast<int>(part.size()));
    bool peer_ok = peer->MergePartialFromCodedStream(&input) && input.ConsumedEntireMessage();
    if (result.error == DecodeError::kBadTag && peer_ok) return;
    if (result.ok() != peer_ok)
      report("merging: protobuf C++ sees it differently: " + to_string(result), subject, part);
    if (!peer_ok) return;
  }
  std::string ours = object.encode();
  if (subject.how == Compare::kBytesBehindMaps) {
    std::unique_ptr<google::protobuf::Message> again(subject.prototype.New());
    if (!again->ParsePartialFromString(ours))
      report("protobuf C++ refuses what we wrote after a merge", subject, first);
    ours = testing::deterministic(*again);
  }
  if (ours != testing::deterministic(*peer)) {
    report("the bytes differ after a merge with " + testing::to_hex(second), subject, first);
  }
}

void run(const uint8_t* data, size_t size) {
  const Subject& chosen = subject(data[0]);
  std::string_view wire(reinterpret_cast<const char*>(data) + kHeader, size - kHeader);
  size_t first = data[1] | size_t{data[2]} << 8;
  if (first < wire.size() && (data[0] & 16) != 0) {
    run_merge(chosen, wire.substr(0, first), wire.substr(first));
    return;
  }
  testing::Pieces pieces;
  pieces.alias = (data[0] & 32) != 0;
  if (!wire.empty()) pieces.cuts = {first % (wire.size() + 1), (first * 31) % (wire.size() + 1)};
  std::sort(pieces.cuts.begin(), pieces.cuts.end());
  std::unique_ptr<google::protobuf::Message> peer(chosen.prototype.New());
  std::string difference = testing::compare(chosen.type, wire, chosen.how, pieces, peer.get());
  if (!difference.empty()) report(difference, chosen, wire);
}

// One mutation in three is blind, one starts from a generated message, the rest change fields.
size_t mutate(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Random random(seed);
  if (size < kHeader || max_size < 64 || random.chance(330)) return LLVMFuzzerMutate(data, size, max_size);
  std::string wire(reinterpret_cast<const char*>(data) + kHeader, size - kHeader);
  if (random.chance(50)) {
    MessageOptions options;
    options.max_levels = 3;
    options.max_size = max_size / 2;
    options.unknown_permille = 100;
    options.odd_permille = 100;
    wire = generate_wire(subject(data[0]).type, seed, options);
  }
  if (random.chance(100)) data[random.index(kHeader)] = static_cast<uint8_t>(random.next());
  for (uint64_t i = random.between(1, 3); i > 0; --i) mutate_wire(random, &wire);
  wire.resize(std::min(wire.size(), max_size - kHeader));
  std::memcpy(data + kHeader, wire.data(), wire.size());
  return kHeader + wire.size();
}

}  // namespace
}  // namespace drover::workload

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return drover::workload::mutate(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < drover::workload::kHeader || size > 65536) return 0;
  drover::workload::run(data, size);
  return 0;
}
