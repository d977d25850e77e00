// Encoding an object graph that a hostile host left in its region, changed where it hurts: pointers led in circles, to
// other objects, to the edge of the memory and beyond it, sizes and metadata of strings, repeated fields, maps and
// unknown fields, has-bits and oneof cases. (codec/encode/hostile_encode_fuzz.cc scribbles bytes anywhere.) The graph
// lies in one heap block of exactly the size of the bounds, so that AddressSanitizer sees every read outside.
//
//   input: u8 schema | u8 message | u16 message seed | changes: u8 what, u16 slot, u32 value
#include <google/protobuf/stubs/logging.h>

#include <array>
#include <cstring>

#include "message/operations.h"
#include "message/raw.h"
#include "object/map.h"
#include "object/repeated.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"
#include "workload/message_generator.h"
#include "workload/random_schema.h"

namespace drover::workload {
namespace {

using testing::TestSchema;

// The places of a graph's words, as offsets in its block.
struct Slots {
  std::vector<size_t> pointers;  // OffsetPtr, and `data` of String, Repeated and MapIndex
  std::vector<size_t> sizes;     // u32 size and meta
  std::vector<size_t> words;     // has-bits, oneof cases
  std::vector<size_t> objects;   // where objects begin

  void walk(const schema::MessageType& type, const char* base, const char* object) {
    objects.push_back(at(base, object));
    pointers.push_back(at(base, object) + 8);  // unknown fields
    if (const auto* unknown = reinterpret_cast<const Message*>(object)->drover_unknown_string()) {
      add_words(base, reinterpret_cast<const char*>(unknown));
    }
    for (uint32_t offset = 16; offset < schema::object_prefix_size(type.entry()); offset += 4) {
      words.push_back(at(base, object) + offset);
    }
    for (const schema::FieldEntry& field : type.fields()) walk_field(type, field, base, object);
  }

 private:
  static size_t at(const char* base, const char* p) { return static_cast<size_t>(p - base); }
  void add_words(const char* base, const char* p) {
    pointers.push_back(at(base, p));
    sizes.push_back(at(base, p) + 8);
    sizes.push_back(at(base, p) + 12);
  }
  void walk_field(const schema::MessageType& type, const schema::FieldEntry& field, const char* base,
                  const char* object) {
    if (field.label == schema::kLabelSingular) {
      if (!raw::present(object, field)) return;
      if (schema::is_string_kind(field.kind)) add_words(base, object + field.offset);
      if (schema::is_message_kind(field.kind)) walk_pointer(type.sub(field), base, object + field.offset);
      return;
    }
    add_words(base, object + field.offset);
    if (field.label == schema::kLabelMap) pointers.push_back(at(base, object + field.offset) + 16);
    const raw::Words* array = raw::words(object, field.offset);
    for (uint32_t i = 0; i < array->size; ++i) {
      if (schema::is_message_kind(field.kind)) walk_pointer(type.sub(field), base, array->begin() + 8 * size_t{i});
      if (schema::is_string_kind(field.kind)) add_words(base, array->begin() + 16 * size_t{i});
    }
  }
  void walk_pointer(const schema::MessageType& type, const char* base, const char* pointer) {
    pointers.push_back(at(base, pointer));
    const char* target = reinterpret_cast<const raw::Pointer*>(pointer)->get();
    if (target != nullptr) walk(type, base, target);
  }
};

size_t pick(const std::vector<size_t>& places, size_t n) { return places.empty() ? 0 : places[n % places.size()]; }

void change(char* base, size_t size, const Slots& slots, uint8_t what, uint16_t slot, uint32_t value) {
  size_t pointer = pick(slots.pointers, slot), word = pick(slots.sizes, slot);
  auto lead_to = [&](int64_t target) { raw::store<int64_t>(base + pointer, target - static_cast<int64_t>(pointer)); };
  auto near = [&](size_t place) { return static_cast<int64_t>(place) + static_cast<int8_t>(value >> 24); };
  switch (what % 10) {
    case 0:  // a circle, or two ways to one object
      return lead_to(static_cast<int64_t>(pick(slots.objects, value)));
    case 1:
      return lead_to(static_cast<int64_t>(value % size));
    case 2:
      return lead_to(near(size));
    case 3:
      return lead_to(near(0));
    case 4:
      return raw::store<int64_t>(base + pointer, static_cast<int64_t>(uint64_t{value} << 32 | ~value));
    case 5:  // what another pointer holds, from here
      return raw::store<int64_t>(base + pointer, raw::load<int64_t>(base + pick(slots.pointers, value)));
    case 6:
      return raw::store<uint32_t>(base + word, value);
    case 7:
      return raw::store<uint32_t>(base + word, raw::load<uint32_t>(base + word) + value % 64 - 16);
    case 8:
      if (slots.words.empty()) return;
      return raw::store<uint32_t>(base + pick(slots.words, slot), value);
    default:
      if (size >= 4) raw::store<uint32_t>(base + slot % (size - 3), value);
  }
}

const TestSchema& schema_of(uint8_t number) {
  static std::array<std::unique_ptr<TestSchema>, 32> schemas;
  number %= 32;
  if (schemas[number] == nullptr) schemas[number] = std::make_unique<TestSchema>(random_schema(1000u + number));
  return *schemas[number];
}

void run(const uint8_t* data, size_t size) {
  const TestSchema& schema = schema_of(data[0]);
  std::vector<std::string> names = message_names(schema.files());
  testing::TestObject original(schema.type(names[data[1] % names.size()]));
  MessageOptions options;
  options.max_levels = 4;
  options.max_size = 1500;
  options.unknown_permille = 300;
  if (!fill_object(original.type(), data[2] | uint64_t{data[3]} << 8, options, original.get(), *original.arena())
           .ok()) {
    testing::die("a generated message does not decode");
  }
  size_t bytes = message::linearized_size(original.type(), *original.get());
  std::unique_ptr<char[]> block(new char[bytes]);
  Arena arena(heap_block_source(), block.get(), bytes);
  Message* object = message::deep_copy_into(original.type(), *original.get(), &arena);
  if (!arena.only_initial_block()) testing::die("a linearized object takes more than linearized_size says");
  Slots slots;
  slots.walk(original.type(), block.get(), object->drover_bytes());
  for (size_t i = 4; i + 7 <= size && i < 4 + 7 * 32; i += 7) {
    uint32_t value =
        data[i + 3] | uint32_t{data[i + 4]} << 8 | uint32_t{data[i + 5]} << 16 | uint32_t{data[i + 6]} << 24;
    change(block.get(), bytes, slots, data[i], static_cast<uint16_t>(data[i + 1] | data[i + 2] << 8), value);
  }
  Bounds bounds{block.get(), bytes};
  EncodeOptions encode_options;
  encode_options.bounds = &bounds;
  encode_options.max_bytes = 1 << 20;
  encode_options.work_allowance = 1 << 16;
  encode_options.depth_limit = 60;
  encode_options.reference_threshold = (data[0] & 128) != 0 ? 1 : 1024;
  Encoded encoded;
  EncodeResult result = encode(original.type(), object, encode_options, &encoded);
  if (!result.ok()) return;
  std::string wire(encoded.size(), '\0');
  encoded.copy_to(wire.data());
  size_t pieces = 0;
  for (const Piece& piece : encoded.pieces()) pieces += piece.size;
  if (pieces != encoded.size() || pieces != result.size || pieces > encode_options.max_bytes) {
    testing::die("the encoded size is not the pieces'");
  }
  if (size < 11 && wire != original.encode()) testing::die("an unchanged graph is encoded differently with bounds");
}

}  // namespace
}  // namespace drover::workload

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= 4) drover::workload::run(data, size);
  return 0;
}
