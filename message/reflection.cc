#include "message/reflection.h"

#include <utility>

namespace drover::reflection {
namespace {

const char* cpp_type_name(CppType cpp) {
  static const char* const kNames[] = {"nothing", "int32",  "int64", "uint32", "uint64",
                                       "float",   "double", "bool",  "string", "message"};
  return kNames[static_cast<size_t>(cpp)];
}

const char* label_name(uint8_t label) {
  return label == schema::kLabelSingular ? "a singular" : label == schema::kLabelRepeated ? "a repeated" : "a map of";
}

[[noreturn]] void die(const std::string& what) { fatal(("reflection: " + what).c_str()); }

bool belongs(const MessageType& type, const FieldEntry& field) {
  const FieldRange all = type.fields();
  return &field >= all.begin() && &field < all.end();
}

std::string path(const MessageType& type, const FieldEntry& field) {
  return std::string(type.full_name()) + "." + type.image->name(field.name);
}

void check_belongs(const MessageType& type, const FieldEntry& field) {
  if (!belongs(type, field)) die("a field of another message is used on a " + std::string(type.full_name()));
}

}  // namespace

// ---- reading

void ConstObject::misuse(const FieldEntry& field, CppType cpp, uint8_t label) const {
  check_belongs(type_, field);
  die(path(type_, field) + " is " + label_name(field.label) + " " + cpp_type_name(cpp_type(field)) +
      ", and is used as " + label_name(label) + " " + cpp_type_name(cpp));
}

const FieldEntry* ConstObject::find(std::string_view name) const {
  const FieldEntry* by_name = type_.image->find_field_by_name(type_.entry(), name.data(), name.size());
  if (by_name != nullptr) return by_name;
  for (const FieldEntry& field : fields()) {
    if (type_.image->name(field.json_name) == name) return &field;
  }
  return nullptr;
}

bool ConstObject::has(const FieldEntry& field) const {
  check_belongs(type_, field);
  if (object_ == nullptr) return false;
  if (field.label != schema::kLabelSingular) return raw::words(object_, field.offset)->size != 0;
  if (is_entry() && !schema::is_message_kind(field.kind)) return true;
  return raw::present(object_, field);
}

int ConstObject::size(const FieldEntry& field) const {
  check_belongs(type_, field);
  if (field.label == schema::kLabelSingular) die(path(type_, field) + " is no list or map, and has no size");
  return object_ == nullptr ? 0 : static_cast<int>(raw::words(object_, field.offset)->size);
}

const char* ConstObject::element(const FieldEntry& field, int index) const {
  const raw::Words* list = object_ == nullptr ? nullptr : raw::words(object_, field.offset);
  if (list == nullptr || index < 0 || static_cast<uint32_t>(index) >= list->size) {
    die(path(type_, field) + " has no element " + std::to_string(index));
  }
  return list->begin() + static_cast<size_t>(index) * schema::kStorageOfKind[field.kind];
}

ConstObject ConstObject::sub(const FieldEntry& field) const {
  check(field, CppType::kMessage, schema::kLabelSingular);
  const char* sub =
      object_ != nullptr && raw::present(object_, field) ? raw::pointer(object_, field.offset)->get() : nullptr;
  return {type_.sub(field), reinterpret_cast<const Message*>(sub)};
}

ConstObject ConstObject::sub(const FieldEntry& field, int index) const {
  check(field, CppType::kMessage, schema::kLabelRepeated);
  const char* sub = reinterpret_cast<const raw::Pointer*>(element(field, index))->get();
  return {type_.sub(field), reinterpret_cast<const Message*>(sub)};
}

ConstMap ConstObject::map(const FieldEntry& field) const {
  check(field, CppType::kMessage, schema::kLabelMap);
  return {type_.sub(field), object_ == nullptr ? nullptr : reinterpret_cast<const MapBase*>(object_ + field.offset)};
}

const FieldEntry* ConstObject::oneof_member(int oneof) const {
  if (oneof < 0 || oneof >= oneof_count()) die(std::string(type_.full_name()) + " has no such oneof");
  if (object_ == nullptr) return nullptr;
  return find(raw::load<uint32_t>(object_ + schema::case_words_offset(type_.entry()) +
                                  sizeof(uint32_t) * static_cast<size_t>(oneof)));
}

int ConstObject::oneof_of(const FieldEntry& field) const {
  check_belongs(type_, field);
  if (field.case_offset == 0) return -1;
  return static_cast<int>((field.case_offset - schema::case_words_offset(type_.entry())) / sizeof(uint32_t));
}

std::string_view ConstObject::enum_name(const FieldEntry& field, int32_t number) const {
  check_belongs(type_, field);
  if (field.kind != static_cast<uint8_t>(schema::Kind::kEnum)) die(path(type_, field) + " is no enum");
  const schema::Image& image = *type_.image;
  const auto* value = image.find_enum_value(image.enum_entry(field.sub), number);
  return value == nullptr ? std::string_view() : image.name(value->name);
}

bool ConstObject::find_enum_value(const FieldEntry& field, std::string_view name, int32_t* number) const {
  check_belongs(type_, field);
  if (field.kind != static_cast<uint8_t>(schema::Kind::kEnum)) die(path(type_, field) + " is no enum");
  const schema::Image& image = *type_.image;
  const schema::EnumEntry& e = image.enum_entry(field.sub);
  for (uint32_t i = 0; i < schema::Image::enum_name_count(e); ++i) {
    const schema::EnumValueEntry& value = image.enum_values(e)[i];
    if (image.name(value.name) != name) continue;
    *number = value.number;
    return true;
  }
  return false;
}

// ---- editing

void Object::not_writable(const FieldEntry& field) const {
  if (object_ == nullptr) die(path(type_, field) + " is set in a message that is not there");
  if (message()->drover_owner_word() == kReceived) {
    die("a message received over a channel is read-only; copy it before changing it");
  }
  die("a map's key is changed; erase the entry and insert another");
}

void Object::check_enum(const FieldEntry& field, int32_t number) const {
  if ((field.flags & schema::kFieldFlagClosedEnum) == 0 || type_.image->enum_has_value(field.sub, number)) return;
  die(path(type_, field) + " is of a closed enum, which has no value " + std::to_string(number));
}

char* Object::append(const FieldEntry& field) const {
  char* at = raw::append_element(type_, bytes(), field, arena());
  if (at == nullptr) fatal("out of memory for a repeated field");
  return at;
}

Object Object::mutable_sub(const FieldEntry& field) const {
  check(field, CppType::kMessage, schema::kLabelSingular);
  check_writable(field);
  char* sub = raw::mutable_sub_object(type_, bytes(), field, arena());
  if (sub == nullptr) fatal("out of memory for a sub-message");
  return {type_.sub(field), reinterpret_cast<Message*>(sub)};
}

Object Object::mutable_sub(const FieldEntry& field, int index) const {
  const ConstObject sub = this->sub(field, index);
  check_writable(field);
  return {sub.type(), const_cast<Message*>(sub.message())};
}

Object Object::add_sub(const FieldEntry& field) const {
  check(field, CppType::kMessage, schema::kLabelRepeated);
  check_writable(field);
  return {type_.sub(field), reinterpret_cast<Message*>(append(field))};
}

Map Object::mutable_map(const FieldEntry& field) const {
  check(field, CppType::kMessage, schema::kLabelMap);
  check_writable(field);
  return {type_.sub(field), reinterpret_cast<MapBase*>(bytes() + field.offset), arena()};
}

void Object::clear(const FieldEntry& field) const {
  check_belongs(type_, field);
  check_writable(field);
  message::clear_field(type_, message(), field);
}

void Object::clear() const {
  if (object_ == nullptr || is_entry()) die("a map's entry, or a message that is not there, is cleared");
  message::clear(type_, message());
}

void Object::clear_oneof(int oneof) const {
  if (const FieldEntry* member = oneof_member(oneof)) clear(*member);
}

void Object::remove_last(const FieldEntry& list) const {
  check(list, cpp_type(list), schema::kLabelRepeated);
  check_writable(list);
  element(list, 0);  // that there is one
  raw::drop_last_element(bytes(), list);
}

void Object::swap_elements(const FieldEntry& list, int a, int b) const {
  check(list, cpp_type(list), schema::kLabelRepeated);
  check_writable(list);
  char *x = const_cast<char*>(element(list, a)), *y = const_cast<char*>(element(list, b));
  if (x == y) return;
  const size_t size = schema::kStorageOfKind[list.kind];
  std::swap_ranges(x, x + size, y);
  if (schema::is_string_kind(list.kind) || schema::is_message_kind(list.kind)) {  // relative pointers have moved
    auto *first = reinterpret_cast<raw::Pointer*>(x), *second = reinterpret_cast<raw::Pointer*>(y);
    if (first->offset != 0) first->offset += y - x;
    if (second->offset != 0) second->offset -= y - x;
  }
  if (schema::is_string_kind(list.kind)) {  // the next change records the distance to the array's owner word anew
    auto *first = reinterpret_cast<String*>(x), *second = reinterpret_cast<String*>(y);
    const auto* owner = reinterpret_cast<const OwnerWord*>(element(list, 0)) - 1;
    first->with_owner(owner);
    second->with_owner(owner);
  }
}

void Object::add_unknown(std::string_view wire) const {
  if (object_ == nullptr || message()->drover_owner_word() == kReceived || is_entry()) {
    die("unknown fields are added to a message that cannot have them");
  }
  if (!raw::append_unknown(bytes(), wire, arena())) fatal("unknown fields grow past 2 GiB - 1, or past the memory");
}

void Object::clear_unknown() const {
  if (object_ == nullptr || message()->drover_owner_word() == kReceived) die("a read-only message is changed");
  message()->drover_set_unknown_string(nullptr);
}

// ---- maps

void* ConstMap::at(int index) const {
  if (index < 0 || index >= size()) die("a map has no entry " + std::to_string(index));
  return map_->entry(static_cast<uint32_t>(index));
}

int64_t ConstMap::position(const MapKeyValue& key) const {
  const FieldEntry& field = key_field();
  if (key.cpp_type() != cpp_type(field)) {
    die(std::string("a map's key is a ") + cpp_type_name(cpp_type(field)) + ", and is looked up as a " +
        cpp_type_name(key.cpp_type()));
  }
  return map_ == nullptr ? -1 : map_->find(key.key(), field.offset, raw::map_key_kind(field));
}

ConstObject ConstMap::find(const MapKeyValue& key) const {
  const int64_t found = position(key);
  return {entry_, found < 0 ? nullptr : static_cast<const Message*>(at(static_cast<int>(found)))};
}

Object Map::insert(const MapKeyValue& key) const {
  const int64_t found = position(key);
  if (found >= 0) return mutable_entry(static_cast<int>(found));
  char* entry = raw::new_object(entry_, arena_);
  if (entry == nullptr) fatal("out of memory for a map entry");
  const FieldEntry& field = key_field();
  if (key.cpp_type() == CppType::kString) {
    reinterpret_cast<String*>(entry + field.offset)->assign_in(arena_, key.key().text);
  } else {
    std::memcpy(entry + field.offset, &key.key().bits, schema::kStorageOfKind[field.kind]);
  }
  if (!map()->insert_entry(arena_, entry, field.offset, raw::map_key_kind(field))) fatal("out of memory for a map");
  return {entry_, reinterpret_cast<Message*>(entry)};
}

bool Map::erase(const MapKeyValue& key) const {
  const int64_t found = position(key);
  if (found < 0) return false;
  map()->erase_at(static_cast<uint32_t>(found), key_field().offset, raw::map_key_kind(key_field()));
  return true;
}

Object create(const MessageType& type, Arena* arena) {
  return {type, reinterpret_cast<Message*>(raw::new_object(type, arena))};
}

}  // namespace drover::reflection
