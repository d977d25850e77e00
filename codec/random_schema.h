// Random schemas, messages and wire bytes for tests, all from one seeded generator.
#pragma once

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "codec/wire.h"

namespace drover::testing {

using Random = std::mt19937_64;

// A proto2 or proto3 file of a few messages with up to forty fields each.
class RandomSchema {
 public:
  RandomSchema(Random& random, bool maps) : random_(random), maps_(maps) {
    auto* file = set_.add_file();
    file->set_name("random.proto");
    file->set_package("r");
    proto3_ = random() % 2 == 0;
    if (proto3_) file->set_syntax("proto3");
    auto* enumeration = file->add_enum_type();
    enumeration->set_name("E");
    for (int i = 0; i < 5; ++i) {
      auto* value = enumeration->add_value();
      value->set_name("V" + std::to_string(i));
      value->set_number(i == 0 ? 0 : i * i * (i % 2 == 0 ? -7 : 3));
    }
    messages_ = 2 + random() % 4;
    for (size_t i = 0; i < messages_; ++i) names_.push_back("r.M" + std::to_string(i));
    for (size_t i = 0; i < messages_; ++i) add_message(file->add_message_type(), static_cast<int>(i));
  }
  bool proto3() const { return proto3_; }
  const google::protobuf::FileDescriptorSet& files() const { return set_; }
  const std::vector<std::string>& message_names() const { return names_; }

 private:
  using Field = google::protobuf::FieldDescriptorProto;

  void add_message(google::protobuf::DescriptorProto* message, int index) {
    message->set_name("M" + std::to_string(index));
    bool oneof = random_() % 3 == 0;
    if (oneof) message->add_oneof_decl()->set_name("choice");
    int count = static_cast<int>(random_() % 40), number = 0, members = static_cast<int>(random_() % 6);
    for (int i = 0; i < count; ++i) {
      uint64_t gap = random_() % 20;
      number += gap < 16   ? 1
                : gap < 19 ? static_cast<int>(random_() % 50) + 1
                           : static_cast<int>(random_() % 100000) + 1;
      if (number >= 19000 && number < 20000) number = 20000;
      add_field(message, number, oneof && i <= members);
    }
    if (oneof && count == 0) message->clear_oneof_decl();
  }

  void add_field(google::protobuf::DescriptorProto* message, int number, bool oneof) {
    auto* field = message->add_field();
    field->set_name("f" + std::to_string(number));
    field->set_number(number);
    int type = 1 + static_cast<int>(random_() % 18);
    if (type == Field::TYPE_GROUP) type = Field::TYPE_MESSAGE;
    field->set_type(static_cast<Field::Type>(type));
    if (type == Field::TYPE_MESSAGE) field->set_type_name(".r.M" + std::to_string(random_() % messages_));
    if (type == Field::TYPE_ENUM) field->set_type_name(".r.E");
    field->set_label(Field::LABEL_OPTIONAL);
    if (oneof) {
      field->set_oneof_index(0);
      return;
    }
    if (maps_ && random_() % 4 == 0) return make_map(message, field, number);
    if (random_() % 3 != 0) return;
    field->set_label(Field::LABEL_REPEATED);
    bool packable = type != Field::TYPE_STRING && type != Field::TYPE_BYTES && type != Field::TYPE_MESSAGE;
    if (packable) field->mutable_options()->set_packed(random_() % 2 == 0);
  }

  void make_map(google::protobuf::DescriptorProto* message, Field* field, int number) {
    static constexpr Field::Type kKeys[] = {Field::TYPE_INT32,  Field::TYPE_STRING,  Field::TYPE_BOOL,
                                            Field::TYPE_UINT64, Field::TYPE_FIXED32, Field::TYPE_SINT64};
    std::string name = "F" + std::to_string(number) + "Entry";
    auto* entry = message->add_nested_type();
    entry->set_name(name);
    entry->mutable_options()->set_map_entry(true);
    auto* key = entry->add_field();
    key->set_name("key");
    key->set_number(1);
    key->set_label(Field::LABEL_OPTIONAL);
    key->set_type(kKeys[random_() % 6]);
    auto* value = entry->add_field();
    *value = *field;
    value->set_name("value");
    value->set_number(2);
    field->set_type(Field::TYPE_MESSAGE);
    field->set_label(Field::LABEL_REPEATED);
    field->set_type_name(".r." + message->name() + "." + name);
  }

  Random& random_;
  bool maps_;
  bool proto3_;
  size_t messages_;
  google::protobuf::FileDescriptorSet set_;
  std::vector<std::string> names_;
};

inline uint64_t random_number(Random& random) {
  uint64_t bits = random();
  switch (random() % 4) {
    case 0:
      return bits % 3;
    case 1:
      return bits % 300;
    case 2:
      return bits >> (random() % 64);
    default:
      return bits | ~uint64_t{0} << (random() % 64);
  }
}

inline std::string random_text(Random& random) {
  static const char* const kParts[] = {"a", "bcd", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "0123456789abcdef",
                                       " "};
  std::string text;
  size_t parts = random() % 4 == 0 ? random() % 200 : random() % 6;
  for (size_t i = 0; i < parts; ++i) text += kParts[random() % 7];
  return text;
}

// Fills a dynamic message: about half of its fields, and now and then fields that it does not know.
class RandomMessages {
 public:
  explicit RandomMessages(Random& random) : random_(random) {}

  void fill(google::protobuf::Message* message, int depth) {
    const auto* descriptor = message->GetDescriptor();
    const auto* reflection = message->GetReflection();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const auto* field = descriptor->field(i);
      if (random_() % 2 == 0) continue;
      if (!field->is_repeated()) {
        set(message, field, false, depth);
        continue;
      }
      if (field->is_map()) {
        fill_map(message, field, depth);
        continue;
      }
      size_t count = random_() % 16 == 0 ? random_() % 100 : random_() % 4;
      for (size_t n = 0; n < count; ++n) set(message, field, true, depth);
    }
    if (random_() % 4 == 0) unknown(reflection->MutableUnknownFields(message), 3);
  }

 private:
  using FieldDescriptor = google::protobuf::FieldDescriptor;

  void set(google::protobuf::Message* m, const FieldDescriptor* field, bool add, int depth) {
    const auto* r = m->GetReflection();
    uint64_t n = random_number(random_);
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        add ? r->AddInt32(m, field, int32_t(n)) : r->SetInt32(m, field, int32_t(n));
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        add ? r->AddInt64(m, field, int64_t(n)) : r->SetInt64(m, field, int64_t(n));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        add ? r->AddUInt32(m, field, uint32_t(n)) : r->SetUInt32(m, field, uint32_t(n));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        add ? r->AddUInt64(m, field, n) : r->SetUInt64(m, field, n);
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        double value = static_cast<double>(int64_t(n)) / 8;
        add ? r->AddDouble(m, field, value) : r->SetDouble(m, field, value);
        break;
      }
      case FieldDescriptor::CPPTYPE_FLOAT: {
        float value = static_cast<float>(int32_t(n)) / 8;
        add ? r->AddFloat(m, field, value) : r->SetFloat(m, field, value);
        break;
      }
      case FieldDescriptor::CPPTYPE_BOOL:
        add ? r->AddBool(m, field, n & 1) : r->SetBool(m, field, n & 1);
        break;
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* value =
            field->enum_type()->value(static_cast<int>(n % static_cast<uint64_t>(field->enum_type()->value_count())));
        add ? r->AddEnum(m, field, value) : r->SetEnum(m, field, value);
        break;
      }
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string text = random_text(random_);
        add ? r->AddString(m, field, text) : r->SetString(m, field, text);
        break;
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth > 0) fill(add ? r->AddMessage(m, field) : r->MutableMessage(m, field), depth - 1);
        break;
    }
  }

  void fill_map(google::protobuf::Message* message, const FieldDescriptor* field, int depth) {
    size_t count = random_() % 8 == 0 ? random_() % 60 : random_() % 4;
    if (depth == 0) return;
    std::set<std::string> keys;  // dynamic messages keep entries of the same key apart
    for (size_t i = 0; i < count; ++i) {
      auto* entry = message->GetReflection()->AddMessage(message, field);
      set(entry, entry->GetDescriptor()->field(0), false, depth - 1);
      if (!keys.insert(entry->SerializePartialAsString()).second) {
        message->GetReflection()->RemoveLast(message, field);
        continue;
      }
      set(entry, entry->GetDescriptor()->field(1), false, depth - 1);
    }
  }

  void unknown(google::protobuf::UnknownFieldSet* set, int depth) {
    for (size_t i = random_() % 4; i > 0; --i) {
      int number = 200000 + static_cast<int>(random_() % 1000);
      switch (random_() % 5) {
        case 0:
          set->AddVarint(number, random_number(random_));
          break;
        case 1:
          set->AddFixed32(number, static_cast<uint32_t>(random_()));
          break;
        case 2:
          set->AddFixed64(number, random_());
          break;
        case 3:
          set->AddLengthDelimited(number, random_text(random_));
          break;
        default:
          if (depth > 0) unknown(set->AddGroup(number), depth - 1);
      }
    }
  }

  Random& random_;
};

// Cuts, overwrites, doubles or inserts a few bytes.
inline void damage(Random& random, std::string* wire) {
  if (wire->empty()) {
    *wire += static_cast<char>(random());
    return;
  }
  size_t at = random() % wire->size();
  switch (random() % 5) {
    case 0:
      wire->resize(at);
      break;
    case 1:
      (*wire)[at] = static_cast<char>(random());
      break;
    case 2:
      (*wire)[at] = static_cast<char>((*wire)[at] ^ 1 << random() % 8);
      break;
    case 3:
      wire->insert(at, wire->substr(at / 2, random() % 20));
      break;
    default:
      wire->erase(at, 1 + random() % 3);
  }
}

// Bytes that look like fields: plausible tags, lengths and varints, sometimes not.
inline std::string random_wire(Random& random, int depth = 3) {
  std::string wire;
  for (size_t fields = random() % 6; fields > 0; --fields) {
    static constexpr uint32_t kBases[] = {0, 0, 100, 1000, 2000};
    uint32_t number = kBases[random() % 5] + random() % 20;
    uint32_t type = random() % 32 == 0 ? random() % 8 : static_cast<uint32_t>("\0\0\1\2\2\2\3\5"[random() % 8]);
    char bytes[16];
    auto varint = [&](uint64_t value) {
      wire.append(bytes, static_cast<size_t>(wire::write_varint(bytes, value) - bytes));
    };
    varint(wire::make_tag(number, type));
    switch (type) {
      case 0:
        varint(random_number(random));
        break;
      case 1:
      case 5:
        for (int i = 0; i < (type == 1 ? 8 : 4); ++i) wire += static_cast<char>(random());
        break;
      case 2: {
        std::string inside = depth > 0 ? random_wire(random, depth - 1) : random_text(random);
        varint(random() % 32 == 0 ? random_number(random) : inside.size());
        wire += inside;
        break;
      }
      case 3:
        if (depth > 0) wire += random_wire(random, depth - 1);
        if (random() % 16 != 0) varint(wire::make_tag(number, 4));
        break;
      default:
        break;
    }
  }
  if (random() % 8 == 0) damage(random, &wire);
  return wire;
}

}  // namespace drover::testing
