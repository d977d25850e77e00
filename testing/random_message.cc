#include "testing/random_message.h"

#include <set>

#include "codec/wire.h"

namespace drover::testing {

uint64_t random_number(std::mt19937_64& random) {
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

std::string random_text(std::mt19937_64& random) {
  static const char* const kParts[] = {"a", "bcd", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "0123456789abcdef",
                                       " "};
  std::string text;
  size_t parts = random() % 4 == 0 ? random() % 200 : random() % 6;
  for (size_t i = 0; i < parts; ++i) text += kParts[random() % 7];
  return text;
}

void RandomMessages::fill(google::protobuf::Message* message, int depth) {
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

void RandomMessages::set(google::protobuf::Message* m, const FieldDescriptor* field, bool add, int depth) {
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

void RandomMessages::fill_map(google::protobuf::Message* message, const FieldDescriptor* field, int depth) {
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

void RandomMessages::unknown(google::protobuf::UnknownFieldSet* set, int depth) {
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

void damage(std::mt19937_64& random, std::string* wire) {
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

std::string random_wire(std::mt19937_64& random, int depth) {
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
