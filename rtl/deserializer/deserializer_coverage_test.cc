// Every kind of field, with every label, every length of its value, and wherever it may stand in the stream's beats:
// a message for each, compared with the codec. What random messages reach of these is printed beside.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <optional>

#include "codec/wire.h"
#include "rtl/deserializer/deserializer_bench.h"
#include "rtl/deserializer/deserializer_coverage.h"
#include "workload/message_generator.h"
#include "workload/random.h"
#include "workload/random_schema.h"
#include "workload/workload_testing.h"

namespace drover::rtl {
namespace {

using schema::Kind;
using workload::testing::parse_proto;
using workload::testing::PeerSchema;
using Cover = DeserializerCoverage;

// Each kind as .proto spells it; numbers are 20 x kind + label + 1.
constexpr const char* kTypes[] = {"",        "double",   "float",    "int64",  "uint64", "int32", "fixed64",
                                  "fixed32", "bool",     "string",   "group",  "Inner",  "bytes", "uint32",
                                  "E",       "sfixed32", "sfixed64", "sint32", "sint64"};
constexpr size_t kKinds = std::size(kTypes);
uint32_t number_of(size_t kind, size_t label) { return static_cast<uint32_t>(20 * kind + label + 1); }
bool label_exists(size_t kind, size_t label) {
  for (size_t length = 0; length < Cover::kLengths; ++length) {
    if (Cover::possible({kind - 1, label, length, Cover::kAtFirst})) return true;
  }
  return false;
}

std::string every_field() {
  std::string text =
      "syntax = \"proto2\"; enum E { Z = 0; A = 1; } message Inner { optional bytes b = 1; }\nmessage All {\n";
  text += "optional bytes pad = 1;\n";
  for (size_t kind = 1; kind < kKinds; ++kind) {
    bool group = kind == static_cast<size_t>(Kind::kGroup);
    auto declare = [&](const std::string& label, const std::string& type, size_t l) {
      std::string n = std::to_string(number_of(kind, l));
      std::string tail = l == Cover::kPacked ? " [packed = true];\n" : ";\n";
      text +=
          label + type + (group ? " G" + n + " = " + n + " { optional bytes b = 1; }\n" : " f" + n + " = " + n + tail);
    };
    for (size_t l = 0; l < Cover::kLabels; ++l) {
      if (!label_exists(kind, l)) continue;
      if (l == Cover::kSingular) declare("optional ", kTypes[kind], l);
      if (l == Cover::kRepeated || l == Cover::kPacked) declare("repeated ", kTypes[kind], l);
      if (l == Cover::kMapKey) declare("", "map<" + std::string(kTypes[kind]) + ", int32>", l);
      if (l == Cover::kMapValue) declare("", "map<int32, " + std::string(kTypes[kind]) + ">", l);
      if (l == Cover::kOneof) {
        text += "oneof o" + std::to_string(kind) + " { ";
        declare("", kTypes[kind], l);
        text += "}\n";
      }
    }
  }
  return text + "}\n";
}

std::string varint(uint64_t value) {
  char bytes[wire::kMaxVarint];
  return {bytes, wire::write_varint(bytes, value)};
}
std::string tag(uint32_t number, uint32_t type) { return varint(wire::make_tag(number, type)); }

// A value of `size` bytes; nothing if the kind has none.
std::optional<std::string> value_of(size_t kind, bool packed, size_t size) {
  uint32_t type = schema::kWireTypeOfKind[kind];
  if (type == wire::kLengthDelimited || type == wire::kStartGroup) {
    if (!schema::is_message_kind(static_cast<uint8_t>(kind))) return std::string(size, 's');
    if (size == 0) return "";
    for (size_t head : {2, 3, 4}) {
      if (size < head) break;
      std::string inner = tag(1, wire::kLengthDelimited) + varint(size - head) + std::string(size - head, 'i');
      if (inner.size() == size) return inner;
    }
    return {};
  }
  size_t each = type == wire::kFixed32 ? 4 : type == wire::kFixed64 ? 8 : 1;
  if (packed) return size % each == 0 ? std::optional(std::string(size, '\1')) : std::nullopt;
  if (type != wire::kVarint) return size == each ? std::optional(std::string(size, 'f')) : std::nullopt;
  std::string one = "\1";  // in as many bytes as are asked for
  while (one.size() < size) {
    one.back() = static_cast<char>(one.back() | 0x80);
    one += '\0';
  }
  return one;
}

// The field with what it takes around it, behind `lead` bytes of padding. `*at`: where its tag stands.
std::string message_of(size_t kind, size_t label, const std::string& value, size_t lead, size_t* at) {
  uint32_t type = label == Cover::kPacked ? uint32_t{wire::kLengthDelimited} : schema::kWireTypeOfKind[kind];
  std::string body = (type == wire::kLengthDelimited ? varint(value.size()) : "") + value;
  std::string pad = tag(1, wire::kLengthDelimited) + varint(lead - 2) + std::string(lead - 2, 'p');
  uint32_t number = number_of(kind, label);
  if (label == Cover::kMapKey || label == Cover::kMapValue) {
    std::string key = label == Cover::kMapKey ? "" : tag(1, wire::kVarint) + "\5";
    std::string field = tag(label == Cover::kMapKey ? 1 : 2, type) + body;
    std::string rest = label == Cover::kMapKey ? tag(2, wire::kVarint) + "\6" : "";
    std::string head = pad + tag(number, wire::kLengthDelimited) + varint(key.size() + field.size() + rest.size());
    *at = head.size() + key.size();
    return head + key + field + rest;
  }
  *at = pad.size();
  return pad + tag(number, type) + body + (type == wire::kStartGroup ? tag(number, wire::kEndGroup) : "");
}

// Lengths that are tried of each class.
const std::vector<size_t> kSizes[Cover::kLengths] = {{0},
                                                     {1},
                                                     {2, 4, 5},
                                                     {6, 8, 10},
                                                     {11, 16, 24, 40, 56, 59, 63},
                                                     {64},
                                                     {65, 72, 127, 128, 1023},
                                                     {1024, 2048, 4095},
                                                     {4096, 9000}};

std::deque<std::string> sweep() {
  std::deque<std::string> wires;
  for (size_t kind = 1; kind < kKinds; ++kind) {
    for (size_t label = 0; label < Cover::kLabels; ++label) {
      for (size_t length = 0; length < Cover::kLengths; ++length) {
        if (!Cover::possible({kind - 1, label, length, Cover::kAtFirst})) continue;
        for (size_t size : kSizes[length]) {
          std::optional<std::string> value = value_of(kind, label == Cover::kPacked, size);
          if (!value) continue;
          size_t at = 0;
          message_of(kind, label, *value, 64, &at);
          size_t with_64 = at % 64;
          // The tag at a beat's first byte, in its middle, and so that head or value go over its end.
          for (size_t from : {0, 20, 59, 60, 61, 62, 63}) {
            wires.push_back(message_of(kind, label, *value, 64 + (from + 64 - with_64) % 64, &at));
          }
        }
      }
    }
  }
  return wires;
}

void report(const char* what, const Cover& cover) { std::printf("%s\n%s", what, cover.coverage().report(8).c_str()); }

class CoverageSweep : public ::testing::TestWithParam<bool> {};

TEST_P(CoverageSweep, EveryKindLabelLengthAndPlace) {
  PeerSchema schema(parse_proto(every_field()));
  schema::MessageType type = schema.type("All");
  BenchOptions options;
  options.one_shot = GetParam();
  DeserializerBench bench(options);
  bench.load(*type.image);
  Cover cover("kind x label x length x place");
  std::deque<std::string> wires = sweep();
  for (size_t done = 0; done < wires.size();) {
    bench.clear();
    size_t end = std::min(done + 256, wires.size());
    for (size_t i = done; i < end; ++i) bench.add(type, wires[i]);
    ASSERT_TRUE(bench.run()) << "hangs";
    for (size_t i = done; i < end; ++i) {
      const Outcome& outcome = bench.outcomes()[i - done];
      ASSERT_EQ(outcome.record.type, RecordType::kDone) << i << ' ' << left_to_software_reason(outcome.record.code);
      ASSERT_EQ(outcome.difference, "") << i;
      cover.add(type, wires[i]);
    }
    done = end;
  }
  report(GetParam() ? "directed, one-shot writes" : "directed, field by field", cover);
  EXPECT_EQ(cover.coverage().reached(), cover.coverage().total());
  EXPECT_EQ(cover.coverage().impossible(), 0u);
}
INSTANTIATE_TEST_SUITE_P(OneShot, CoverageSweep, ::testing::Bool());

TEST(Coverage, OfRandomMessages) {
  Cover cover("kind x label x length x place");
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    PeerSchema schema(workload::random_schema(seed));
    std::vector<std::string> names = workload::message_names(schema.files());
    BenchOptions bench_options;
    bench_options.rx_stalls = 60;
    bench_options.seed = seed;
    DeserializerBench bench(bench_options);
    bench.load(*schema.type(names[0]).image);
    workload::MessageOptions options;
    options.max_size = 5000;
    options.odd_permille = 50;
    std::deque<std::string> wires;
    for (size_t i = 0; i < 40; ++i) {
      wires.push_back(workload::generate_wire(schema.type(names[i % names.size()]), seed * 100 + i, options));
      bench.add(schema.type(names[i % names.size()]), wires.back());
    }
    ASSERT_TRUE(bench.run()) << "hangs; schema seed " << seed;
    for (size_t i = 0; i < wires.size(); ++i) {
      ASSERT_EQ(bench.outcomes()[i].difference, "") << "schema seed " << seed << ", message " << i;
      if (bench.outcomes()[i].record.type == RecordType::kDone)
        cover.add(schema.type(names[i % names.size()]), wires[i]);
    }
  }
  report("random messages of random schemas", cover);
  // What these reach without anybody having aimed: a generator that lost a kind or a label would fall below.
  EXPECT_GT(cover.coverage().reached(), cover.coverage().total() * 2 / 5);
}

}  // namespace
}  // namespace drover::rtl
