#include "bench/codec/kinds.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string_view>

namespace drover::bench {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;

constexpr int kVarint = 0;
constexpr int kFixed64 = 1;
constexpr int kDelimited = 2;
constexpr int kStartGroup = 3;
constexpr int kEndGroup = 4;
constexpr int kFixed32 = 5;

// Singular fields have the numbers from `first_number` on, so that `2 * kSingular` of them have tags of one length.
constexpr int kSingular = 7;
constexpr int kRepeated = 64;
constexpr size_t kPackedElements = 16384;

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string tag(int number, int wire_type) {
  return varint(static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(wire_type));
}
std::string delimited(const std::string& bytes) { return varint(bytes.size()) + bytes; }
std::string text(size_t size) { return std::string("abcdefghijklmnopqrstuvwxyz").append(size, 'x').substr(0, size); }

enum class Shape { kSingular, kOneof, kRepeated, kPacked, kMap, kUnknown };

struct Kind {
  const char* name;
  FieldDescriptorProto::Type type;
  Shape shape;
  int first_number;
  int wire_type;
  std::string value;  // the bytes behind the tag; for a packed field, one element
  const char* sub = "Leaf";
  bool proto3 = false;
};

std::vector<Kind> kinds() {
  using F = FieldDescriptorProto;
  constexpr Shape kOne = Shape::kSingular;
  const std::string ten_bytes = varint(~uint64_t{0});
  const std::string leaf = tag(1, kVarint) + varint(7);
  const std::string one_group = leaf + tag(1, kEndGroup);
  return {
      {"bool", F::TYPE_BOOL, kOne, 1, kVarint, varint(1)},
      {"varint_1byte", F::TYPE_UINT64, kOne, 1, kVarint, varint(7)},
      {"varint_2bytes", F::TYPE_UINT64, kOne, 1, kVarint, varint(300)},
      {"varint_5bytes", F::TYPE_UINT64, kOne, 1, kVarint, varint(uint64_t{1} << 33)},
      {"varint_10bytes", F::TYPE_UINT64, kOne, 1, kVarint, ten_bytes},
      {"int32_negative", F::TYPE_INT32, kOne, 1, kVarint, ten_bytes},
      {"sint64_2bytes", F::TYPE_SINT64, kOne, 1, kVarint, varint(300)},
      {"enum_closed", F::TYPE_ENUM, kOne, 1, kVarint, varint(1)},
      {"enum_open", F::TYPE_ENUM, kOne, 1, kVarint, varint(1), "Leaf", true},
      {"fixed32", F::TYPE_FIXED32, kOne, 1, kFixed32, "abcd"},
      {"fixed64", F::TYPE_FIXED64, kOne, 1, kFixed64, "abcdefgh"},
      {"string_8", F::TYPE_STRING, kOne, 1, kDelimited, delimited(text(8))},
      {"string_32", F::TYPE_STRING, kOne, 1, kDelimited, delimited(text(32))},
      {"string_256", F::TYPE_STRING, kOne, 1, kDelimited, delimited(text(256))},
      {"string_utf8_8", F::TYPE_STRING, kOne, 1, kDelimited, delimited(text(8)), "Leaf", true},
      {"string_utf8_32", F::TYPE_STRING, kOne, 1, kDelimited, delimited(text(32)), "Leaf", true},
      {"bytes_32", F::TYPE_BYTES, kOne, 1, kDelimited, delimited(text(32))},
      {"sub_message_empty", F::TYPE_MESSAGE, kOne, 1, kDelimited, delimited("")},
      {"sub_message_1_varint", F::TYPE_MESSAGE, kOne, 1, kDelimited, delimited(leaf)},
      {"group_1_varint", F::TYPE_GROUP, kOne, 1, kStartGroup, one_group},
      {"oneof_varint", F::TYPE_UINT64, Shape::kOneof, 1, kVarint, varint(7)},
      {"tag_2bytes_varint", F::TYPE_UINT64, kOne, 16, kVarint, varint(7)},
      {"tag_3bytes_varint", F::TYPE_UINT64, kOne, 2048, kVarint, varint(7)},
      {"repeated_varint", F::TYPE_UINT64, Shape::kRepeated, 1, kVarint, varint(7)},
      {"repeated_string_8", F::TYPE_STRING, Shape::kRepeated, 1, kDelimited, delimited(text(8))},
      {"repeated_message", F::TYPE_MESSAGE, Shape::kRepeated, 1, kDelimited, delimited(leaf)},
      {"packed_varint_1byte", F::TYPE_UINT64, Shape::kPacked, 1, kDelimited, varint(7)},
      {"packed_fixed32", F::TYPE_FIXED32, Shape::kPacked, 1, kDelimited, "abcd"},
      {"packed_bool", F::TYPE_BOOL, Shape::kPacked, 1, kDelimited, varint(1)},
      {"map_uint64_uint64", F::TYPE_UINT64, Shape::kMap, 1, kDelimited, tag(2, kVarint) + varint(7)},
      {"map_uint64_string_8", F::TYPE_STRING, Shape::kMap, 1, kDelimited, tag(2, kDelimited) + delimited(text(8))},
      {"unknown_varint", F::TYPE_UINT64, Shape::kUnknown, 1, kVarint, varint(7)},
      {"unknown_string_32", F::TYPE_STRING, Shape::kUnknown, 1, kDelimited, delimited(text(32))},
  };
}

int count_of(const Kind& kind) {
  bool single = kind.shape == Shape::kSingular || kind.shape == Shape::kOneof || kind.shape == Shape::kUnknown;
  return single ? kSingular : kRepeated;
}

// ---- the schema

void set_type(FieldDescriptorProto* field, const Kind& kind, const std::string& package) {
  field->set_type(kind.type);
  bool is_message = kind.type == FieldDescriptorProto::TYPE_MESSAGE || kind.type == FieldDescriptorProto::TYPE_GROUP;
  if (is_message) field->set_type_name("." + package + "." + kind.sub);
  if (kind.type == FieldDescriptorProto::TYPE_ENUM) field->set_type_name("." + package + ".Choice");
}

FieldDescriptorProto* add_field(DescriptorProto* message, int number, FieldDescriptorProto::Label label) {
  auto* field = message->add_field();
  field->set_name("f" + std::to_string(number));
  field->set_number(number);
  field->set_label(label);
  return field;
}

void add_map_entry(DescriptorProto* message, const Kind& kind, const std::string& package) {
  auto* entry = message->add_nested_type();
  entry->set_name("F1Entry");
  entry->mutable_options()->set_map_entry(true);
  auto* key = add_field(entry, 1, FieldDescriptorProto::LABEL_OPTIONAL);
  key->set_name("key");
  key->set_type(FieldDescriptorProto::TYPE_UINT64);
  auto* value = add_field(entry, 2, FieldDescriptorProto::LABEL_OPTIONAL);
  value->set_name("value");
  set_type(value, kind, package);
  auto* field = add_field(message, 1, FieldDescriptorProto::LABEL_REPEATED);
  field->set_type(FieldDescriptorProto::TYPE_MESSAGE);
  field->set_type_name("." + package + "." + message->name() + ".F1Entry");
}

// protobuf wants a group field's type nested beside the field, with the field's name in capitals.
void add_group_type(DescriptorProto* message, FieldDescriptorProto* field, const std::string& package) {
  auto* group = message->add_nested_type();
  group->set_name("F" + std::to_string(field->number()));
  add_field(group, 1, FieldDescriptorProto::LABEL_OPTIONAL)->set_type(FieldDescriptorProto::TYPE_UINT64);
  field->set_type_name("." + package + "." + message->name() + "." + group->name());
}

void add_type(FileDescriptorProto* file, const Kind& kind) {
  auto* message = file->add_message_type();
  message->set_name(std::string(kind.name) + "_fields");
  const std::string& package = file->package();
  if (kind.shape == Shape::kUnknown) return;
  if (kind.shape == Shape::kMap) return add_map_entry(message, kind, package);
  if (kind.shape == Shape::kRepeated || kind.shape == Shape::kPacked) {
    auto* field = add_field(message, 1, FieldDescriptorProto::LABEL_REPEATED);
    set_type(field, kind, package);
    if (kind.shape == Shape::kPacked) field->mutable_options()->set_packed(true);
    return;
  }
  for (int i = 0; i < 2 * kSingular; ++i) {
    auto* field = add_field(message, kind.first_number + i, FieldDescriptorProto::LABEL_OPTIONAL);
    set_type(field, kind, package);
    if (kind.type == FieldDescriptorProto::TYPE_GROUP) add_group_type(message, field, package);
    if (kind.shape != Shape::kOneof) continue;
    field->set_oneof_index(i);
    auto* other = add_field(message, 100 + i, FieldDescriptorProto::LABEL_OPTIONAL);
    set_type(other, kind, package);
    other->set_oneof_index(i);
    message->add_oneof_decl()->set_name("choice" + std::to_string(i));
  }
}

void start_file(FileDescriptorProto* file, const std::string& name, const char* syntax) {
  file->set_name("codec_bench/" + name + ".proto");
  file->set_package("codec_bench." + name);
  file->set_syntax(syntax);
  auto* leaf = file->add_message_type();
  leaf->set_name("Leaf");
  add_field(leaf, 1, FieldDescriptorProto::LABEL_OPTIONAL)->set_type(FieldDescriptorProto::TYPE_UINT64);
  auto* choice = file->add_enum_type();
  choice->set_name("Choice");
  for (int i = 0; i < 3; ++i) {
    auto* value = choice->add_value();
    value->set_name("CHOICE_" + std::to_string(i));
    value->set_number(i);
  }
}

// ---- the bytes

std::string wire_of(const Kind& kind, int count) {
  std::string wire;
  for (int i = 0; i < count; ++i) {
    switch (kind.shape) {
      case Shape::kSingular:
      case Shape::kOneof:
      case Shape::kUnknown: {
        std::string value = kind.value;
        // The end tag has the group's own number.
        if (kind.wire_type == kStartGroup) value = value.substr(0, value.size() - 1) + tag(i + 1, kEndGroup);
        wire += tag(kind.first_number + i, kind.wire_type) + value;
        break;
      }
      case Shape::kRepeated:
        wire += tag(1, kind.wire_type) + kind.value;
        break;
      case Shape::kPacked:
        wire += kind.value;
        break;
      case Shape::kMap:
        wire += tag(1, kDelimited) + delimited(tag(1, kVarint) + varint(static_cast<uint64_t>(i)) + kind.value);
        break;
    }
  }
  return kind.shape == Shape::kPacked ? tag(1, kDelimited) + delimited(wire) : wire;
}

// A value whose varint has so many bytes.
uint64_t value_of_length(int length, std::mt19937_64& random) {
  uint64_t lowest = length == 1 ? 0 : uint64_t{1} << (7 * (length - 1));
  uint64_t highest = length == 10 ? ~uint64_t{0} : (uint64_t{1} << (7 * length)) - 1;
  return lowest + random() % (highest - lowest + 1);
}

struct PackedCase {
  const char* name;
  int shortest, longest;
};

void add_packed(const std::shared_ptr<const Schema>& schema, BenchMessages* result) {
  for (const PackedCase& packed :
       {PackedCase{"packed-varint", 1, 10}, PackedCase{"packed-varint-1byte", 1, 1},
        PackedCase{"packed-varint-1to2bytes", 1, 2}, PackedCase{"packed-varint-5bytes", 5, 5}}) {
    std::mt19937_64 random(1);
    std::vector<int> lengths;  // each as often as the others, in random order
    int range = packed.longest - packed.shortest + 1;
    for (size_t i = 0; i < kPackedElements; ++i) lengths.push_back(packed.shortest + static_cast<int>(i) % range);
    for (size_t i = lengths.size() - 1; i > 0; --i) std::swap(lengths[i], lengths[random() % (i + 1)]);
    std::string values;
    for (int length : lengths) values += varint(value_of_length(length, random));
    result->messages.push_back({packed.name, "packed", "codec_bench.kinds.packed_varint_1byte_fields", schema,
                                tag(1, kDelimited) + delimited(values)});
  }
}

}  // namespace

BenchMessages kind_messages() {
  auto schema = std::make_shared<Schema>();
  start_file(schema->add_file(), "kinds", "proto2");
  start_file(schema->add_file(), "kinds3", "proto3");
  BenchMessages result;
  for (const Kind& kind : kinds()) {
    auto* file = schema->mutable_file(kind.proto3 ? 1 : 0);
    add_type(file, kind);
    for (int count : {count_of(kind), 2 * count_of(kind)}) {
      result.messages.push_back({"kind." + std::string(kind.name) + "." + std::to_string(count), "kinds",
                                 file->package() + "." + kind.name + "_fields", schema, wire_of(kind, count)});
    }
  }
  add_packed(schema, &result);
  result.schemas.push_back({"kinds", schema});
  return result;
}

}  // namespace drover::bench
