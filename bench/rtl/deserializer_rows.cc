// The deserializer's rows of `make bench-rtl`: cycles of one lane in simulation, as JSON on the standard output.
//
//   deserializer_rows [--hyperprotobench DIR]
//
// Memory answers after 300 cycles and takes a beat in every cycle. A row's cycles are the difference between two
// lengths of one workload (a field's price), or the distance of completion records of messages back to back. Every
// message is compared with the software codec; one that was left to software or differs fails the run.
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench/rtl/rows.h"
#include "rtl/testing/deserializer_bench.h"
#include "testing/test_schema.h"
#include "workload/workload.h"

namespace {
using namespace drover;
using namespace drover::rtl;
using bench::kNone;
using drover::testing::parse_proto;
using drover::testing::TestSchema;

const TestSchema& schema() {
  static const TestSchema built(parse_proto(R"(
      syntax = "proto2";
      message Flat {
        optional int32 a = 1; optional int32 b = 2; optional int32 c = 3; optional int32 d = 4;
        optional int32 e = 5; optional int32 f = 6; optional int32 g = 7; optional int32 h = 8;
        optional int32 i = 9; optional int32 j = 10; optional int32 k = 11; optional int32 l = 12;
        optional int32 m = 13; optional int32 n = 14; optional int32 o = 15; optional int32 p = 16;
      }
      message Fixed { optional fixed32 a = 1; optional fixed64 b = 2; }
      message Sub { optional Sub s = 1; optional int32 v = 2; }
      message Subs {
        optional Sub a = 1; optional Sub b = 2; optional Sub c = 3; optional Sub d = 4;
        optional Sub e = 5; optional Sub f = 6; optional Sub g = 7; optional Sub h = 8;
      }
      message Text { optional bytes a = 1; optional string b = 2; }
      message Packed { repeated uint32 v = 1 [packed = true]; repeated fixed32 f = 2 [packed = true]; })"));
  return built;
}

BenchOptions one_lane() {
  BenchOptions options;
  options.lanes = 1;
  options.host.latency = options.engine.latency = 300;
  return options;
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "deserializer_rows: %s\n", what.c_str());
  std::exit(1);
}

struct Share {
  size_t messages = 0, software = 0;
};

// Cycles a message, of `wires` sent `rounds` times back to back: between the first and the last record.
double cycles_a_message(const schema::MessageType& type, const std::string& wire, size_t rounds) {
  DeserializerBench bench(one_lane());
  bench.load(*type.image);
  for (size_t i = 0; i < rounds; ++i) bench.add(type, wire);
  if (!bench.run()) fail("hangs");
  for (const Outcome& outcome : bench.outcomes()) {
    if (outcome.record.kind != RecordKind::kDone || !outcome.difference.empty()) {
      fail("not done by the hardware: " + outcome.difference);
    }
  }
  return static_cast<double>(bench.outcomes().back().cycle - bench.outcomes().front().cycle) /
         static_cast<double>(rounds - 1);
}

std::string repeated(const std::string& piece, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) text += piece;
  return text;
}
std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}
std::string field(uint32_t number, const std::string& content) {
  return varint(number << 3 | 2) + varint(content.size()) + content;
}

// What one more of `piece` costs in a message that has many of them.
double price(const char* type, const std::string& piece, size_t few, size_t many) {
  schema::MessageType t = schema().type(type);
  double with_few = cycles_a_message(t, repeated(piece, few), 20);
  double with_many = cycles_a_message(t, repeated(piece, many), 20);
  return (with_many - with_few) / static_cast<double>(many - few);
}

void field_rows(bench::Rows& rows) {
  rows.add("varint-field", "cycles", price("Flat", std::string("\x08\x05\x10\x07", 4), 100, 200) / 2, 5.0, 1.25);
  rows.add("fixed-field", "cycles", price("Fixed", std::string("\x0d\1\2\3\4\x11\1\2\3\4\5\6\7\x08", 14), 100, 200) / 2,
           4.0, 1.25);
  // One field of eight sub-messages, each with one scalar, less the same scalars flat.
  std::string subs, scalars;
  for (uint32_t i = 1; i <= 8; ++i) {
    subs += field(i, std::string("\x10\x05", 2));
    scalars += varint(i << 3) + std::string("\x05", 1);
  }
  double sub =
      (cycles_a_message(schema().type("Subs"), subs, 50) - cycles_a_message(schema().type("Flat"), scalars, 50)) / 8;
  rows.add("submessage", "cycles", sub, 10, 3);
  std::string text = field(1, std::string(4096, 'x'));
  double cycles = price("Text", text, 8, 16);
  rows.add("string-4KB", "cycles", cycles, 7 + 4096.0 / 16, 2 + 4096.0 / 64);
  rows.add("string-4KB", "bytes_per_cycle", 4096 / cycles, 15.5, 58);
  // Short ones, each within 2 + ceil(L/64); the row is that of 64 bytes.
  for (size_t length : {1u, 8u, 31u, 63u, 65u, 100u, 127u, 128u, 200u, 64u}) {
    cycles = price("Text", field(1, std::string(length, 'x')), 4, 12);
    if (cycles > 2 + static_cast<double>((length + 63) / 64)) {
      fail("a string of " + std::to_string(length) + " bytes takes " + std::to_string(cycles) + " cycles");
    }
  }
  rows.add("string-64B", "cycles", cycles, 7 + 64.0 / 16, 3);
  std::string few = field(1, repeated("\x05", 100)), many = field(1, repeated("\x05", 900));
  schema::MessageType packed = schema().type("Packed");
  double element = (cycles_a_message(packed, many, 10) - cycles_a_message(packed, few, 10)) / 800;
  rows.add("packed-varint", "cycles", element, 2, 1);
  few = field(2, std::string(400, 'x')), many = field(2, std::string(3600, 'x'));
  element = (cycles_a_message(packed, many, 10) - cycles_a_message(packed, few, 10)) / 800;
  rows.add("packed-fixed32", "cycles", element, 1, 0.125);
  std::string sixteen;
  for (uint32_t i = 1; i <= 16; ++i) sixteen += varint(i << 3) + std::string("\x05", 1);
  rows.add("msg-16-varints", "cycles", cycles_a_message(schema().type("Flat"), sixteen, 200), 85, 28);
}

// Strings and bytes cut to 64 bytes, at every level.
std::string cut(const schema::MessageType& type, std::string_view wire) {
  std::string out;
  size_t at = 0;
  auto read = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      auto byte = static_cast<uint8_t>(wire[at++]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < wire.size()) {
    size_t begin = at;
    uint64_t tag = read();
    const schema::FieldEntry* entry = type.find_field(static_cast<uint32_t>(tag >> 3));
    if ((tag & 7) == 0) read();
    if ((tag & 7) == 1) at += 8;
    if ((tag & 7) == 5) at += 4;
    if ((tag & 7) != 2) {
      out += wire.substr(begin, at - begin);
      continue;
    }
    uint64_t size = read();
    std::string_view content = wire.substr(at, size);
    at += size;
    if (entry != nullptr && schema::is_message_kind(entry->kind)) {
      out += field(static_cast<uint32_t>(tag >> 3), cut(type.sub(*entry), content));
    } else {
      bool text = entry != nullptr && schema::is_string_kind(entry->kind);
      out += field(static_cast<uint32_t>(tag >> 3), std::string(text ? content.substr(0, 64) : content));
    }
  }
  return out;
}

void workload_rows(const workload::Workload& work, bench::Rows& rows, Share* share) {
  using OfGroup = std::optional<double>[6];
  const OfGroup goals = {2250, 120, kNone, 1270, 1620, kNone}, peers = {8078, 347, kNone, 4524, 5804, kNone};
  const OfGroup cut_goals = {75, 38, kNone, 38, 56, kNone}, cut_peers = {225, 99, kNone, 100, 165, kNone};
  for (size_t g = 0; g < work.groups.size(); ++g) {
    for (bool short_strings : {false, true}) {
      std::vector<std::string> wires;
      std::vector<schema::MessageType> types;
      for (const auto& message : work.messages) {
        if (message.group != g) continue;
        wires.push_back(short_strings ? cut(message.type, message.wire) : message.wire);
        types.push_back(message.type);
      }
      BenchOptions options = one_lane();
      options.host_bytes = size_t{128} << 20;
      options.run_chunks = 2048;
      DeserializerBench bench(options);
      bench.load(work.groups[g].image.image());
      size_t rounds = short_strings ? 10 : 3;
      for (size_t r = 0; r < rounds; ++r) {
        for (size_t i = 0; i < wires.size(); ++i) bench.add(types[i], wires[i]);
      }
      if (!bench.run()) fail(work.groups[g].name + " hangs");
      for (const Outcome& outcome : bench.outcomes()) {
        if (!outcome.difference.empty()) fail(work.groups[g].name + ": " + outcome.difference);
        ++share->messages;
        if (outcome.record.kind == RecordKind::kSoftware) ++share->software;
      }
      size_t first = wires.size() - 1, last = bench.outcomes().size() - 1;
      double mean = static_cast<double>(bench.outcomes()[last].cycle - bench.outcomes()[first].cycle) /
                    static_cast<double>(last - first);
      int bench_number = work.groups[g].name.back() - '0';
      std::string name = (short_strings ? "hpb-cut64-bench" : "hpb-bench") + std::to_string(bench_number);
      rows.add(name, "cycles", mean, (short_strings ? cut_peers : peers)[bench_number],
               (short_strings ? cut_goals : goals)[bench_number]);
    }
  }
}
}  // namespace

int main(int argc, char** argv) {
  std::string directory;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--hyperprotobench") == 0) directory = argv[i + 1];
  }
  workload::WorkloadResult made = directory.empty()
                                      ? workload::hyperproto_like()
                                      : workload::load_hyperprotobench(directory, workload::WorkloadPart::kAll);
  if (!made.ok()) fail(made.error);
  bench::Rows rows;
  field_rows(rows);
  Share share;
  workload_rows(made.workload, rows, &share);
  rows.add("hpb-left-to-software", "percent",
           100.0 * static_cast<double>(share.software) / static_cast<double>(share.messages), kNone, 0);
  return 0;
}
