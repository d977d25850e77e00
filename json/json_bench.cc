// JSON text to an object and back, beside protobuf C++ 3.21's util functions; ns for each message of the same content.
// Decoding through a schema that was loaded at run time is measured as well, beside an image as protoc-gen-drover
// embeds it: the same decoder, on images of the same bytes.
#include <benchmark/benchmark.h>
#include <google/protobuf/util/json_util.h>

#include "json/json_testing.h"
#include "schema/dynamic_schema.h"

namespace drover::json {
namespace {

enum Content { kScalars, kStrings, kNumbers, kNested, kStruct };

jt::Mapping message_of(Content content) {
  jt::Mapping m;
  switch (content) {
    case kScalars:
      m.set_an_int32(-123456), m.set_an_int64(1234567890123), m.set_a_double(3.14159), m.set_a_bool(true);
      m.set_a_string("a string of some words"), m.set_some_bytes("0123456789"), m.set_a_color(jt::GREEN);
      m.set_maybe_int32(7), m.set_chosen_string("chosen"), m.mutable_time()->set_seconds(1700000000);
      break;
    case kStrings:
      for (int i = 0; i < 100; ++i) m.add_many_string("an ordinary line of text, as logs have it, without escapes");
      break;
    case kNumbers:
      for (int i = 0; i < 500; ++i) m.add_many_int32(i * 7919), m.add_many_double(i / 7.0);
      break;
    case kNested:
      for (int i = 0; i < 100; ++i) {
        auto* sub = m.add_many_mapping();
        sub->set_an_int32(i), sub->set_a_string("item"), sub->mutable_a_mapping()->set_a_bool(true);
      }
      break;
    case kStruct:
      for (int i = 0; i < 100; ++i) {
        auto& value = (*m.mutable_struct_()->mutable_fields())["key" + std::to_string(i)];
        value.mutable_list_value()->add_values()->set_number_value(i);
        value.mutable_list_value()->add_values()->set_string_value("text");
      }
      break;
  }
  return m;
}

struct Prepared {
  explicit Prepared(Content content) : message(message_of(content)), object("jt.Mapping") {
    google::protobuf::util::MessageToJsonString(message, &text);
    object.decode(message.SerializeAsString());
  }
  jt::Mapping message;
  std::string text;
  testing::Object object;
};

void parse_drover(benchmark::State& state) {
  const Prepared prepared(static_cast<Content>(state.range(0)));
  const schema::MessageType type = prepared.object.type();
  Arena arena;
  for (auto _ : state) {
    arena.reset();
    auto* object = static_cast<Message*>(arena.allocate_zeroed(type.entry().object_size));
    *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
    if (!parse(type, prepared.text, {}, object).ok()) state.SkipWithError("refused");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * prepared.text.size()));
}
void parse_protobuf(benchmark::State& state) {
  const Prepared prepared(static_cast<Content>(state.range(0)));
  jt::Mapping message;
  for (auto _ : state) {
    if (!google::protobuf::util::JsonStringToMessage(prepared.text, &message).ok()) state.SkipWithError("refused");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * prepared.text.size()));
}
void print_drover(benchmark::State& state) {
  const Prepared prepared(static_cast<Content>(state.range(0)));
  std::string out;
  for (auto _ : state) {
    out.clear();
    if (!print(prepared.object.type(), *prepared.object.get(), {}, &out).ok()) state.SkipWithError("refused");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * out.size()));
}
void print_protobuf(benchmark::State& state) {
  const Prepared prepared(static_cast<Content>(state.range(0)));
  std::string out;
  for (auto _ : state) {
    out.clear();
    if (!google::protobuf::util::MessageToJsonString(prepared.message, &out).ok()) state.SkipWithError("refused");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * out.size()));
}

void decode_in(benchmark::State& state, const schema::MessageType& type) {
  const std::string wire = message_of(static_cast<Content>(state.range(0))).SerializeAsString();
  Arena arena;
  for (auto _ : state) {
    arena.reset();
    auto* object = static_cast<Message*>(arena.allocate_zeroed(type.entry().object_size));
    *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
    if (!decode(type, object, wire, arena).ok()) state.SkipWithError("refused");
  }
}
void decode_embedded_image(benchmark::State& state) { decode_in(state, testing::type_named("jt.Mapping")); }
void decode_dynamic_schema(benchmark::State& state) {
  google::protobuf::FileDescriptorSet set;
  std::set<std::string> seen;
  testing::add_with_imports(jt::Mapping::descriptor()->file(), &seen, &set);
  schema::DynamicSchema schema;
  const std::string error = schema::DynamicSchema::load(set.SerializeAsString(), &schema);
  if (!error.empty()) return state.SkipWithError(error.c_str());
  decode_in(state, *schema.find_message("jt.Mapping"));
}

#define DROVER_JSON_BENCH(name) BENCHMARK(name)->ArgName("content")->DenseRange(kScalars, kStruct)
DROVER_JSON_BENCH(parse_drover);
DROVER_JSON_BENCH(parse_protobuf);
DROVER_JSON_BENCH(print_drover);
DROVER_JSON_BENCH(print_protobuf);
DROVER_JSON_BENCH(decode_embedded_image);
DROVER_JSON_BENCH(decode_dynamic_schema);

}  // namespace
}  // namespace drover::json

BENCHMARK_MAIN();
