// The serializer's rows of `make bench-rtl`: cycles in simulation, as JSON on the standard output.
//
//   serializer_rows [--hyperprotobench DIR]
//
// Memories answer after 300 cycles unless a row's name says otherwise, and give a beat in every cycle. A row's cycles
// are the difference between two lengths of one workload (a field's price), or the distance of last bytes of messages
// back to back. Every packet is compared with the software encoder's bytes; one that differs fails the run.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bench/rtl/rows.h"
#include "codec/encode/encode.h"
#include "message/operations.h"
#include "rtl/testing/serializer_bench.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"
#include "workload/workload.h"

namespace {
using namespace drover;
using namespace drover::rtl;
using bench::kNone;
using drover::testing::parse_proto;
using drover::testing::TestObject;
using drover::testing::TestSchema;

// kPushed: the records lie in the engine's memory. kReference: so, and strings from 256 bytes on are not copied.
// kRun: a walk whose command says that all of the object lies in one piece.
enum class Way { kStream, kWalk, kRun, kPushed, kReference };
constexpr uint32_t kPushedLatency = 20;  // of the engine's memory, where records are pushed into it

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "serializer_rows: %s\n", what.c_str());
  std::exit(1);
}

std::string wide_schema() {
  std::string text = "syntax = 'proto2'; message Wide { ";
  for (int i = 1; i <= 60; ++i) text += "optional bool f" + std::to_string(i) + " = " + std::to_string(i) + "; ";
  return text + "} message Sparse { optional bool a = 1; optional bool b = 2000; }";
}

const TestSchema& schema() {
  static const TestSchema built(parse_proto(R"(
      syntax = "proto2";
      message Flat { repeated int32 a = 1; repeated int64 b = 2; repeated sint64 c = 20; repeated fixed64 d = 21; }
      message Sub { optional int32 v = 1; }
      message Subs { repeated Sub s = 1; repeated int32 v = 2; }
      message Deep { optional Deep s = 1; optional int32 v = 2; }
      message Text { repeated bytes a = 1; }
      message Packed { repeated uint32 v = 1 [packed = true]; repeated fixed32 f = 2 [packed = true]; })"));
  return built;
}

struct Run {
  double cycles;  // a message, between last bytes
  double answer;  // from the first command to its first beat
  double first;   // to its last byte
  size_t messages, software;
};

struct Sent {
  schema::MessageType type;
  std::string wire;
};

Run run(const std::vector<Sent>& messages, Way way, uint32_t latency, size_t rounds) {
  SerializerBench::Options options;
  options.host = {.latency = latency, .in_flight = 1024};
  options.engine = options.host;
  if (way == Way::kPushed || way == Way::kReference) options.engine.latency = kPushedLatency;
  options.engine_bytes = size_t{4} << 20;
  options.host_bytes = size_t{160} << 20;
  SerializerBench bench(options);
  bench.load(*messages[0].type.image);
  std::vector<SerializerCommand> commands;
  for (const Sent& message : messages) {
    TestObject object(message.type);
    if (!object.decode(message.wire).ok()) fail("a message does not decode");
    SerializerCommand command;
    const Message* source = object.get();
    Message* copy = nullptr;
    size_t size = 0;
    bool walks = way == Way::kWalk || way == Way::kRun;
    if (walks || way == Way::kReference) {
      size = message::linearized_size(object.type(), *object.get());
      PreserializedOutput room = bench.room(size);
      if (room.buffer == nullptr) fail("no room");
      Arena arena(heap_block_source(), room.buffer, size);
      source = copy = message::deep_copy_into(object.type(), *object.get(), &arena);
    }
    if (!walks) {
      PreserializeOptions how;
      if (way == Way::kReference) how.host = {reinterpret_cast<uintptr_t>(bench.host().data()), bench.host().size()};
      PreserializedOutput stream = bench.room(message.wire.size() * 4 + 4096);
      if (stream.buffer == nullptr || !preserialize(object.type(), source, how, &stream).ok()) fail("no room");
      // Behind each other, as in a ring of a driver's.
      command = bench.command(stream, 0);
      if (way != Way::kStream && !bench.push(&command)) fail("no room");
    } else {
      command.walk = true;
      if (way == Way::kRun) command.record_bytes = static_cast<uint32_t>(size);
      command.message = static_cast<uint16_t>(object.type().index);
      command.records = SerializerBench::kHostBase + static_cast<uint64_t>(copy->drover_bytes() - bench.host().data());
    }
    commands.push_back(command);
  }
  std::vector<const Sent*> order;
  for (size_t r = 0; r < rounds; ++r) {
    for (size_t i = 0; i < messages.size(); ++i) {
      commands[i].cookie = static_cast<uint16_t>(order.size());
      bench.send(commands[i]);
      order.push_back(&messages[i]);
    }
  }
  if (!bench.run(50'000'000)) fail("hangs");
  Run result{0, 0, 0, order.size(), 0};
  std::vector<bool> is_software(order.size());
  for (const SerializerCompletion& c : bench.completions()) {
    if (left_to_software(c.error)) {
      ++result.software;
      is_software[c.cookie] = true;
    } else if (c.error != SerializerError::kNone) {
      fail("an error: " + std::to_string(static_cast<int>(c.error)));
    }
  }
  for (size_t i = 0; i < order.size(); ++i) {
    if (is_software[i]) continue;
    if (bench.packets().take() != order[i]->wire) fail("bytes differ from the software encoder's");
  }
  const std::vector<uint64_t>& last = bench.last_beats();
  result.answer = static_cast<double>(bench.first_beats().front() - bench.first_command());
  result.first = static_cast<double>(last.front() - bench.first_command());
  size_t skip = messages.size() - 1;
  if (last.size() > skip + 1) {
    result.cycles = static_cast<double>(last.back() - last[skip]) / static_cast<double>(last.size() - 1 - skip);
  }
  return result;
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

double cycles(const char* type, const std::string& wire, Way way, size_t rounds = 20, uint32_t latency = 300) {
  return run({{schema().type(type), wire}}, way, latency, rounds).cycles;
}
// What one more of `piece` costs in a message that has many of them.
double price(const char* type, const std::string& piece, Way way, size_t few = 100, size_t many = 300) {
  return (cycles(type, repeated(piece, many), way) - cycles(type, repeated(piece, few), way)) /
         static_cast<double>(many - few);
}

void field_rows(bench::Rows& rows) {
  // Of 1, 2, 5 and 10 bytes; the last two of 64 bits.
  std::string narrow = varint(1 << 3) + varint(5) + varint(1 << 3) + varint(300);
  std::string wide = varint(2 << 3) + varint(uint64_t{1} << 33) + varint(2 << 3) + varint(~uint64_t{0});
  std::vector<double> scalars;
  for (const std::string& pair : {narrow, wide}) {
    const char* type = "Flat";
    scalars.push_back(price(type, pair, Way::kStream) / 2);
  }
  rows.add("ser-scalar", "cycles", std::max(scalars[0], scalars[1]), 3, 1.5);
  rows.add("ser-scalar-32-bit", "cycles", scalars[0], 3, 1.5);
  rows.add("ser-scalar-64-bit", "cycles", scalars[1], 3, 1.5);

  double subs = price("Subs", field(1, varint(1 << 3) + varint(5)), Way::kStream);
  double flat = price("Subs", varint(2 << 3) + varint(5), Way::kStream);
  rows.add("ser-submessage", "cycles", subs - flat, 8, 3);
  rows.add("ser-packed-varint", "cycles",
           (cycles("Packed", field(1, repeated("\x05", 900)), Way::kStream) -
            cycles("Packed", field(1, repeated("\x05", 100)), Way::kStream)) /
               800,
           kNone, 1);

  std::string eight = repeated(field(1, std::string(4096, 'x')), 8);
  for (uint32_t latency : {1u, 20u, 300u}) {
    Run strings = run({{schema().type("Text"), eight}}, Way::kStream, latency, 1);
    std::string name = latency == 1 ? "ser-strings-4KB" : "ser-4KB-latency-" + std::to_string(latency);
    rows.add(name, "bytes_per_cycle", static_cast<double>(eight.size()) / strings.first,
             latency == 1 ? std::optional(30.0) : kNone, latency == 1 ? std::optional(55.0) : kNone);
    if (latency == 1)
      rows.add(name, "cycles", strings.first, static_cast<double>(eight.size()) / 30,
               static_cast<double>(eight.size()) / 55);
  }
  rows.add("ser-4KB-sustained", "bytes_per_cycle",
           static_cast<double>(eight.size()) / cycles("Text", eight, Way::kStream, 20), 30, 55);
  rows.add("ser-4KB-reference-latency-300", "bytes_per_cycle",
           static_cast<double>(eight.size()) / run({{schema().type("Text"), eight}}, Way::kReference, 300, 1).first,
           kNone, kNone);
  rows.add("ser-4KB-reference-sustained", "bytes_per_cycle",
           static_cast<double>(eight.size()) / cycles("Text", eight, Way::kReference, 20), kNone, kNone);
  for (size_t length : {16u, 64u, 255u, 256u, 1024u}) {
    std::string text = field(1, std::string(length, 'x'));
    rows.add("ser-string-" + std::to_string(length), "cycles", price("Text", text, Way::kStream, 10, 50), kNone, kNone);
  }
  std::string sixteen;
  for (int i = 0; i < 16; ++i) sixteen += varint(1 << 3) + varint(5);
  rows.add("ser-msg-16-varints", "cycles", cycles("Flat", sixteen, Way::kStream, 100), kNone, kNone);
  // From a command to its first beat, beyond what the memories take. A reference is asked for when all is decoded.
  rows.add("ser-answer-16-varints", "cycles",
           run({{schema().type("Flat"), sixteen}}, Way::kStream, 300, 1).answer - 300, kNone, kNone);
  rows.add("ser-answer-pushed", "cycles",
           run({{schema().type("Flat"), sixteen}}, Way::kPushed, 300, 1).answer - kPushedLatency, kNone, kNone);
  std::string text = field(1, std::string(256, 'x'));
  rows.add("ser-answer-pushed-reference", "cycles",
           run({{schema().type("Text"), text}}, Way::kReference, 300, 1).answer - kPushedLatency - 300, kNone, kNone);
  std::string shorts = repeated(field(1, "x"), 300);
  rows.add("ser-answer-pushed-reference-300-fields", "cycles",
           run({{schema().type("Text"), text + shorts}}, Way::kReference, 300, 1).answer - kPushedLatency - 300, kNone,
           kNone);
}

void walker_rows(bench::Rows& rows) {
  rows.add("nic-only-submessage", "cycles",
           cycles("Deep", field(1, field(1, varint(2 << 3) + varint(5))), Way::kWalk, 20, 1) -
               cycles("Deep", field(1, varint(2 << 3) + varint(5)), Way::kWalk, 20, 1),
           8, kNone);
  rows.add("nic-only-run-submessage", "cycles",
           cycles("Deep", field(1, field(1, varint(2 << 3) + varint(5))), Way::kRun, 20, 1) -
               cycles("Deep", field(1, varint(2 << 3) + varint(5)), Way::kRun, 20, 1),
           8, kNone);
  TestSchema wide(parse_proto(wide_schema()));
  // Bools, so that the objects' sizes, and with them what has to be fetched, differ little.
  std::string all, one = varint(1 << 3) + varint(1);
  for (uint32_t i = 1; i <= 60; ++i) all += varint(i << 3) + varint(1);
  double full = run({{wide.type("Wide"), all}}, Way::kWalk, 1, 20).cycles;
  double sparse = run({{wide.type("Wide"), one}}, Way::kWalk, 1, 20).cycles;
  double two = run({{wide.type("Sparse"), one}}, Way::kWalk, 1, 20).cycles;
  rows.add("nic-only-scalar", "cycles", (full - sparse) / 59, 3, kNone);
  double skipping = sparse - two;  // 58 more declared fields, none of them set, and a line more of the object
  rows.add("nic-only-unset-field", "cycles", skipping / 58, 1, 1.0 / 32);
}

void workload_rows(const workload::Workload& work, bench::Rows& rows) {
  size_t messages = 0, software = 0;
  for (size_t g = 0; g < work.groups.size(); ++g) {
    std::vector<Sent> group;
    for (const auto& message : work.messages) {
      if (message.group == g) group.push_back({message.type, message.wire});
    }
    std::string bench = "bench" + std::string(1, work.groups[g].name.back());
    for (Way way : {Way::kStream, Way::kWalk, Way::kRun}) {
      Run result = run(group, way, 300, 2);
      messages += result.messages;
      software += result.software;
      const char* name = way == Way::kStream ? "ser-hpb-" : way == Way::kWalk ? "nic-only-hpb-" : "nic-only-run-hpb-";
      rows.add(name + bench, "cycles", result.cycles, kNone, kNone);
    }
  }
  rows.add("ser-left-to-software", "percent", 100.0 * static_cast<double>(software) / static_cast<double>(messages),
           kNone, 0);
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
  walker_rows(rows);
  workload_rows(made.workload, rows);
  return 0;
}
